package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// build returns the path of this checkout's command, built in dir.
func build(ctx context.Context, dir string) (string, error) {
	command := filepath.Join(dir, "granary")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", command, ".")
	cmd.Dir = filepath.FromSlash("../cmd/granary")
	cmd.Env = append(os.Environ(), "GOWORK=") // build in the workspace, because the module versions that go.mod requires may not be published yet
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build in %s, is this the folder bench? %w\n%s", cmd.Dir, err, out)
	}
	return command, nil
}

// process is a granary server.
type process struct {
	cmd    *exec.Cmd
	url    string
	ready  time.Duration // time from its start until /readyz answers
	logged chan struct{} // closed when its log has ended
}

// begin starts a server on a directory and waits until it answers.
func (o *options) begin(ctx context.Context, command, db, sync string) (*process, error) {
	start := time.Now()
	cmd := exec.CommandContext(ctx, command, "serve", "--listen", "127.0.0.1:0", "--db", db, "--memory", o.memory, "--sync", sync)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, logged: make(chan struct{})}
	lines := bufio.NewReader(log)
	var text strings.Builder
	for p.url == "" {
		line, err := lines.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			return nil, fmt.Errorf("the server ended before it listened: %w\n%s", errors.Join(err, cmd.Wait()), text.String())
		}
		if m := regexp.MustCompile(`url=(\S+)`).FindStringSubmatch(line); m != nil {
			p.url = m[1]
		}
	}
	to := io.Discard
	if o.verbose {
		to = os.Stderr
	}
	go func() {
		_, _ = io.Copy(to, lines)
		close(p.logged)
	}()
	resp, err := http.Get(p.url + "/readyz")
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/readyz: %s", resp.Status)
	}
	p.ready = time.Since(start)
	return p, nil
}

// end stops the server; it returns an error unless the exit code is 0.
func (p *process) end() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-p.logged
	return p.cmd.Wait()
}

func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	<-p.logged
	_ = p.cmd.Wait() // Wait returns an error because the process was killed
	return nil
}

// metrics returns the server's metrics by name; a metric with labels has them in its name.
func (p *process) metrics() (map[string]float64, error) {
	resp, err := http.Get(p.url + "/metrics")
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	out := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] = v
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("/metrics: %s", resp.Status)
	}
	return out, nil
}
