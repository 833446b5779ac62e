package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/profile"
)

// The text output of top: header, percentages, order and units.
func TestTopGolden(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	diff := file(t, "diff.pb.gz", newProfile("inuse_space:bytes",
		sample{"grew main", []int64{3 << 20}, nil}, sample{"shrank main", []int64{-1 << 20}, nil}))
	even := file(t, "even.pb.gz", newProfile("inuse_space:bytes",
		sample{"grew main", []int64{1 << 20}, nil}, sample{"shrank main", []int64{-1 << 20}, nil}))
	none := file(t, "none.pb.gz", newProfile("inuse_space:bytes"))
	next := service()
	next.TimeNanos += 3600 * 1e9
	later := file(t, "later.pb.gz", next)
	var types strings.Builder
	for i := range 30 {
		fmt.Fprintf(&types, "type-%d:count ", i)
	}
	many := file(t, "many.pb.gz", newProfile(types.String(), sample{"f", slices.Repeat([]int64{1}, 30), nil}))
	bare := file(t, "bare.pb.gz", newProfile(": cpu:nanoseconds", sample{"f", []int64{1, 2}, nil}))
	for _, tc := range []struct {
		golden string
		args   []string
	}{
		{"top.golden", []string{"top", input}},
		{"top-two.golden", []string{"top", "--nodes", "2", input}},
		{"top-samples.golden", []string{"top", "--nodes", "0", "--sample-index", "samples", input}},
		{"top-json.golden", []string{"top", "--json", "--nodes", "3", input}},
		{"top-selector.golden", []string{"top", "--selector", `{thread=~"worker-.*"}`, input}},
		{"top-difference.golden", []string{"top", diff}},
		{"top-even.golden", []string{"top", even}},
		{"top-none.golden", []string{"top", none}},
		{"top-mixed.golden", []string{"top", input, diff, later}},
		{"top-many-types.golden", []string{"top", many}},
		{"top-unnamed.golden", []string{"top", "--sample-index", "unnamed", bare}},
		{"top-unnamed.golden", []string{"top", "--sample-index", "''", bare}},
		{"top-default-unnamed.golden", []string{"top", bare}},
	} {
		t.Run(tc.golden, func(t *testing.T) {
			r := granary(t, tc.args...)
			if r.code != cli.ExitOK {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			clitest.Golden(t, tc.golden, r.stdout)
		})
	}
}

// A type without a name can be selected by its name in answers, unless another type has that
// name. Errors list it.
func TestUnnamedType(t *testing.T) {
	bare := file(t, "bare.pb.gz", newProfile(": cpu:nanoseconds", sample{"f", []int64{1, 2}, nil}))
	named := file(t, "named.pb.gz", newProfile("unnamed:count", sample{"f", []int64{4}, nil}))
	other := file(t, "other.pb.gz", newProfile(":count", sample{"f", []int64{8}, nil}))
	for _, tc := range []struct {
		args []string
		want int64
	}{
		{[]string{"--sample-index", "unnamed", bare}, 1},
		{[]string{"--sample-index", "unnamed", bare, named}, 4},
		{[]string{"--sample-index", "''", bare, named}, 1},
		{[]string{"--sample-index", ":count", bare, other}, 8},
	} {
		if got := granaryTop(t, tc.args...); got.Total != tc.want {
			t.Errorf("%q: total %d, want %d", tc.args, got.Total, tc.want)
		}
	}
	if p := granaryMerge(t, "--sample-index", "unnamed", bare); len(p.SampleType) != 1 || p.SampleType[0].Type != "" {
		t.Errorf("merged: %v", p)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--sample-index", "nope", bare}, "known types: '' (unnamed), cpu"},
		{[]string{"--sample-index", "unnamed", file(t, "service.pb.gz", service())}, `unknown sample type "unnamed", known types: samples, cpu`},
		{[]string{"--sample-index", "unnamed", bare, other}, `ambiguous sample type "unnamed", choose one of: `},
	} {
		if r := granary(t, append([]string{"top"}, tc.args...)...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%q: %+v", tc.args, r)
		}
	}
}

func TestTopNodes(t *testing.T) {
	var samples []sample
	for i := range 50 {
		samples = append(samples, sample{"f" + strings.Repeat("x", i), []int64{int64(i + 1)}, nil})
	}
	input := file(t, "in.pb.gz", newProfile("n:count", samples...))
	for _, tc := range []struct {
		args []string
		want int
	}{
		{[]string{"top"}, 20},
		{[]string{"top", "--nodes", "7"}, 7},
		{[]string{"top", "--limit", "7"}, 7},
		{[]string{"top", "-n7"}, 7},
		{[]string{"top", "--json", "-n", "7"}, 7},
		{[]string{"top", "--nodes", "0"}, 50},
		{[]string{"top", "--nodes", "1000"}, 50},
		{[]string{"top", "--json"}, 50},
		{[]string{"top", "--json", "--nodes", "7"}, 7},
		{[]string{"top", "--json", "--nodes", "0"}, 50},
	} {
		r := granary(t, append(tc.args, input)...)
		got := strings.Count(r.stdout, "\n") - 4 // lines of the header
		if slices.Contains(tc.args, "--json") {
			var out topJSON
			if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
				t.Fatal(err)
			}
			got = len(out.Functions)
		}
		if got != tc.want {
			t.Errorf("%q: %d functions, want %d", tc.args, got, tc.want)
		}
	}
}

