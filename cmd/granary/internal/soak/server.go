package soak

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// server is the server in its process, through its restarts. It is safe for concurrent use.
type server struct {
	program string
	args    []string
	env     []string
	log     io.Writer // takes what the processes write
	address string    // of all processes, chosen by the first

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
	url  atomic.Pointer[string]
}

var listening = regexp.MustCompile(`msg=listening url=http://(\S+)`)

// startTime bounds a start: the log of a killed server is read.
const startTime = time.Minute

// start starts a process and waits until it listens.
func (s *server) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.program, append([]string{"serve", "--listen", s.address}, s.args...)...) //nolint:gosec // the user names it
	cmd.Env = append(os.Environ(), s.env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	found := make(chan string, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines, err := bufio.NewReader(stderr), error(nil)
		for err == nil { // lines of any length: a pipe that is not read stops the server
			var line string
			line, err = lines.ReadString('\n')
			_, _ = io.WriteString(s.log, line) // it may take nothing
			if m := listening.FindStringSubmatch(line); m != nil {
				select {
				case found <- m[1]:
				default:
				}
			}
		}
		_ = cmd.Wait() // its state says how it ended
	}()
	s.cmd, s.done = cmd, done
	select {
	case s.address = <-found:
		url := "http://" + s.address
		s.url.Store(&url)
		return nil
	case <-done:
		return fmt.Errorf("the server ended at its start with %v", cmd.ProcessState)
	case <-time.After(startTime):
		return errors.Join(fmt.Errorf("the server does not listen after %v", startTime), cmd.Process.Kill())
	}
}

// end sends a signal and waits until the process has ended.
func (s *server) end(sig syscall.Signal, within time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.cmd.Process.Signal(sig); err != nil {
		if errors.Is(err, os.ErrProcessDone) {
			<-s.done // its state is there then
		}
		return fmt.Errorf("the server had ended by itself with %v: %w", s.cmd.ProcessState, err)
	}
	select {
	case <-s.done:
	case <-time.After(within):
		_ = s.cmd.Process.Kill() // the error says enough
		<-s.done
		return fmt.Errorf("the server did not end within %v of %v", within, sig)
	}
	if sig == syscall.SIGTERM && !s.cmd.ProcessState.Success() {
		return fmt.Errorf("the server ended with %v after %v", s.cmd.ProcessState, sig)
	}
	return nil
}

// signal sends a signal.
func (s *server) signal(sig syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Signal(sig)
}

// kill ends the process at once, whatever its state.
func (s *server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Kill() // it can have ended
		<-s.done
	}
}

// at returns the URL of a path.
func (s *server) at(path string) string { return *s.url.Load() + path }

// rss returns the resident memory of the process in bytes, and its open files; 0 if it has none.
func (s *server) rss() (bytes int64, files int) {
	s.mu.Lock()
	pid := strconv.Itoa(s.cmd.Process.Pid)
	s.mu.Unlock()
	status, _ := os.ReadFile(filepath.Join("/proc", pid, "status")) // it can have ended
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64) // the kernel's
			bytes = kb << 10
		}
	}
	fds, _ := os.ReadDir(filepath.Join("/proc", pid, "fd"))
	return bytes, len(fds)
}
