package states

import (
	"bytes"
	"context"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/internal/effort"
)

// lateContext is cancelled once it was asked so often.
type lateContext struct {
	context.Context
	left atomic.Int64
}

func (c *lateContext) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterrupted interrupts questions to a history file ever later: they end as such, print nothing and leave no picture, up
// to the one that was done before. A plot looks before each row too.
func TestInterrupted(t *testing.T) {
	effort.Long(t)
	t.Chdir(t.TempDir())
	noise(t, "run", 70, 400)
	if r := granary(t, "history", "import", "-o", "run.history", "run"); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	before := names(t)
	for _, tc := range []struct {
		args  []string
		least int // looks before the question is answered
	}{
		{[]string{"plot", "-o", "out.svg", "run.history"}, 100},
		{[]string{"plot", "-o", "out.svg", "run"}, 100},
		{[]string{"plot", "-o", "out.html", "--fold", "--rows", "5", "run.history"}, 10},
		{[]string{"slice", "run.history", "+1ms"}, 5},
		{[]string{"verify", "run.history"}, 10},
	} {
		looks := 0
		for ; ; looks += max(1, looks/3) {
			ctx := &lateContext{Context: t.Context()}
			ctx.left.Store(int64(looks))
			var stdout, stderr bytes.Buffer
			code := run(ctx, append([]string{"history"}, tc.args...), &stdout, &stderr)
			if code == cli.ExitOK {
				break
			}
			if code != cli.ExitInterrupted || clitest.WithoutProgress(stderr.String()) != "granary: interrupted\n" || stdout.Len() > 0 {
				t.Fatalf("%q after %d looks: exit code %d: %s%s", tc.args, looks, code, &stdout, &stderr)
			}
			if after := names(t); !slices.Equal(after, before) {
				t.Fatalf("%q after %d looks: files %q, want %q", tc.args, looks, after, before)
			}
		}
		if looks < tc.least {
			t.Errorf("%q looks %d times before it is done, want %d", tc.args, looks, tc.least)
		}
		for _, name := range []string{"out.svg", "out.html"} {
			_ = os.Remove(name) // of the last one
		}
	}
}
