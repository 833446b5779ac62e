package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	diffs "github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"github.com/spf13/pflag"

	"github.com/granarydb/granary/cmd/granary/internal/check"
	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/cmd/granary/internal/states"
	"github.com/granarydb/granary/internal/effort"
)

// runsOf writes n runs of a program to a folder. vary changes the cost of parse from run to run, and parse is its cost.
func runsOf(t testing.TB, dir string, n int, parse int64) string {
	t.Helper()
	for i := range n {
		cost := parse + int64(i%5)*parse/500
		file(t, filepath.Join(dir, fmt.Sprintf("run-%02d.pb.gz", i)), newProfile("alloc_objects:count alloc_space:bytes",
			sample{"compress handle main", []int64{60, 6_000_000}, nil},
			sample{"parse handle main", []int64{25, cost}, nil},
			sample{"gc", []int64{9, 900_000}, nil}))
	}
	return dir
}

func checkJSON(t *testing.T, want int, args ...string) check.Report {
	t.Helper()
	r := granary(t, append([]string{"check", "--json"}, args...)...)
	var out check.Report
	d := json.NewDecoder(strings.NewReader(r.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil || r.code != want {
		t.Fatalf("granary check %q: exit code %d, want %d, %v: %s", args, r.code, want, err, r.stderr)
	}
	return out
}

func TestCheckGolden(t *testing.T) {
	dir := t.TempDir()
	runsOf(t, filepath.Join(dir, "base"), 5, 2_500_000)
	runsOf(t, filepath.Join(dir, "new"), 5, 2_700_000)
	file(t, filepath.Join(dir, "a.pb.gz"), service())
	file(t, filepath.Join(dir, "b.pb.gz"), later())
	write(t, filepath.Join(dir, "budget"), []byte("compress 50%\nparse +20% cpu\nnone 1%\n"))
	for _, tc := range []struct {
		golden string
		code   int
		args   []string
	}{
		{"check.golden", cli.ExitFailed, []string{"--per", "run", "base", "new"}},
		{"check-share.golden", cli.ExitFailed, []string{"base", "new"}},
		{"check-back.golden", cli.ExitOK, []string{"--per", "run", "new", "base"}},
		{"check-same.golden", cli.ExitOK, []string{"base", "base"}},
		{"check-one.golden", cli.ExitFailed, []string{"a.pb.gz", "b.pb.gz"}},
		{"check-budget.golden", cli.ExitFailed, []string{"--budget", "budget", "a.pb.gz", "a.pb.gz"}},
		{"check-markdown.golden", cli.ExitFailed, []string{"--markdown", "--per", "run", "base", "new"}},
		{"check-json.golden", cli.ExitFailed, []string{"--json", "-n", "1", "--sample-index", "alloc_space", "--per", "run", "base", "new"}},
		{"check-help.golden", cli.ExitOK, []string{"--help"}},
	} {
		t.Run(tc.golden, func(t *testing.T) {
			r := inDir(t, dir, append([]string{"check"}, tc.args...)...)
			if r.code != tc.code || (tc.code == cli.ExitFailed) != strings.HasPrefix(r.stderr, "granary: regression: ") {
				t.Errorf("exit code %d, want %d: %s", r.code, tc.code, r.stderr)
			}
			if tc.golden != "check-markdown.golden" {
				clitest.CheckWidth(t, tc.golden, r.stdout)
			}
			clitest.Golden(t, tc.golden, r.stdout)
		})
	}
}

// TestCheckSides: a side is a folder, files with commas or flags, a store, or a part of one, and the answer is the same.
func TestCheckSides(t *testing.T) {
	dir := t.TempDir()
	base, changed := runsOf(t, filepath.Join(dir, "base", "version=1"), 5, 2_500_000), runsOf(t, filepath.Join(dir, "new", "version=2"), 5, 2_700_000)
	files := func(of string) (names []string) {
		for i := range 5 {
			names = append(names, filepath.Join(of, fmt.Sprintf("run-%02d.pb.gz", i)))
		}
		return names
	}
	both := filepath.Join(dir, "both.db")
	one := filepath.Join(dir, "one.db")
	for db, inputs := range map[string][]string{both: {base, changed}, one: {base}} {
		if r := granary(t, append([]string{"load", "--cumulative", "sum", "--db", db}, inputs...)...); r.code != cli.ExitOK {
			t.Fatalf("%+v", r)
		}
	}
	want := checkJSON(t, cli.ExitFailed, "--per", "run", base, changed)
	if len(want.Types) != 2 || want.Types[0].Runs != [2]int{5, 5} || want.Types[0].Method != check.ByRuns {
		t.Fatalf("%+v", want)
	}
	flags := []string{}
	for _, name := range files(base) {
		flags = append(flags, "--base", name)
	}
	for _, name := range files(changed) {
		flags = append(flags, "--new", name)
	}
	for name, args := range map[string][]string{
		"commas": {strings.Join(files(base), ","), strings.Join(files(changed), ",")},
		"flags":  flags,
		"store":  {"--db", one, changed},
		"parts":  {"--db", both, "--base-selector", `{version="1"}`, "--selector", `{version="2"}`},
	} {
		got := checkJSON(t, cli.ExitFailed, append([]string{"--per", "run"}, args...)...)
		if fmt.Sprint(texts(t, got)) != fmt.Sprint(texts(t, want)) {
			t.Errorf("%s:\n%s\nwant\n%s", name, texts(t, got), texts(t, want))
		}
	}
}

func texts(t *testing.T, r check.Report) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCheckTimes: of a store without files a run is a span of time.
func TestCheckTimes(t *testing.T) {
	dir := t.TempDir()
	start := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	for i := range 20 {
		p := newProfile("alloc_space:bytes", sample{"f", []int64{1000 + int64(i%2)}, nil}, sample{"g", []int64{1000}, nil})
		if i >= 10 {
			p.Sample[0].Value[0] += 100
		}
		p.TimeNanos = start.Add(time.Duration(i) * time.Minute).UnixNano()
		file(t, filepath.Join(dir, fmt.Sprintf("%02d.pb.gz", i)), p)
	}
	db := filepath.Join(t.TempDir(), "x.db")
	if r := granary(t, "load", "--cumulative", "sum", "--db", db, dir); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	args := []string{"--db", db, "--run", "2m", "--base-to", "2026-01-31T09:10:00Z", "--from", "2026-01-31T09:10:00Z", "--base-from", "2026-01-31T09:00:00Z"}
	r := checkJSON(t, cli.ExitFailed, args...)
	if r.Types[0].Runs != [2]int{5, 5} || r.Types[0].Functions[0].Name != "f" {
		t.Errorf("%+v", r)
	}
	if r := granary(t, append([]string{"check"}, append(args, "--run", "1ms")...)...); r.code != cli.ExitTrouble || !strings.Contains(r.stderr, "more than 1000 runs") {
		t.Errorf("%+v", r)
	}
}

// TestCheckOperations: profiles of a folder ops=N are compared by operation, so that runs of unequal length are equal.
func TestCheckOperations(t *testing.T) {
	dir := t.TempDir()
	for side, sizes := range map[string][]int64{"base": {100, 200, 300, 400, 500}, "new": {1000, 2000, 3000, 4000, 5000}} {
		for i, ops := range sizes {
			p := newProfile("alloc_space:bytes", sample{"f", []int64{100 * ops}, nil}, sample{"g", []int64{50 * ops}, nil})
			file(t, filepath.Join(dir, side, fmt.Sprintf("ops=%d", ops), fmt.Sprintf("%d.pb.gz", i)), p)
		}
	}
	r := checkJSON(t, cli.ExitOK, filepath.Join(dir, "base"), filepath.Join(dir, "new"))
	if r.Types[0].By != check.PerOperation || r.Types[0].Total == nil || r.Types[0].Total.New != 150 {
		t.Errorf("%+v", r)
	}
	checkJSON(t, cli.ExitFailed, "--per", "run", filepath.Join(dir, "base"), filepath.Join(dir, "new"))
}

// TestCheckEmptyRun: a benchmark's profile without samples is a run like others.
func TestCheckEmptyRun(t *testing.T) {
	dir := t.TempDir()
	for _, side := range []string{"base", "new"} {
		for i := range 5 {
			p := newProfile("cpu:nanoseconds", sample{"f", []int64{1e7}, nil})
			if side == "new" && i < 2 {
				p.Sample = nil
			}
			of := filepath.Join(dir, side, "bench=X", "ops=10")
			file(t, filepath.Join(of, fmt.Sprintf("cpu-%d.pb.gz", i)), p)
			file(t, filepath.Join(of, fmt.Sprintf("mem-%d.pb.gz", i)), newProfile("alloc_space:bytes", sample{"f", []int64{100}, nil}))
		}
	}
	r := checkJSON(t, cli.ExitOK, filepath.Join(dir, "base"), filepath.Join(dir, "new"))
	for _, one := range r.Types {
		if one.Runs != [2]int{5, 5} || one.Method != check.ByRuns || one.Sample == "cpu" && one.Total.New != 6e5 {
			t.Errorf("%+v, total %+v", one, one.Total)
		}
	}
}

// TestCheckKinds compares profiles of mutexes with those of mutexes, and blocks with blocks.
func TestCheckKinds(t *testing.T) {
	dir := t.TempDir()
	waits := func(name string, n int64) {
		file(t, filepath.Join(dir, name), newProfile("contentions:count delay:nanoseconds", sample{"f", []int64{1, n}, nil}, sample{"g", []int64{1, 1000}, nil}))
	}
	waits("base/mutex.pb.gz", 1000)
	waits("base/block.pb.gz", 5000)
	waits("new/mutex.pb.gz", 1000)
	waits("new/block.pb.gz", 9000)
	r := checkJSON(t, cli.ExitFailed, "--per", "run", filepath.Join(dir, "base"), filepath.Join(dir, "new"))
	worse := map[string]bool{}
	for _, one := range r.Types {
		if one.Sample == "delay" {
			worse[one.Kind] = one.IsWorse()
		}
	}
	if len(worse) != 2 || !worse["block"] || worse["mutex"] {
		t.Errorf("%v: %+v", worse, r)
	}
}

// TestCheckTrouble: exit code 1 is a regression alone, so every error has 2.
func TestCheckTrouble(t *testing.T) {
	dir := t.TempDir()
	good := file(t, filepath.Join(dir, "good.pb.gz"), service())
	heap := file(t, filepath.Join(dir, "heap.pb.gz"), newProfile("inuse_space:bytes", sample{"f", []int64{1}, nil}))
	none := file(t, filepath.Join(dir, "none.pb.gz"), newProfile("cpu:nanoseconds"))
	half := filepath.Join(dir, "half")
	file(t, filepath.Join(half, "a.pb.gz"), service())
	write(t, filepath.Join(half, "b.pb.gz"), []byte("torn"))
	bad := write(t, filepath.Join(dir, "budget"), []byte("main.parse\n"))
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"one side", []string{good}, "two sides"},
		{"three sides", []string{good, good, good}, "two sides"},
		{"base alone", []string{"--base", good}, "at least one of each"},
		{"flags and arguments", []string{"--base", good, "--new", good, good}, "no others"},
		{"a file that is missing", []string{good, filepath.Join(dir, "missing.pb.gz")}, "missing.pb.gz"},
		{"a file that is torn, of two", []string{half, good}, "b.pb.gz"},
		{"no samples", []string{none, good}, "no samples to compare"},
		{"other types", []string{good, heap}, "no type of values is on both sides"},
		{"unknown type", []string{"--sample-index", "heap", good, good}, `"heap"`},
		{"two forms", []string{"--json", "--markdown", good, good}, "choose one"},
		{"growth that is none", []string{"--max-growth", "much", good, good}, "want a number of percent"},
		{"negative share", []string{"--min-share", "-1%", good, good}, "want a number of percent"},
		{"unknown basis", []string{"--per", "second", good, good}, "--per"},
		{"bad budget", []string{"--budget", bad, good, good}, `line 1: budget "main.parse"`},
		{"missing budget", []string{"--budget", bad + "x", good, good}, "--budget"},
		{"picture of another form", []string{"--svg", "a.png", good, good}, ".svg"},
		{"the same store", []string{"--db", dir}, "both sides are the same"},
		{"--against alone", []string{"--against", "HEAD", good, good}, "needs --bench"},
		{"--bench without a base", []string{"--bench", "."}, "--against"},
		{"--bench with two", []string{"--bench", ".", good, good}, "--against"},
		{"--bench of no commit", []string{"--bench", ".", "--against", "--all", "--package", "./internal/replay"}, "--against --all: git knows no such commit"},
		{"--bench of no package", []string{"--bench", ".", "--against", "HEAD", "--package", "-x"}, "go list"},
		{"--bench of two packages", []string{"--bench", ".", "--against", "HEAD", "--package", "./internal/..."}, "want one package"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := granary(t, append([]string{"check"}, tc.args...)...)
			if r.code != cli.ExitTrouble || !strings.Contains(r.stderr, tc.want) || r.stdout != "" {
				t.Errorf("exit code %d, want %d and %q:\n%s%s", r.code, cli.ExitTrouble, tc.want, r.stderr, r.stdout)
			}
		})
	}
}

