package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// goDir writes the profiles that a Go program has, as files of their usual names.
func goDir(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	heap := func(preferred string, value int64) *pprof.Profile {
		p := newProfile("alloc_objects:count alloc_space:bytes inuse_objects:count inuse_space:bytes", sample{"f main", []int64{3, 10 * value, 1, value}, nil})
		p.PeriodType, p.DefaultSampleType = &pprof.ValueType{Type: "space", Unit: "bytes"}, preferred
		return p
	}
	contentions := func(delay int64) *pprof.Profile {
		return newProfile("contentions:count delay:nanoseconds", sample{"f main", []int64{1, delay}, nil})
	}
	all := map[string]*pprof.Profile{
		"allocs": heap("alloc_space", 70), "heap": heap("inuse_space", 60), "block": contentions(5), "mutex": contentions(7),
		"goroutine": newProfile("goroutine:count", sample{"f main", []int64{9}, nil}), "cpu": service(),
	}
	for _, name := range names {
		file(t, filepath.Join(dir, name+".pb.gz"), all[name])
	}
	return dir
}

// TestDefaultOfFolder asks a folder of several kinds without a type. The answer is about cpu, else
// inuse_space, else what is of one kind, and one line says what is left out.
func TestDefaultOfFolder(t *testing.T) {
	for _, tc := range []struct {
		files string
		typ   string
		total int64
		left  string
		ask   string
	}{
		{"allocs cpu goroutine heap mutex", "cpu", 1e9, "DIR/allocs.pb.gz, DIR/goroutine.pb.gz, DIR/heap.pb.gz, 1 more", "contentions, delay, alloc_objects, alloc_space, inuse_objects, inuse_space, goroutine"},
		{"allocs goroutine heap", "inuse_space", 60, "DIR/allocs.pb.gz, DIR/goroutine.pb.gz", "goroutine, alloc_objects, alloc_space, inuse_objects"},
		{"block goroutine mutex", "goroutine", 9, "DIR/block.pb.gz, DIR/mutex.pb.gz", "contentions, delay"},
	} {
		files := strings.Fields(tc.files)
		dir := goDir(t, files...)
		said := fmt.Sprintf("granary: %s is in 1 of %d profiles; left out: %s; --sample-index asks for another type: ", tc.typ, len(files), strings.ReplaceAll(tc.left, "DIR", dir))
		for _, command := range [][]string{{"top"}, {"top", "--json"}, {"peek", "main"}, {"series"}, {"flamegraph", "-o", "-"}, {"merge", "-o", "-"}, {"merge", "-o", "-", "--format", "folded"}} {
			r := granary(t, append(command, dir)...)
			others, told := strings.CutPrefix(r.stderr, said)
			if r.code != cli.ExitOK || !told || strings.Count(r.stderr, "\n") != 1 || len(strings.Split(others, ", ")) != len(strings.Split(tc.ask, ", ")) {
				t.Errorf("%v of %s: exit code %d, %s, want %s", command, tc.files, r.code, r.stderr, said)
			}
		}
		if r := granary(t, "top", "--json", dir); !strings.Contains(r.stdout, fmt.Sprintf(`"total": %d,`, tc.total)) {
			t.Errorf("%s: %s", tc.files, r.stdout)
		}
		for name := range strings.SplitSeq(tc.ask, ", ") { // each of them can be asked for
			r := granary(t, "top", "--sample-index", name, dir)
			if mixed := strings.Contains(tc.files, "block"); mixed != (r.code != cli.ExitOK) {
				t.Errorf("%s of %s: %+v", name, tc.files, r)
			}
		}
	}
}

// TestLeftOut_Short says in a line of at most 120 characters that many profiles are left out.
func TestLeftOut_Short(t *testing.T) {
	dir := t.TempDir()
	for i := range 11 {
		file(t, filepath.Join(dir, fmt.Sprintf("heap-%02d.pb.gz", i)), newProfile("inuse_objects:count inuse_space:bytes", sample{"f main", []int64{1, 5}, nil}))
	}
	file(t, filepath.Join(dir, "cpu.pb.gz"), service())
	want := "granary: cpu is in 1 of 12 profiles; left out: 11; --sample-index asks for another type: inuse_objects, ...\n"
	for _, args := range [][]string{{dir}, {"--db", stored(t, dir)}} {
		for _, command := range []string{"top", "series"} {
			if r := granary(t, append([]string{command}, args...)...); r.code != cli.ExitOK || r.stderr != want {
				t.Errorf("%s: %+v", command, r)
			}
		}
	}
}

// TestHeapBesideAllocs: both count the same allocations, and one of them answers.
func TestHeapBesideAllocs(t *testing.T) {
	dir := goDir(t, "allocs", "heap")
	for name, want := range map[string]int64{"alloc_space": 700, "inuse_space": 60} {
		r := granary(t, "top", "--json", "--sample-index", name, dir)
		if r.code != cli.ExitOK || !strings.Contains(r.stdout, fmt.Sprintf(`"total": %d,`, want)) || !strings.Contains(r.stderr, " is in 1 of 2 profiles; left out: ") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if got := granaryTop(t, "--sample-index", "alloc_space", "--sum-kinds", dir); got.Total != 1300 {
		t.Errorf("--sum-kinds: %d", got.Total)
	}
	if r := granary(t, "diff", dir, dir); r.code != cli.ExitOK || strings.Count(r.stderr, "left out: ") != 2 {
		t.Errorf("diff: %+v", r)
	}
}

// TestUnitsOfTime: values of one type add up whatever their unit of time. A profile of another
// period type is left out with a line.
func TestUnitsOfTime(t *testing.T) {
	var names []string
	for unit, value := range map[string]int64{"nanoseconds": 3e9, "us": 3e6, "microseconds": 3e6, "milliseconds": 3000, "seconds": 3} {
		names = append(names, file(t, unit+".pb.gz", newProfile("cpu:"+unit, sample{"f main", []int64{value}, nil})))
	}
	got := granaryTop(t, names...)
	if got.Total != 15e9 || got.Unit != "nanoseconds" || got.Profiles != 5 {
		t.Errorf("%+v", got)
	}
	if r := granary(t, "top", names[0], names[1]); r.stderr != "" {
		t.Errorf("%+v", r)
	}
	far := file(t, "far.pb.gz", newProfile("cpu:seconds", sample{"f", []int64{1e10}, nil}))
	if r := granary(t, "top", names[0], far); r.code != cli.ExitOK || !strings.Contains(r.stderr, "left out: "+far+"; --sample-index asks for another type: cpu:seconds:cpu:nanoseconds") {
		t.Errorf("values that overflow: %+v", r)
	}
}
