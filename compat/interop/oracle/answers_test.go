package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
)

// TestRead compares the oracle with sums made by hand.
func TestRead(t *testing.T) {
	a, err := read(write(t, "job=api/one.pb.gz", small()))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name      string
		got, want any
	}{
		{"rows", a.Rows, int64(5)},
		{"types", a.Types, map[string]sum{"samples\ncount": {2, 3}, "cpu\nns": {3, 107}}},
		{"thread", a.Labels["pprof_labels.thread"], map[string]sum{"w": {2, 11}}},
		{"size", a.Labels["pprof_num_labels.size[bytes]"], map[string]sum{"-5": {2, 22}}},
		{"job", a.Labels["labels.job"], map[string]sum{"api": {5, 110}}},
		{"an empty label", a.Labels["pprof_labels.empty"], map[string]sum(nil)},
		{"times", a.Times, map[int64]sum{42: {5, 110}}},
		{"stacks", a.Stacks, map[string]sum{
			"samples\nleaf\nmain": {1, 1}, "cpu\nleaf\nmain": {2, 87},
			"samples\ninlined\ncaller\n[prog]\n<unknown>": {1, 2}, "cpu\ninlined\ncaller\n[prog]\n<unknown>": {1, 20},
		}},
		{"functions", a.Functions["main"], sum{3, 88}},
		{"locations", a.Locations, []sum{{1, 1}, {1, 2}, {1, 10}, {1, 20}, {1, 77}}},
	} {
		if got, want := fmt.Sprint(tc.got), fmt.Sprint(tc.want); got != want {
			t.Errorf("%s: %s, want %s", tc.name, got, want)
		}
	}
}

func TestRead_Errors(t *testing.T) {
	if _, err := read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there is no error")
	}
	p := small()
	p.Sample[0].Label = map[string][]string{"thread": {"a", "b"}}
	if _, err := read(write(t, "x.pb.gz", p)); err == nil {
		t.Error("a label of two values is no error")
	}
}

func TestWide(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, true); err != nil {
		t.Fatal(err)
	}
	a, err := read(dir)
	if err != nil || len(a.Labels) != 10_001 || a.Rows != 100 {
		t.Errorf("%d labels of %d rows: %v", len(a.Labels), a.Rows, err)
	}
}

// small is a profile with every peculiarity of rows: no value, no lines, no mapping, two
// locations of one name.
func small() *profile.Profile {
	functions := []*profile.Function{{ID: 1, Name: "leaf"}, {ID: 2, Name: "main"}, {ID: 3, Name: "inlined"}, {ID: 4, Name: "caller"}}
	at := func(address uint64, m *profile.Mapping, of ...*profile.Function) *profile.Location {
		l := &profile.Location{ID: address, Address: address, Mapping: m}
		for _, f := range of {
			l.Line = append(l.Line, profile.Line{Function: f, Line: 1})
		}
		return l
	}
	m := &profile.Mapping{ID: 1, File: "/usr/bin/prog"}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "ns"}},
		PeriodType: &profile.ValueType{}, TimeNanos: 42, Function: functions, Mapping: []*profile.Mapping{m},
	}
	p.Location = []*profile.Location{
		at(1, m, functions[0]), at(2, m, functions[1]), at(3, m, functions[2], functions[3]), at(4, m), at(5, nil), at(6, m, functions[0]),
	}
	l := func(ids ...int) (stack []*profile.Location) {
		for _, id := range ids {
			stack = append(stack, p.Location[id-1])
		}
		return stack
	}
	p.Sample = []*profile.Sample{
		{Location: l(1, 2), Value: []int64{1, 10}, Label: map[string][]string{"thread": {"w"}, "empty": {""}}},
		{Location: l(3, 4, 5), Value: []int64{2, 20}, NumLabel: map[string][]int64{"size": {-5}}, NumUnit: map[string][]string{"size": {"bytes"}}},
		{Location: l(6, 2), Value: []int64{0, 77}},
	}
	slices.Reverse(p.Sample)
	return p
}

// write writes a profile into a new folder, whose name it returns.
func write(t *testing.T, name string, p *profile.Profile) string {
	t.Helper()
	dir := t.TempDir()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
