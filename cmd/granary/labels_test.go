package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/internal/beside"
)

// labelled writes two profiles with labels of samples, and returns their directory.
func labelled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file(t, filepath.Join(dir, "a.pb.gz"), service())
	file(t, filepath.Join(dir, "b.pb.gz"), newProfile("cpu:nanoseconds",
		sample{"parse main", []int64{1e6}, map[string][]string{"thread": {"worker-1"}, "a label with a very long name": {"x\x1b[31m"}}},
		sample{"main", []int64{1e6}, map[string][]string{"thread": {strings.Repeat("long-", 20) + "end"}}},
	))
	return dir
}

func TestLabelsGolden(t *testing.T) {
	dir := labelled(t)
	none := file(t, "none.pb.gz", newProfile("cpu:nanoseconds"))
	for _, tc := range []struct {
		golden string
		args   []string
	}{
		{"labels.golden", []string{"labels", "a.pb.gz", "b.pb.gz"}},
		{"labels-name.golden", []string{"labels", "--name", "thread", "a.pb.gz", "b.pb.gz"}},
		{"labels-search.golden", []string{"labels", "--search", "parse", "a.pb.gz", "b.pb.gz"}},
		{"labels-none.golden", []string{"labels", none}},
		{"labels-none.golden", []string{"labels", "--name", "thread", none}},
		{"labels-none.golden", []string{"labels", "--search", "^none$", "a.pb.gz"}},
		{"labels-none.golden", []string{"labels", "--search", "^none$", "--name", "thread", "a.pb.gz"}},
		{"labels-json.golden", []string{"labels", "--json", "a.pb.gz", "b.pb.gz"}},
		{"labels-name-json.golden", []string{"labels", "--json", "--name", "thread", "a.pb.gz"}},
		{"labels-none-json.golden", []string{"labels", "--json", none}},
		{"labels-name-none-json.golden", []string{"labels", "--json", "--name", "thread", none}},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			r := inDir(t, dir, tc.args...)
			if r.code != cli.ExitOK {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			if !strings.Contains(tc.golden, "json") {
				clitest.CheckWidth(t, tc.golden, r.stdout)
			}
			clitest.Golden(t, tc.golden, r.stdout)
		})
	}
}

// granaryLabels returns a label's values.
func granaryLabels(t *testing.T, name string, args ...string) []labelValue {
	t.Helper()
	r := granary(t, append([]string{"labels", "--json", "--name", name}, args...)...)
	var out struct {
		Name   string
		Values []labelValue
	}
	d := json.NewDecoder(strings.NewReader(r.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil || r.code != cli.ExitOK || out.Name != name {
		t.Fatalf("granary labels %q: exit code %d, %v, %+v", args, r.code, err, out)
	}
	return out.Values
}

// Values are counted by profile and by series. A series of a value is an input and a sample
// type that has rows with the value.
func TestLabelValues(t *testing.T) {
	dir := labelled(t)
	want := []labelValue{
		{strings.Repeat("long-", 20) + "end", 1, 1},
		{"main", 1, 2},
		{"worker-1", 2, 3},
		{"worker-2", 1, 2},
	}
	if diff := cmp.Diff(want, granaryLabels(t, "thread", dir)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[2:], granaryLabels(t, "thread", "--search", "compress|parse", dir)); diff != "" {
		t.Error(diff)
	}
	one := labelValue{filepath.Join(dir, "b.pb.gz"), 1, 1}
	if diff := cmp.Diff([]labelValue{one}, granaryLabels(t, "file", "--selector", `{thread=~"long.*"}`, dir)); diff != "" {
		t.Error(diff)
	}
}

// Bounds on time are exact, although the times are of one bucket of the store.
func TestLabelsInTime(t *testing.T) {
	dir := t.TempDir()
	const noon = 1_780_000_200 // a multiple of the bucket's width, in seconds
	for i, name := range []string{"first", "second"} {
		p := newProfile("cpu:nanoseconds", sample{"main", []int64{1e6}, map[string][]string{"thread": {name}, "only-" + name: {"x"}}})
		p.TimeNanos = (noon + int64(i)) * 1e9
		file(t, filepath.Join(dir, name+".pb.gz"), p)
	}
	for _, tc := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--from", "1780000201"}, "second"},
		{[]string{"--to", "1780000201"}, "first"},
		{[]string{"--from", "1780000200", "--to", "1780000200.5"}, "first"},
	} {
		if got := granaryLabels(t, "thread", append(tc.flags, dir)...); len(got) != 1 || got[0].Value != tc.want {
			t.Errorf("%q: %+v", tc.flags, got)
		}
		other := map[string]string{"first": "only-second", "second": "only-first"}[tc.want]
		r := granary(t, append(append([]string{"labels"}, tc.flags...), dir)...)
		if !strings.Contains(r.stdout, "only-"+tc.want) || strings.Contains(r.stdout, other) {
			t.Errorf("%q: %s", tc.flags, r.stdout)
		}
	}
}

// The labels of real profiles equal the labels that pprof's parser finds.
func TestLabelsOfRealProfiles(t *testing.T) {
	for name, labels := range map[string]map[string]int{
		"profile-with-labels.pb.gz": {"thread_id": 6, "thread_name": 1},
		"labels.pb.gz":              {"api": 1, "file": 1},
	} {
		input := beside.Data(t, "pprof/"+name)
		for label, n := range labels {
			if got := granaryLabels(t, label, input); len(got) != n || got[0].Profiles != 1 {
				t.Errorf("%s: %s has values %+v, want %d", name, label, got, n)
			}
		}
	}
}
