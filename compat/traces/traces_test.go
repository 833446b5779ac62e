package traces

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/format"
)

// slice is a slice of a recording, with its thread, or "track" if it has none.
type slice struct {
	of         string
	start, end int64
	name       string
}

// ours returns the slices of threads and tracks in a recording's history.
func ours(t *testing.T, data []byte) []slice {
	t.Helper()
	f, is := format.Of(data)
	if !is {
		t.Fatal("no recording")
	}
	r, err := trace.Build(func(to trace.Target) error {
		outcome, err := f.Import(t.Context(), bytes.NewReader(data), to)
		t.Logf("%s: left out %v, lost %v", f.Name, outcome.LeftOut(), outcome.Lost)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []slice
	for _, a := range r.All() {
		path, err := r.Path(a)
		if err != nil {
			t.Fatal(err)
		}
		of := owner(path)
		if of == "" {
			continue
		}
		for in, err := range r.Range(a, r.Start(), r.End(), history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if in.Value.Kind() == history.KindString {
				all = append(all, slice{of, in.Start, in.End + 1, in.Value.Text()})
			}
		}
	}
	return all
}

// owner names the thread, process or track whose slices an attribute has, as the oracle does. It returns "" for others.
func owner(path []string) string {
	last := path[len(path)-1]
	_, err := strconv.Atoi(last)
	number := func(name string) string { return name[strings.LastIndexByte(name, ' ')+1:] }
	switch {
	case err == nil && path[0] == "Services":
		return "service " + path[1]
	case err != nil || len(path) < 3 || slices.Contains(path, "Counters") || slices.Contains(path, "Async"):
		return ""
	case slices.Contains(path, "Tracks"):
		return "track"
	case len(path) > 4 && path[2] == "Threads":
		return fmt.Sprintf("thread %s %s", number(path[1]), number(path[3]))
	}
	return "process " + number(path[1])
}

// theirs returns the slices that the oracle finds.
func theirs(t *testing.T, file string) (all []slice) {
	t.Helper()
	cmd := exec.Command(os.Getenv("GRANARY_TRACES_PYTHON"), "oracle.py", file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		cells := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
		start, err1 := strconv.ParseInt(cells[1], 10, 64)
		end, err2 := strconv.ParseInt(cells[2], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(line)
		}
		all = append(all, slice{cells[0], start, end, cells[3]})
	}
	return all
}

// lines returns slices as sorted lines, with times since the first one: a history may have dates.
func lines(all []slice) []string {
	first := int64(1 << 62)
	for _, s := range all {
		first = min(first, s.start)
	}
	out := make([]string, 0, len(all))
	for _, s := range all {
		out = append(out, fmt.Sprintf("%s %d-%d %s", s.of, s.start-first, s.end-first, s.name))
	}
	slices.Sort(out)
	return out
}

// TestRecordings finds the same slices as the oracle in each recording, on the same threads, at the same times.
func TestRecordings(t *testing.T) {
	dir := os.Getenv("GRANARY_TRACES")
	if dir == "" {
		t.Skip("the script run makes the recordings")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, want := lines(ours(t, data)), lines(theirs(t, file))
			t.Logf("%d slices", len(want))
			if slices.Equal(got, want) && len(want) > 50 {
				return
			}
			t.Errorf("%d slices, want %d", len(got), len(want))
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("%s, want %s", got[i], want[i])
				}
			}
		})
	}
}
