package programs

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

// BuildGranary returns the path of this checkout's command, built in dir.
func BuildGranary(ctx context.Context, dir string) (string, error) {
	command := filepath.Join(dir, "granary")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", command, ".")
	cmd.Dir = filepath.FromSlash("../cmd/granary")
	cmd.Env = append(os.Environ(), "GOWORK=") // build in the workspace, because the module versions that go.mod requires may not be published yet
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build in %s, is this the folder bench? %w\n%s", cmd.Dir, err, out)
	}
	return command, nil
}

// Server is a process of granary serve.
type Server struct {
	URL   string
	Ready time.Duration // time from its start until /readyz answers

	cmd    *exec.Cmd
	logged chan struct{} // closed when its log has ended
}

// Serve starts a server with some flags and waits until it answers. Its log goes to log.
func Serve(ctx context.Context, command string, log io.Writer, flags ...string) (*Server, error) {
	start := time.Now()
	cmd := exec.CommandContext(ctx, command, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	notes, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Server{cmd: cmd, logged: make(chan struct{})}
	lines := bufio.NewReader(notes)
	var text strings.Builder
	for p.URL == "" {
		line, err := lines.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			return nil, fmt.Errorf("the server ended before it listened: %w\n%s", errors.Join(err, cmd.Wait()), text.String())
		}
		if m := regexp.MustCompile(`url=(\S+)`).FindStringSubmatch(line); m != nil {
			p.URL = m[1]
		}
	}
	go func() {
		_, _ = io.Copy(log, lines)
		close(p.logged)
	}()
	resp, err := http.Get(p.URL + "/readyz")
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/readyz: %s", resp.Status)
	}
	p.Ready = time.Since(start)
	return p, nil
}

// End stops the server; it returns an error unless the exit code is 0.
func (p *Server) End() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-p.logged
	return p.cmd.Wait()
}

// Kill kills the server.
func (p *Server) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	<-p.logged
	_ = p.cmd.Wait() // Wait returns an error because the process was killed
	return nil
}

// Metrics returns the server's metrics by name; a metric with labels has them in its name.
func (p *Server) Metrics() (map[string]float64, error) {
	resp, err := http.Get(p.URL + "/metrics")
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

// PID returns the number of the process.
func (p *Server) PID() int { return p.cmd.Process.Pid }
