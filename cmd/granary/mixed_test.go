package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// contentionDir writes two mutex profiles, a block profile and a CPU profile.
func contentionDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	contention := func(name string, delay int64) {
		file(t, filepath.Join(dir, name), newProfile("contentions:count delay:nanoseconds", sample{"f main", []int64{1, delay}, nil}))
	}
	contention("mutex-1.pb.gz", 10)
	contention("mutex-2.pb.gz", 20)
	contention("block.pb.gz", 3000)
	cpu := newProfile("samples:count cpu:nanoseconds", sample{"f main", []int64{1, 500}, nil})
	cpu.TimeNanos++
	file(t, filepath.Join(dir, "cpu.pb.gz"), cpu)
	return dir
}

// No command adds up the delays of mutex and block profiles. The error names their files and what
// to type, and each of these works.
func TestKindsOfFolder(t *testing.T) {
	dir := contentionDir(t)
	said := fmt.Sprintf("granary: delay: profiles of 2 different kinds: block (contentions, delay) in %[1]s/block.pb.gz; "+
		`mutex (contentions, delay) in %[1]s/mutex-1.pb.gz, %[1]s/mutex-2.pb.gz; choose another type with --sample-index, one kind with --selector '{__name__="block"}' or --selector '{__name__="mutex"}', or add up their values with --sum-kinds`+"\n", dir)
	for _, command := range [][]string{
		{"top"},
		{"top", "--json"},
		{"peek", "f"},
		{"series"},
		{"series", "--by", "pid"},
		{"flamegraph", "-o", "-"},
		{"merge", "-o", "-"},
		{"merge", "-o", "-", "--format", "folded"},
		{"merge", "-o", "-", "--format", "speedscope"},
	} {
		in := append(command, "--sample-index", "delay", dir)
		if command[0] == "series" {
			in = append(in, "--label", "pid=1")
		}
		if r := granary(t, in...); r.code != cli.ExitFailed || r.stdout != "" || r.stderr != said {
			t.Errorf("%v: exit code %d, %s%s", in, r.code, r.stdout, r.stderr)
		}
	}
	left := fmt.Sprintf("granary: cpu is in 1 of 4 profiles; left out: %[1]s/block.pb.gz, %[1]s/mutex-1.pb.gz, %[1]s/mutex-2.pb.gz; --sample-index asks for another type: contentions, delay\n", dir)
	if r := granary(t, "top", dir); r.code != cli.ExitOK || r.stderr != left {
		t.Errorf("top: %+v", r)
	}
	if r := granary(t, "diff", filepath.Join(dir, "block.pb.gz"), dir); r.code != cli.ExitFailed || r.stderr != said {
		t.Errorf("diff: %+v", r)
	}
	for _, tc := range []struct {
		flags []string
		total int64
	}{
		{[]string{"--selector", `{__name__="block"}`}, 3000},
		{[]string{"--selector", `{__name__="mutex"}`}, 30},
		{[]string{"--selector", `mutex{file!~".*1.pb.gz"}`}, 20},
		{[]string{"--sum-kinds", "--sample-index", "delay"}, 3030},
		{[]string{"--label", "__name__=mine", "--sample-index", "delay"}, 3030}, // one kind, because the caller says so
		{[]string{"--sample-index", "cpu"}, 500},
	} {
		if got := granaryTop(t, append(tc.flags, dir)...); got.Total != tc.total {
			t.Errorf("%v: %d, want %d", tc.flags, got.Total, tc.total)
		}
	}
	if got := granarySeries(t, "--by", "__name__", "--sample-index", "delay", dir); len(got.Lines) != 2 || got.Lines[0].Points[0].Value != 3000 || got.Lines[1].Points[0].Value != 30 {
		t.Errorf("series by name: %+v", got)
	}
	if r := granary(t, "labels", "--name", "__name__", dir); !strings.Contains(r.stdout, "       1         2  block\n       2         4  mutex\n") {
		t.Errorf("labels: %+v", r)
	}
}

// TestDiffOfKinds: a mutex profile is not compared with a block profile, unless by --sum-kinds. A side
// without a name can be of any kind.
func TestDiffOfKinds(t *testing.T) {
	dir := contentionDir(t)
	block, mutex := filepath.Join(dir, "block.pb.gz"), filepath.Join(dir, "mutex-1.pb.gz")
	said := fmt.Sprintf("granary: delay: A and B are profiles of different kinds: mutex (contentions, delay) in %s; block (contentions, delay) in %s; compare them anyway with --sum-kinds\n", mutex, block)
	for _, flags := range [][]string{nil, {"--json"}, {"-o", "-"}, {"--normalize"}} {
		if r := granary(t, append(append([]string{"diff"}, flags...), mutex, block)...); r.code != cli.ExitFailed || r.stdout != "" || r.stderr != said {
			t.Errorf("%q: %+v, want %s", flags, r, said)
		}
	}
	unnamed := file(t, "monday.pb.gz", newProfile("contentions:count delay:nanoseconds", sample{"f main", []int64{1, 70}, nil}))
	for _, args := range [][]string{
		{"--sum-kinds", mutex, block},
		{"--label", "__name__=mine", mutex, block},
		{mutex, filepath.Join(dir, "mutex-2.pb.gz")},
		{mutex, unnamed},
		{unnamed, block},
	} {
		if r := granary(t, append([]string{"diff"}, args...)...); r.code != cli.ExitOK || !strings.Contains(r.stdout, "Showing 2 of 2 functions that changed") {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// Profiles whose files have no known name are of one kind, as their types are.
func TestKindsWithoutNames(t *testing.T) {
	dir := contentionDir(t)
	for from, to := range map[string]string{"mutex-1": "monday", "mutex-2": "tuesday", "block": "wednesday"} {
		if err := os.Rename(filepath.Join(dir, from+".pb.gz"), filepath.Join(dir, to+".pb.gz")); err != nil {
			t.Fatal(err)
		}
	}
	if got := granaryTop(t, "--sample-index", "delay", dir); got.Total != 3030 {
		t.Errorf("total %d", got.Total)
	}
	// A name is of contentions: a CPU profile in a file of such a name is of no other kind.
	cpu := newProfile("samples:count cpu:nanoseconds", sample{"f main", []int64{1, 70}, nil})
	if got := granaryTop(t, "--sample-index", "cpu", dir, file(t, "block.pb.gz", cpu)); got.Total != 570 {
		t.Errorf("total %d", got.Total)
	}
}

// The URL of a profile names its kind.
func TestKindsOfServer(t *testing.T) {
	dir := contentionDir(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)+"-1.pb.gz"))
	}))
	defer server.Close()
	url := server.URL + "/debug/pprof/mutex"
	r := granary(t, "top", "--selector", `{__name__="mutex"}`, "--seconds", "1", url, filepath.Join(dir, "block.pb.gz"))
	if r.code != cli.ExitOK || !strings.Contains(r.stdout, "total 10 ns") {
		t.Errorf("%+v", r)
	}
}