// TestCheckPicture draws the type that is worse.
func TestCheckPicture(t *testing.T) {
	dir := t.TempDir()
	base, changed := runsOf(t, filepath.Join(dir, "a"), 5, 2_500_000), runsOf(t, filepath.Join(dir, "b"), 5, 2_700_000)
	for _, per := range []string{"run", "share"} {
		svg := filepath.Join(dir, per+".svg")
		if r := granary(t, "check", "--per", per, "--svg", svg, base, changed); r.code != cli.ExitFailed || len(r.problems()) != 1 {
			t.Fatalf("%+v", r)
		}
		picture, err := os.ReadFile(svg)
		if err != nil || !strings.Contains(string(picture), "Difference: alloc_space") || !strings.Contains(string(picture), "compress") {
			t.Errorf("%v: %.300s", err, picture)
		}
	}
}

// TestCheckHostile: names are text in every form.
func TestCheckHostile(t *testing.T) {
	name := "evil`|<b>@all\x1b[31m"
	p := func(cost int64) *pprof.Profile {
		return newProfile("alloc_space:bytes", sample{"f", []int64{100}, nil}, sample{name, []int64{cost}, nil})
	}
	dir := t.TempDir()
	a, b := file(t, filepath.Join(dir, "a.pb.gz"), p(100)), file(t, filepath.Join(dir, "b.pb.gz"), p(900))
	text := granary(t, "check", a, b)
	if text.code != cli.ExitFailed || !strings.Contains(text.stdout, "evil") || strings.Contains(text.stdout, "\x1b") {
		t.Errorf("%+v", text)
	}
	markdown := granary(t, "check", "--markdown", a, b)
	if !strings.Contains(markdown.stdout, "`evil'\\|<b>@all\uFFFD[31m`") {
		t.Errorf("%s", markdown.stdout)
	}
}

