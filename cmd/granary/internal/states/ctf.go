package states

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/internal/input"
)

// isCTF reports whether a name is a directory with a trace in the Common Trace Format, such as LTTng writes.
func isCTF(name string) bool {
	info, err := os.Stat(filepath.Join(name, "metadata"))
	return err == nil && info.Mode().IsRegular()
}

// openCTF opens the events of a trace as text, which babeltrace2 prints. Its caller closes the stream, which ends
// babeltrace2.
func openCTF(cmd *cobra.Command, dir string) (*input.Stream, error) {
	path, err := filepath.Abs(dir) // a path that no option looks like
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(cmd.Context(), "babeltrace2", "--clock-seconds", path)
	c.Stderr = cmd.ErrOrStderr()
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
	s := input.NewStream(&child{c: c, out: out})
	switch _, err := s.Peek(1); {
	case errors.Is(err, io.EOF):
		return nil, errors.Join(fmt.Errorf("%s: a trace without an event", dir), s.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), s.Close())
	}
	return s, nil
}

// child is the output of a command, which ends with an error if the command does.
type child struct {
	c   *exec.Cmd
	out io.Reader
	end error // of the output, nil before
}

// Read implements io.Reader.
func (r *child) Read(p []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	n, err := r.out.Read(p)
	if errors.Is(err, io.EOF) {
		r.end = io.EOF
		if err := r.c.Wait(); err != nil {
			r.end = fmt.Errorf("babeltrace2: %w", err)
		}
		err = r.end
	}
	return n, err
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