// --sort and --cum choose the order of top and of diff.
func TestSort(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	none := file(t, "none.pb.gz", newProfile("samples:count cpu:nanoseconds"))
	for _, tc := range []struct {
		flags []string
		want  string
	}{
		{nil, "compress parse gc main handle"},
		{[]string{"--sort", "flat"}, "compress parse gc main handle"},
		{[]string{"--sort", "cum"}, "main handle compress parse gc"},
		{[]string{"--cum"}, "main handle compress parse gc"},
		{[]string{"--cum", "--sort", "cum"}, "main handle compress parse gc"},
		{[]string{"--sort", "name"}, "compress gc handle main parse"},
	} {
		var names []string
		for _, f := range granaryTop(t, append(tc.flags, input)...).Functions {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != tc.want {
			t.Errorf("top %q: %s, want %s", tc.flags, got, tc.want)
		}
		names = nil
		for _, f := range granaryDiff(t, append(tc.flags, none, input)...).Functions {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != tc.want {
			t.Errorf("diff %q: %s, want %s", tc.flags, got, tc.want)
		}
	}
	if r := granary(t, "top", "--sort", "size", input); r.code != cli.ExitUsage || !strings.Contains(r.stderr, `--sort "size": want flat, cum or name`) {
		t.Errorf("%+v", r)
	}
}

// Labels of samples and of files can be selected, even with unusual characters in names.
func TestTopSelector(t *testing.T) {
	a, b := file(t, "a.pb.gz", service()), file(t, "b.pb.gz", service())
	for _, tc := range []struct {
		selector string
		want     int64
	}{
		{`{}`, 2000},
		{`{thread="worker-1"}`, 1200},
		{`{thread=~"worker-.*"}`, 1800},
		{`{thread!~"worker-.*"}`, 200},
		{`{thread=""}`, 180},
		{`{thread!=""}`, 1820},
		{`{file=~".*/a[.]pb[.]gz"}`, 1000},
		{`{file=~".*/a[.]pb[.]gz", thread="main"}`, 10},
		{`{file="a.pb.gz"}`, 0},
	} {
		if got := granaryTop(t, "--selector", tc.selector, a, b); got.Total != tc.want*1e6 {
			t.Errorf("%s: total %d, want %d", tc.selector, got.Total, tc.want*1e6)
		}
	}
}

// For labels of real profiles, the samples that a selector matches and the others add up to
// the whole, function by function.
func TestTopSelectorOfRealProfiles(t *testing.T) {
	for _, tc := range []struct{ file, with, without string }{
		{"profile-with-labels.pb.gz", `{thread_id="2756158"}`, `{thread_id!="2756158"}`},
		{"profile-with-labels.pb.gz", `{thread_name="parca",thread_id=~"2756.*"}`, `{thread_id!~"2756.*"}`},
		{"labels.pb.gz", `{api!=""}`, `{api=""}`},
	} {
		input := beside.Data(t, "pprof/"+tc.file)
		with, without, all := granaryTop(t, "--selector", tc.with, input), granaryTop(t, "--selector", tc.without, input), granaryTop(t, input)
		sum := byName(t, with.Functions)
		for name, c := range byName(t, without.Functions) {
			sum[name] = cost{sum[name].Flat + c.Flat, sum[name].Cum + c.Cum}
		}
		if diff := cmp.Diff(byName(t, all.Functions), sum); diff != "" {
			t.Errorf("%s %s: -all +sum\n%s", tc.file, tc.with, diff)
		}
		if with.Total == 0 || without.Total == 0 || with.Total+without.Total != all.Total {
			t.Errorf("%s %s: %d and %d of %d", tc.file, tc.with, with.Total, without.Total, all.Total)
		}
	}
}

// JSON has unescaped names, and an empty list instead of null.
func TestTopJSON(t *testing.T) {
	input := file(t, "in.pb.gz", newProfile("n:count", sample{"<a>&\u00e9 main", []int64{1 << 60}, nil}))
	r := granary(t, "top", "--json", input)
	if !strings.Contains(r.stdout, "<a>&\u00e9") || !strings.Contains(r.stdout, "1152921504606846976") {
		t.Error(r.stdout)
	}
	got := granaryTop(t, input)
	if diff := cmp.Diff([]profile.Function{{Name: "<a>&\u00e9", Flat: 1 << 60, Cum: 1 << 60}, {Name: "main", Cum: 1 << 60}}, got.Functions); diff != "" {
		t.Error(diff)
	}
}
