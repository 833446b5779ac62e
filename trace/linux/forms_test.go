package linux

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
)

var update = flag.Bool("update", false, "write the wanted states anew")

// TestImport_Forms reads a text of each form. The wanted states are beside it.
func TestImport_Forms(t *testing.T) {
	for _, form := range []string{"lttng", "perf", "perf_short", "ftrace", "tracecmd"} {
		name := filepath.Join("testdata", form+".txt")
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if IsLTTng(text) != (form == "lttng") || IsFtrace(text) != (form != "lttng") {
			t.Errorf("%s: IsLTTng is %v, IsFtrace is %v", form, IsLTTng(text), IsFtrace(text))
		}
		got := printStates(t, text)
		want := strings.TrimSuffix(name, ".txt") + ".want"
		if *update {
			if err := os.WriteFile(want, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(want)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, data) {
			t.Errorf("%s has the states:\n%s", form, got)
		}
	}
}

// printStates returns the states of a text, an attribute a paragraph, with times from the begin, and what was left out.
func printStates(t *testing.T, text []byte) []byte {
	t.Helper()
	var outcome trace.Outcome
	r, err := trace.Build(func(to trace.Target) (err error) {
		outcome, err = Options{}.Import(t.Context(), bytes.NewReader(text), to)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "from %d to %d\n", r.Start(), r.End()-r.Start())
	for _, left := range outcome.LeftOut() {
		fmt.Fprintf(&b, "left out: %d %s\n", left.Count, left.What)
	}
	for a := range history.Attribute(r.Len()) {
		fmt.Fprintf(&b, "%s\n", pathOf(t, r.View, a))
		for in, err := range r.Range(a, r.Start(), r.End(), history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if !in.Value.IsNull() || in.Start > r.Start() {
				fmt.Fprintf(&b, "%9d %v\n", in.Start-r.Start(), in.Value)
			}
		}
	}
	return b.Bytes()
}
