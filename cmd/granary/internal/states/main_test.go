package states

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // dates without a zone are local ones
	goleak.VerifyTestMain(m)
}

// run runs a program whose only command is history.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{Use: "granary"}
	root.AddCommand(NewCommand())
	return cli.Run(ctx, root, args, stdout, stderr)
}

// result is the exit code and the output of a call of the program.
type result struct {
	code           int
	stdout, stderr string
}

func granary(t testing.TB, args ...string) result {
	t.Helper()
	r := clitest.Call(t, run, args...)
	return result{r.Code, r.Stdout, r.Stderr}
}

// problems returns the lines of standard error without the hint.
func (r result) problems() []string {
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	return slices.DeleteFunc(lines, func(l string) bool { return l == "" || strings.HasPrefix(l, "Try ") })
}

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	return clitest.Write(t, name, data)
}

// brokenWriter fails every write.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
