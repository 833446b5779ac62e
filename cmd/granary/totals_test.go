package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// heapDir writes the profiles of the heap of a program at three times. It has allocated 100, 130 and 190 bytes by then. The order of
// the names is not that of the times.
func heapDir(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	for i, allocated := range []int64{100, 130, 190} {
		p := newProfile("alloc_space:bytes inuse_space:bytes", sample{"f main", []int64{allocated, 10}, nil})
		p.DurationNanos, p.TimeNanos = 0, p.TimeNanos+int64(i)*1e9
		names = append(names, file(t, filepath.Join(dir, fmt.Sprintf("heap-%d.pb.gz", 9+i)), p))
	}
	return dir, names
}

// Values since the start of a process become differences by their times, and --cumulative says how.
func TestTotals(t *testing.T) {
	dir, names := heapDir(t)
	const said = "granary: values since the start of a process (alloc_space): "
	for _, tc := range []struct {
		args   []string
		total  string
		stderr string
	}{
		{[]string{dir}, `"total": 90`, said + "2 as what came since the one before, 1 as nothing, the first of a source, which --cumulative whole counts\n"},
		{[]string{"--cumulative", "whole", dir}, `"total": 190`, said + "2 as what came since the one before, 1 as a whole, the first of a source\n"},
		{[]string{"--cumulative", "sum", dir}, `"total": 420`, ""},
		{names[1:2], `"total": 130`, ""},
		{[]string{"--label", "pod=a", names[0], names[2]}, `"total": 90`, said + "1 as what came since the one before, 1 as nothing, the first of a source, which --cumulative whole counts\n"},
	} {
		r := granary(t, append([]string{"top", "--json", "--sample-index", "alloc_space"}, tc.args...)...)
		if r.code != cli.ExitOK || !strings.Contains(r.stdout, tc.total) || r.stderr != tc.stderr {
			t.Errorf("%v: %d, %.80q, %q; want %s, %q", tc.args, r.code, r.stdout, r.stderr, tc.total, tc.stderr)
		}
	}
	for _, types := range [][2]string{{"inuse_space", `"total": 10`}} {
		if r := granary(t, "top", "--json", "--sample-index", types[0], dir); !strings.Contains(r.stdout, types[1]) {
			t.Errorf("%s: %s", types[0], r.stdout)
		}
	}
	if got := granaryDiff(t, "--sample-index", "alloc_space", names[0], names[2]); got.Before != 100 || got.After != 190 {
		t.Errorf("a difference of two files: %+v", got)
	}
	if r := granary(t, "top", "--cumulative", "none", dir); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "want growth, whole or sum") {
		t.Errorf("%d %s", r.code, r.stderr)
	}
}

// Files of several processes in a folder, of which one restarted, are told apart by values that fell.
func TestTotalsOfProcesses(t *testing.T) {
	dir := t.TempDir()
	for i, values := range [][2]int64{{100, 10}, {50, 40}, {70, 5}} {
		p := newProfile("alloc_space:bytes", sample{"f main", []int64{values[0]}, nil}, sample{"g main", []int64{values[1]}, nil})
		p.DurationNanos, p.TimeNanos = 0, p.TimeNanos+int64(i)*1e9
		file(t, filepath.Join(dir, fmt.Sprintf("pod-%d.pb.gz", i)), p)
	}
	if r := granary(t, "top", "--json", dir); !strings.Contains(r.stdout, `"total": 275`) || r.stderr != "" {
		t.Errorf("%.80s %s", r.stdout, r.stderr)
	}
	p := newProfile("alloc_space:bytes", sample{"f main", []int64{71}, nil}, sample{"g main", []int64{9}, nil})
	p.DurationNanos, p.TimeNanos = 0, p.TimeNanos+3e9
	file(t, filepath.Join(dir, "pod-3.pb.gz"), p)
	const want = "granary: values since the start of a process (alloc_space): 1 as what came since the one before, 1 as nothing, the first of a source, which --cumulative whole counts, 2 as a whole, the only one of a process\n"
	if r := granary(t, "top", "--json", "--sample-index", "alloc_space", dir); !strings.Contains(r.stdout, `"total": 205`) || r.stderr != want {
		t.Errorf("%.80s %s", r.stdout, r.stderr)
	}
}

// A directory remembers the last profile of each source for the next load.
func TestTotalsOfLoads(t *testing.T) {
	_, names := heapDir(t)
	db := filepath.Join(t.TempDir(), "db")
	total := int64(0)
	for i, name := range names {
		if r := granary(t, "load", "--db", db, name); r.code != cli.ExitOK {
			t.Fatal(r.stderr)
		}
		total = []int64{100, 130, 190}[i] // a single one counts as a whole
		if got := granaryTop(t, "--db", db, "--sample-index", "alloc_space"); got.Total != total {
			t.Errorf("after %d loads: %d, want %d", i+1, got.Total, total)
		}
	}
}
