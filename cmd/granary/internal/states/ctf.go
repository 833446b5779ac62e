package states

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/internal/input"
)

// isCTF reports whether a name is a directory with a trace in the Common Trace Format, or of a session of LTTng with one
// of the kernel.
func isCTF(name string) bool {
	for _, trace := range []string{name, filepath.Join(name, "kernel")} {
		if info, err := os.Stat(filepath.Join(trace, "metadata")); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// openCTF opens the events of a trace as text, which babeltrace2 prints. Its caller closes the stream, which ends
// babeltrace2.
func openCTF(cmd *cobra.Command, dir string) (*input.Stream, error) {
	path, err := filepath.Abs(dir) // a path that no option looks like
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(cmd.Context(), "babeltrace2", "--clock-seconds", path)
	said := &begin{}
	c.Stderr = said
	c.WaitDelay = time.Second // for what has its standard error, and goes on
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%s is a trace of LTTng in the Common Trace Format, which the command babeltrace2 reads, and there is none: install the package babeltrace2", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: babeltrace2: %w", dir, err)
	}
	s := input.NewStream(&child{c: c, out: out, said: said, tell: func(line string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s: babeltrace2: %s\n", dir, line)
	}})
	switch _, err := s.Peek(1); {
	case errors.Is(err, io.EOF):
		return nil, errors.Join(fmt.Errorf("%s: a trace without an event", dir), s.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), s.Close())
	}
	return s, nil
}

// begin is a writer that keeps the first bytes.
type begin struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *begin) Write(p []byte) (int, error) {
	const most = 4 << 10
	b.Buffer.Write(p[:min(len(p), most-b.Len())])
	return len(p), nil
}

// child is the output of a command, which ends with an error if the command does.
type child struct {
	c    *exec.Cmd
	out  io.Reader
	end  error // of the output, nil before
	said *begin
	tell func(line string) // tells what the command said, if it ended well
}

// Read implements io.Reader.
func (r *child) Read(p []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	n, err := r.out.Read(p)
	if errors.Is(err, io.EOF) {
		r.end = r.wait()
		err = r.end
	}
	return n, err
}

// wait waits for the end of the command. It returns io.EOF, or how the command failed.
func (r *child) wait() error {
	if err := r.c.Wait(); err != nil {
		return fmt.Errorf("babeltrace2: %w: %.300s", err, strings.Join(strings.Fields(r.said.String()), " "))
	}
	for line := range strings.Lines(r.said.String()) {
		if line = strings.TrimSpace(line); line != "" {
			r.tell(line)
		}
	}
	return io.EOF
}

// Close ends the command, if it has not ended.
func (r *child) Close() error {
	if r.end != nil {
		return nil
	}
	r.end = io.ErrClosedPipe
	return errors.Join(r.c.Process.Kill(), ignoreExit(r.c.Wait()))
}

// ignoreExit returns an error, unless it is how a command ended.
func ignoreExit(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}