// The merge of profiles with different periods names the files that it leaves out.
func TestMergeOfMixedPeriods(t *testing.T) {
	dir := contentionDir(t)
	heap := newProfile("inuse_space:bytes", sample{"f", []int64{1}, nil})
	heap.PeriodType = &pprof.ValueType{Type: "space", Unit: "bytes"}
	name := file(t, "heap.pb.gz", heap)
	want := fmt.Sprintf("granary: cpu is in 1 of 2 profiles; left out: %s; --sample-index asks for another type: inuse_space\n", name)
	r := granary(t, "merge", "-o", "-", filepath.Join(dir, "cpu.pb.gz"), name)
	if r.code != cli.ExitOK || r.stderr != want {
		t.Errorf("%+v, want %s", r, want)
	}
	if got := mustParse(t, []byte(r.stdout), "merged").SampleType; len(got) != 2 || got[0].Type != "cpu" || got[1].Type != "samples" {
		t.Errorf("types %v", got)
	}
}

// TestKindsOfDirectory names the labels of profiles that came from no file, as those of the demo.
func TestKindsOfDirectory(t *testing.T) {
	dir := t.TempDir()
	store, err := columnstore.Open(columnstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, labels := range []map[string]string{{"__name__": "block", "job": "b", "pod": "1"}, {"__name__": "block", "job": "a", "pod": "1"}, {"__name__": "mutex"}} {
		p := newProfile("contentions:count delay:nanoseconds", sample{"f main", []int64{1, int64(i + 1)}, nil})
		if _, err := db.Insert(t.Context(), p, profile.InsertOptions{Labels: labels}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	const said = `granary: delay: profiles of 2 different kinds: block (contentions, delay) in {job="a",pod="1"}, {job="b",pod="1"}; mutex (contentions, delay); choose another type`
	for _, command := range []string{"top", "series"} {
		if r := granary(t, command, "--db", dir); r.code != cli.ExitFailed || !strings.HasPrefix(r.stderr, said) {
			t.Errorf("%s: exit code %d, %s", command, r.code, r.stderr)
		}
	}
}

// TestTypesOfPeriods adds up CPU time from profilers that take their samples by other clocks and list other types, by the short
// name and by default, and leaves the type of the full name alone.
func TestTypesOfPeriods(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, period := range []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: "wall", Unit: "nanoseconds"}, nil} {
		p := newProfile("samples:count cpu:nanoseconds", sample{"f main", []int64{1, int64(1) << i}, nil})
		if i == 2 {
			p = newProfile("cpu:nanoseconds", sample{"f main", []int64{4}, nil})
		}
		p.PeriodType = period
		files = append(files, file(t, filepath.Join(dir, fmt.Sprint(i, ".pb.gz")), p))
	}
	for _, flags := range [][]string{nil, {"--sample-index", "cpu"}, {"--sample-index", "cpu:nanoseconds"}} {
		if got := granaryTop(t, append(flags, files...)...); got.Total != 7 || got.SampleType != "cpu" {
			t.Errorf("%q: %+v, want 7", flags, got)
		}
	}
	if got := granaryTop(t, append([]string{"--sample-index", "cpu:nanoseconds:wall:nanoseconds"}, files...)...); got.Total != 2 {
		t.Errorf("one period: %+v, want 2", got)
	}
	r := granary(t, append([]string{"merge", "-o", "-"}, files...)...)
	p := mustParse(t, []byte(r.stdout), "merged")
	if len(p.SampleType) != 1 || p.PeriodType.Type != "" || p.Period != 0 || len(p.Sample) != 1 || p.Sample[0].Value[0] != 7 {
		t.Errorf("merged: %v, %s", p, r.stderr)
	}
	for _, command := range [][]string{{"peek", "f"}, {"series"}, {"flamegraph", "-o", "-"}, {"merge", "-o", "-", "--format", "folded"}, {"merge", "-o", "-", "--format", "speedscope"}} {
		if r := granary(t, append(command, files...)...); r.code != cli.ExitOK || r.stderr != "" || r.stdout == "" {
			t.Errorf("%q: %+v", command, r)
		}
	}
	if r := granary(t, "diff", "--json", files[0], files[1]); r.code != cli.ExitOK || !strings.Contains(r.stdout, `"before": 1,`) || !strings.Contains(r.stdout, `"after": 2,`) {
		t.Errorf("diff: %+v", r)
	}
}
