package querier

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/granarydb/granary/profile"
)

// TestDot writes names that Graphviz could take for its language, and lets Graphviz read them where it is installed.
func TestDot(t *testing.T) {
	calls := newCalls()
	names := []string{`operator"" _x`, `C:\src\n`, "two\nlines", `std::vector<int>`, "", `}`, "π"}
	for i, name := range names {
		addFrames(t, calls, 0, []profile.Frame{{Function: name}, {Function: names[(i+1)%len(names)]}}, 1)
	}
	text := dotOf(calls, 100, profile.Type{Sample: `a"b`, SampleUnit: "count"})
	for _, want := range []string{`digraph "a\"b" {`, `"operator\"\" _x\n1 (14.29%)`, `"C:\\src\\n\n1 `, `"two\nlines\n1 `, `"}\n`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if n := strings.Count(text, "\n"); n != 3+2*len(names)+1 {
		t.Errorf("%d lines: %s", n, text)
	}
	graphviz, err := exec.LookPath("dot")
	if err != nil {
		t.Log("Graphviz is not installed")
		return
	}
	cmd := exec.CommandContext(t.Context(), graphviz, "-Tplain")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "\nnode ") != len(names) {
		t.Errorf("%v: %s", err, out)
	}
}
