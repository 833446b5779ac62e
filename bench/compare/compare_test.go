package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/bench/targets"
)

// A report's numbers are found by path, and those of the machine and of the flags are not.
func TestReadValues(t *testing.T) {
	got, err := readValues("queries", []byte(`{
		"repeat": 5, "machine": "linux",
		"fleet": {"jobs": 25, "rows": 1000, "granules": 3},
		"queries": [{"question": "merge-all", "cpu_ms": 5.5, "must_ms": 10, "groups": 7}],
		"writer": {
			"machine": {"p50_us": 1},
			"phases": [{"name": "paced", "inserts": {"p99_us": 200}, "reads": [{"read": "held", "p50_us": 9}]}]
		}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	want := values{
		"queries/fleet/jobs":                            {work, 25},
		"queries/fleet/rows":                            {work, 1000},
		"queries/queries/merge-all/cpu_ms":              {cost, 5.5},
		"queries/queries/merge-all/groups":              {work, 7},
		"queries/writer/phases/paced/inserts/p99_us":    {cost, 200},
		"queries/writer/phases/paced/reads/held/p50_us": {cost, 9},
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	got, err = readValues("histories", []byte(`{"sets": [{"set": "../../a/many-threads", "build_m_s": 30, "cursor_ms": {"16": 0.1}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want = values{"histories/sets/many-threads/build_m_s": {rate, 30}, "histories/sets/many-threads/cursor_ms/16": {cost, 0.1}}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, text := range []string{"", "{}", `{"cpu_ms": "5"}`} {
		if v, err := readValues("queries", []byte(text)); err == nil {
			t.Errorf("%q: %v", text, v)
		}
	}
}

func TestRelate(t *testing.T) {
	side := func(costs, rates []float64) (all []values) {
		for i := range costs {
			all = append(all, values{"a": {cost, costs[i]}, "r": {rate, rates[i]}, "rows": {work, 10}})
		}
		return all
	}
	runs := [2][]values{
		base: side([]float64{10, 20, 10}, []float64{10, 10, 10}),
		head: side([]float64{11, 20, 12}, []float64{11, 12, 13}),
	}
	for _, v := range runs[base] {
		v["old"] = value{cost, 1}
	}
	for _, v := range runs[head] {
		v["new"] = value{cost, 1}
	}
	got, err := relate(runs)
	if err != nil {
		t.Fatal(err)
	}
	want := figures{
		Ratios: []ratio{
			{Figure: "a", Base: 10, Head: 12, Ratio: results.Spread{Median: 1.1, Low: 1, High: 1.2}, Least: 1.1, Mark: "worse, pairs disagree"},
			{Figure: "r", Base: 10, Head: 12, Ratio: results.Spread{Median: 10.0 / 12, Low: 10.0 / 13, High: 10.0 / 11}, Least: 10.0 / 13, Mark: "better"},
		},
		OnlyBase: []string{"old"}, OnlyHead: []string{"new"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	runs[head][1]["rows"] = value{work, 11}
	if _, err := relate(runs); err == nil || !strings.Contains(err.Error(), "rows is 10, then 10 and 11") {
		t.Errorf("different work: %v", err)
	}
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		ratios []float64
		want   float64
	}{{[]float64{2}, 2}, {[]float64{2, 0.5}, 1}, {[]float64{3, 1, 2}, 2}, {[]float64{9, 4, 1, 9}, 6}} {
		if got := middle(c.ratios); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v: %v, want %v", c.ratios, got, c.want)
		}
	}
}

// Each round runs base, head, head, base, with the flags and the processors asked for. Each pair has a layout
// of its own.
func TestMeasure(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bench"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := &builds{folder: root, root: root}
	for side, name := range sideNames {
		for layout := 1; layout <= 4; layout++ {
			script := fmt.Sprintf("#!/bin/sh\necho \"%s %d $GOMAXPROCS $*\" >>log\necho '{\"figures\": [{\"name\": \"scan\", \"cpu_ms\": %d}]}'\n", name, layout, side+1)
			if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("%s.%d.bench", name, layout)), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	runs, err := b.measure(t.Context(), options{rounds: 2, rows: 7, repeat: 3, procs: 1}, "arrow")
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(root, "bench", "log"))
	if err != nil {
		t.Fatal(err)
	}
	const flags = " 1 -rows 7 -repeat 3 -workload arrow\n"
	var want strings.Builder
	for layout := 1; layout <= 4; layout += 2 {
		fmt.Fprintf(&want, "base %[1]d%[2]shead %[1]d%[2]shead %[3]d%[2]sbase %[3]d%[2]s", layout, flags, layout+1)
	}
	if diff := cmp.Diff(want.String(), string(log)); diff != "" {
		t.Errorf("runs (-want +got)\n%s", diff)
	}
	f, err := relate(runs)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Ratios) != 1 || f.Ratios[0].Ratio != (results.Spread{Median: 2, Low: 2, High: 2}) || len(runs[base]) != 4 {
		t.Errorf("%+v", f)
	}
}

// The table has each ratio, each figure of one side and each target without a figure.
func TestWriteTable(t *testing.T) {
	var text strings.Builder
	f := figures{Ratios: []ratio{{Figure: "a", Target: "merge-all", Ratio: results.Spread{Median: 1.1}, Mark: "worse"}}, OnlyBase: []string{"old"}}
	if err := writeTable(&text, []figures{f}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if want := 3 + len(targets.Keys()) - 1; len(lines) != want || !strings.Contains(lines[1], "worse") || !strings.Contains(lines[2], "only in the base") {
		t.Errorf("%d lines, want %d:\n%s", len(lines), want, text.String())
	}
}

// Figures are mapped to targets that exist.
func TestTargetOf(t *testing.T) {
	for figure, key := range targetOf {
		if !slices.Contains(targets.Keys(), key) {
			t.Errorf("%s measures %s, which is no target", figure, key)
		}
	}
}

func TestCheck(t *testing.T) {
	good := options{base: "HEAD", rounds: 1, rows: 1, repeat: 1, workloads: []string{"arrow"}}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*options){
		"-base is missing":   func(o *options) { o.base = "" },
		"at least one round": func(o *options) { o.rounds = 0 },
		"unknown workload":   func(o *options) { o.workloads = []string{"arrow", "bow"} },
	} {
		o := good
		change(&o)
		if err := o.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
