package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/effort"
)

// TestExamples runs the examples of the helps on the profiles that the first of each writes. An example
// that finds nothing says so on standard error.
func TestExamples(t *testing.T) {
	effort.Slow(t)
	t.Chdir(t.TempDir())
	writes := newDemo()
	writes.SetContext(t.Context())
	writes.SetErr(io.Discard)
	if err := saveFleet(writes, "gen", 1); err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[*cobra.Command]int{newSeries(): 6, newLabels(): 4, newTop(): 6, newPeek(): 3, newExport(): 3, newInspect(): 4} {
		if got := runExamples(t, cmd); got != want {
			t.Errorf("%s has %d examples with gen, want %d", cmd.Name(), got, want)
		}
	}
}

// runExamples runs the examples of a command with the folder gen, and returns their number.
func runExamples(t *testing.T, cmd *cobra.Command) (n int) {
	t.Helper()
	for line := range strings.Lines(cmd.Example) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " |")
		line, _, _ = strings.Cut(line, "   # ")
		args := strings.Fields(strings.ReplaceAll(line, "'", ""))
		if !strings.HasPrefix(line, "granary "+cmd.Name()+" ") || args[len(args)-1] != "gen" {
			continue
		}
		r := granary(t, args[1:]...)
		if r.code != cli.ExitOK || len(r.problems()) > 0 {
			t.Errorf("%q: %+v", line, r)
		}
		if strings.Count(r.stdout, "\n") < 3 && cmd.Name() != "export" {
			t.Errorf("%q answers nothing: %+v", line, r)
		}
		n++
	}
	return n
}
