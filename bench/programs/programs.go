// Package programs runs the programs that a measurement is made of.
package programs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Output runs a program, args[0], outside of any workspace, and returns what it prints. It runs in dir, or in the present folder if dir
// is empty, with env added to the environment. Its messages are shown meanwhile. Once ctx ends, the program and the processes that it
// started are told to end, and the error is the cause of ctx.
func Output(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(append(os.Environ(), "GOWORK=off"), env...), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	out, err := cmd.Output()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(args[0]), strings.Join(args[1:], " "), err)
	}
	return out, nil
}
