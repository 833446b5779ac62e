package linux

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
)

// FuzzLTTng reads any text behind a line of babeltrace2.
func FuzzLTTng(f *testing.F) { fuzz(f, goodLTTng, "lttng") }

// FuzzPerf reads any text behind a line of perf script.
func FuzzPerf(f *testing.F) { fuzz(f, goodPerf, "perf", "perf_short") }

// FuzzFtrace reads any text behind the first line of ftrace.
func FuzzFtrace(f *testing.F) { fuzz(f, "# tracer: nop\n", "ftrace", "tracecmd") }

// fuzz reads any text behind a begin. There is no panic, an error is a documented one, and states with
// names are as those with numbers.
func fuzz(f *testing.F, begin string, seeds ...string) {
	for _, seed := range seeds {
		text, err := os.ReadFile(filepath.Join("testdata", seed+".txt"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		for line := range bytes.Lines(text) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := append([]byte(begin), data...)
		IsLTTng(data)
		IsFtrace(data)
		named, errNamed := fuzzed(t, Options{}, text)
		numbered, err := fuzzed(t, Options{Numbers: true}, text)
		if (err == nil) != (errNamed == nil) {
			t.Fatalf("%v, and with names %v", err, errNamed)
		}
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, history.ErrLimit) {
				t.Fatal(err)
			}
			return
		}
		if named.Len() != numbered.Len() || named.Start() != numbered.Start() || named.End() != numbered.End() {
			t.Fatalf("%d attributes from %d to %d, and with names %d from %d to %d", numbered.Len(), numbered.Start(), numbered.End(), named.Len(), named.Start(), named.End())
		}
		for a := range history.Attribute(named.Len()) {
			x, errX := named.At(a, named.End())
			y, errY := numbered.At(a, named.End())
			if errX != nil || errY != nil || x.Start != y.Start || x.Value.IsNull() != y.Value.IsNull() {
				t.Fatalf("%s ends with %v, and with names with %v: %v, %v", pathOf(t, named.View, a), y, x, errX, errY)
			}
		}
	})
}

func fuzzed(t *testing.T, o Options, text []byte) (*trace.Recording, error) {
	return trace.Build(func(to trace.Target) error {
		_, err := o.Import(t.Context(), bytes.NewReader(text), to)
		return err
	})
}
