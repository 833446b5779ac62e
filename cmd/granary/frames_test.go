package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/effort"
)

// frameFlagSets returns sets of --focus, --ignore, --hide and --show for a profile: by function,
// by source file, by binary, together, and without any match.
func frameFlagSets(p *pprof.Profile) [][]string {
	function, file, binary := "runtime", "[.]go$", "/"
	for _, s := range p.Sample {
		for _, l := range s.Location {
			if l.Mapping != nil && l.Mapping.File != "" {
				binary = regexp.QuoteMeta(l.Mapping.File)
			}
			if len(l.Line) > 0 && l.Line[0].Function.Name != "" {
				function, file = "^"+regexp.QuoteMeta(l.Line[0].Function.Name)+"$", regexp.QuoteMeta(l.Line[0].Function.Filename)
			}
		}
	}
	return [][]string{
		{"focus=" + function},
		{"ignore=" + function, "hide=runtime"},
		{"focus=" + binary, "ignore=gc|lock", "show=" + file + "|main|alloc"},
		{"focus=" + file + "|net", "hide=^" + binary + "$|nothing at all"},
	}
}

// fewer returns each fourth of the files, with -short each sixteenth, or all if tests are full: they are the same code.
func fewer(files []string) (some []string) {
	apart := 4
	if testing.Short() {
		apart = 16
	}
	for i, file := range files {
		if effort.Full || i%apart == 0 {
			some = append(some, file)
		}
	}
	return some
}

// --focus, --ignore, --hide and --show choose the samples and frames that the options of go
// tool pprof choose.
func TestFramesEqualPprof(t *testing.T) {
	effort.Slow(t)
	eachCorpus(t, func(t *testing.T, files []string) {
		tool := newPprofTool(t)
		for _, file := range fewer(files) {
			t.Run(filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file)), func(t *testing.T) {
				t.Parallel()
				compareFrames(t, tool, file)
			})
		}
	})
}

// compareFrames compares top and merge for one sample type of a file.
func compareFrames(t *testing.T, tool pprofTool, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := mustParse(t, data, file)
	typ := p.SampleType[len(p.SampleType)-1]
	functions := 0
	for _, set := range frameFlagSets(p) {
		var ours, theirs []string
		patterns := map[string]*regexp.Regexp{}
		for _, flag := range set {
			name, text, _ := strings.Cut(flag, "=")
			ours, theirs, patterns[name] = append(ours, "--"+flag), append(theirs, "-"+flag), regexp.MustCompile(text)
		}
		got := granaryTop(t, append(ours, "--sample-index", typ.Type, file)...)
		want := tool.top(t, file, typ.Type, typ.Unit, theirs...)
		if diff := cmp.Diff(want, byName(t, got.Functions)); diff != "" {
			t.Errorf("%q: -pprof +granary\n%s", set, diff)
		}
		filtered := p.Copy()
		filtered.FilterSamplesByName(patterns["focus"], patterns["ignore"], patterns["hide"], patterns["show"])
		if diff := cmp.Diff(contentOf(filtered).Samples, contentOf(granaryMerge(t, append(ours, file)...)).Samples); diff != "" {
			t.Errorf("merge %q: -pprof +granary\n%s", set, diff)
		}
		functions += len(want)
	}
	t.Logf("%d functions", functions)
}

// All commands that choose samples take the flags.
func TestFramesOfAllCommands(t *testing.T) {
	input := file(t, "in.pb.gz", service())
	flags := []string{"--focus", "handle", "--ignore", "parse"}
	want := granaryTop(t, append(flags, input)...)
	if want.Total == 0 || want.Total >= granaryTop(t, input).Total {
		t.Errorf("top: %d", want.Total)
	}
	if got := granarySeries(t, append(flags, input)...); got.Lines[0].Points[0].Value != want.Total {
		t.Errorf("series: %+v, want %d", got, want.Total)
	}
	if got := granaryDiff(t, append(flags, input, input)...); got.Before != want.Total || got.After != want.Total {
		t.Errorf("diff: %+v, want %d", got, want.Total)
	}
	hidden := granaryDiff(t, "--hide", "main", "--focus", "handle", input, file(t, "none.pb.gz", newProfile("samples:count cpu:nanoseconds")))
	for _, f := range hidden.Functions {
		if f.Name == "main" {
			t.Errorf("diff --hide main: %+v", hidden)
		}
	}
	r := granary(t, append([]string{"flamegraph", "-o", "-", "--hide", "compress"}, append(flags, input)...)...)
	if strings.Contains(r.stdout, "compress") || strings.Contains(r.stdout, "parse") || !strings.Contains(r.stdout, "handle") {
		t.Errorf("flamegraph: %.500s", r.stdout)
	}
	for _, flag := range []string{"--focus", "--ignore", "--hide", "--show"} {
		if r := granary(t, "top", flag, "(", input); r.code != cli.ExitUsage || !strings.Contains(r.stderr, flag+` "(": want a regular expression`) {
			t.Errorf("%s: %+v", flag, r)
		}
	}
}