// TestCheckStates compares the time of goroutines in states, of traces.
func TestCheckStates(t *testing.T) {
	effort.Long(t)
	name := filepath.Join(t.TempDir(), "app.trace")
	if r := granary(t, "demo", "--span", "10s", "--trace", name); r.code != cli.ExitOK {
		t.Fatalf("%+v", r)
	}
	r := checkJSON(t, cli.ExitOK, name, name)
	i := slices.IndexFunc(r.Types, func(t check.TypeReport) bool { return t.Sample == "states" })
	if i < 0 || r.Types[i].Compared < 5 {
		t.Fatalf("%+v", r)
	}
	if r := checkJSON(t, cli.ExitOK, "--sample-index", "states", "--per", "run", name, name); len(r.Types) != 1 || r.Types[0].Total.Base < 1e9 {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "check", "--sample-index", "states", "--svg", name+".svg", name, name); r.code != cli.ExitTrouble || !strings.Contains(r.stderr, "no stacks") {
		t.Errorf("%+v", r)
	}
	run := runOfStates([]states.Sum{{Function: "main.f", State: "waiting (sync)", Total: 30}, {Function: "main.g", State: "waiting (sync)", Total: 10}, {State: "running", Total: 5}})
	want := map[string]check.Cost{"waiting (sync)": {Self: 0, Total: 40}, "main.f: waiting (sync)": {Self: 30, Total: 30}, "main.g: waiting (sync)": {Self: 10, Total: 10}, "running": {Self: 5, Total: 5}}
	if diff := diffs.Diff(want, run.Functions); diff != "" || run.Total != 45 {
		t.Errorf("total %v: %s", run.Total, diff)
	}
}

// TestCheckPage: the commands of docs/check.md have flags that there are.
func TestCheckPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repositoryRoot(t), "docs", "check.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile("granary check (--[^`>\n]*)").FindAllStringSubmatch(string(page), -1) {
		cmd := newCheck()
		err := cmd.ParseFlags(strings.Fields(m[1]))
		if err = cmp.Or(err, cmd.ValidateArgs(cmd.Flags().Args())); err != nil && !errors.Is(err, pflag.ErrHelp) {
			t.Errorf("%q: %v", m[0], err)
		}
		n++
	}
	if n < 4 {
		t.Errorf("%d commands: this test must be blind", n)
	}
}
