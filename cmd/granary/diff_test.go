package main

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/profile"
)

// later returns the profile of service after a change: parse costs less, compress more, gc the
// same, and inflate is new.
func later() *pprof.Profile {
	return newProfile("samples:count cpu:nanoseconds",
		sample{"compress handle main", []int64{90, 900_000_000}, nil},
		sample{"parse handle main", []int64{10, 100_000_000}, nil},
		sample{"inflate handle main", []int64{40, 400_000_000}, nil},
		sample{"gc", []int64{9, 90_000_000}, nil},
		sample{"main", []int64{1, 10_000_000}, nil},
	)
}

func TestDiffGolden(t *testing.T) {
	dir := t.TempDir()
	file(t, filepath.Join(dir, "a.pb.gz"), service())
	file(t, filepath.Join(dir, "b.pb.gz"), later())
	file(t, filepath.Join(dir, "none.pb.gz"), newProfile("samples:count cpu:nanoseconds"))
	file(t, filepath.Join(dir, "fell.pb.gz"), newProfile("inuse_space:bytes", sample{"f", []int64{3 << 20}, nil}, sample{"g", []int64{-1 << 20}, nil}))
	file(t, filepath.Join(dir, "rose.pb.gz"), newProfile("inuse_space:bytes", sample{"f", []int64{4 << 20}, nil}))
	for _, tc := range []struct {
		golden string
		args   []string
	}{
		{"diff.golden", []string{"a.pb.gz", "b.pb.gz"}},
		{"diff-back.golden", []string{"--nodes", "2", "b.pb.gz", "a.pb.gz"}},
		{"diff-normalize.golden", []string{"--normalize", "a.pb.gz", "b.pb.gz"}},
		{"diff-negative.golden", []string{"fell.pb.gz", "rose.pb.gz"}},
		{"diff-samples.golden", []string{"--sample-index", "samples", "--search", "handle", "a.pb.gz", "b.pb.gz"}},
		{"diff-same.golden", []string{"a.pb.gz", "a.pb.gz"}},
		{"diff-new.golden", []string{"none.pb.gz", "b.pb.gz"}},
		{"diff-none.golden", []string{"none.pb.gz", "none.pb.gz"}},
		{"diff-json.golden", []string{"--json", "--nodes", "2", "a.pb.gz", "b.pb.gz"}},
		{"diff-none-json.golden", []string{"--json", "none.pb.gz", "none.pb.gz"}},
	} {
		t.Run(tc.golden, func(t *testing.T) {
			r := inDir(t, dir, append([]string{"diff"}, tc.args...)...)
			if r.code != cli.ExitOK {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			clitest.CheckWidth(t, tc.golden, r.stdout)
			clitest.Golden(t, tc.golden, r.stdout)
		})
	}
}

// diffJSON is the output of granary diff --json.
type diffJSON struct {
	SampleType string                   `json:"sample_type"`
	Unit       string                   `json:"unit"`
	Before     int64                    `json:"before"`
	After      int64                    `json:"after"`
	Scale      float64                  `json:"scale"`
	MeanOver   int                      `json:"mean_over_times"`
	Functions  []profile.FunctionChange `json:"functions"`
}

func granaryDiff(t *testing.T, args ...string) diffJSON {
	t.Helper()
	r := granary(t, append([]string{"diff", "--json"}, args...)...)
	var out diffJSON
	d := json.NewDecoder(strings.NewReader(r.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil || r.code != cli.ExitOK {
		t.Fatalf("granary diff %q: exit code %d, %v: %s", args, r.code, err, r.stderr)
	}
	return out
}

// The differences of real profiles equal those of go tool pprof.
func TestDiffEqualsPprof(t *testing.T) {
	effort.Long(t)
	tool := newPprofTool(t)
	profiles := filepath.Join(repositoryRoot(t), "testdata", "profiles")
	pairs := [][2]string{
		{filepath.Join(profiles, "etcd", "cpu-1.pb.gz"), filepath.Join(profiles, "etcd", "cpu-3.pb.gz")},
		{filepath.Join(profiles, "etcd", "heap-1.pb.gz"), filepath.Join(profiles, "etcd", "heap-3.pb.gz")},
		{filepath.Join(profiles, "etcd", "mutex-2.pb.gz"), filepath.Join(profiles, "nats-server", "mutex-1.pb.gz")},
		{filepath.Join(profiles, "compile", "cpu-2.pb.gz"), filepath.Join(profiles, "pebble", "cpu-1.pb.gz")},
		{filepath.Join(profiles, "etcd", "goroutine-1.pb.gz"), filepath.Join(profiles, "nats-server", "goroutine-2.pb.gz")},
	}
	pairs = append(pairs, [2]string{"first of shared", "last of shared"})
	for _, pair := range pairs {
		a, b := pair[0], pair[1]
		t.Run(filepath.Base(a)+" "+filepath.Base(b), func(t *testing.T) {
			t.Parallel()
			if a == "first of shared" {
				many := profilesBelow(t, beside.Data(t, "pprof/many"))
				a, b = many[0], many[len(many)-1]
			}
			data, err := os.ReadFile(b)
			if err != nil {
				t.Fatal(err)
			}
			p := mustParse(t, data, b)
			functions := 0
			for _, typ := range p.SampleType {
				want := tool.top(t, b, typ.Type, typ.Unit, "-diff_base="+a)
				got := granaryDiff(t, "--sample-index", typ.Type, a, b)
				if diff := gocmp.Diff(want, costs(got.Functions)); diff != "" {
					t.Errorf("%s: -pprof +granary\n%s", typ.Type, diff)
				}
				functions += len(want)
				// pprof rounds the values of samples, granary the values of functions.
				most := int64(len(p.Sample))
				want = tool.top(t, b, typ.Type, typ.Unit, "-diff_base="+a, "-normalize")
				compareNearly(t, want, costs(granaryDiff(t, "--normalize", "--sample-index", typ.Type, a, b).Functions), most)
			}
			if functions == 0 {
				t.Error("nothing differs: choose others")
			}
			t.Logf("compared %d types, %d functions", len(p.SampleType), functions)
		})
	}
}

// The differences of all files of one kind, each from the one before, equal those of go tool
// pprof: of each pair that of one type, in turn.
func TestDiffOfAllFilesEqualsPprof(t *testing.T) {
	effort.Slow(t)
	eachCorpus(t, func(t *testing.T, files []string) {
		tool := newPprofTool(t)
		pairs, functions := 0, atomic.Int64{}
		t.Run("pairs", func(t *testing.T) {
			last := map[string]string{}
			for i, b := range files {
				data, err := os.ReadFile(b)
				if err != nil {
					t.Fatal(err)
				}
				p := mustParse(t, data, b)
				kind := fmt.Sprint(strings.Contains(b, "mutex"))
				for _, typ := range append(p.SampleType, p.PeriodType) {
					if typ != nil {
						kind += " " + typ.Type + ":" + typ.Unit
					}
				}
				a, typ := last[kind], p.SampleType[i%len(p.SampleType)]
				if last[kind] = b; a != "" {
					pairs++
					t.Run(filepath.Base(a)+" "+filepath.Base(b), func(t *testing.T) {
						t.Parallel()
						want := tool.top(t, b, typ.Type, typ.Unit, "-diff_base="+a)
						got := granaryDiff(t, "--sample-index", typ.Type, a, b)
						if diff := gocmp.Diff(want, costs(got.Functions)); diff != "" {
							t.Errorf("%s: -pprof +granary\n%s", typ.Type, diff)
						}
						functions.Add(int64(len(want)))
					})
				}
			}
		})
		if pairs == 0 || functions.Load() == 0 {
			t.Errorf("%d pairs with %d functions that differ", pairs, functions.Load())
		}
		t.Logf("compared %d pairs, %d functions", pairs, functions.Load())
	})
}

func costs(functions []profile.FunctionChange) map[string]cost {
	out := map[string]cost{}
	for _, f := range functions {
		out[f.Name] = cost{f.Flat, f.Cum}
	}
	return out
}

// compareNearly compares costs that may differ by a rounding error.
func compareNearly(t *testing.T, want, got map[string]cost, most int64) {
	t.Helper()
	near := func(a, b int64) bool { return max(a-b, b-a) <= most }
	for _, side := range []map[string]cost{want, got} {
		for name := range side {
			if w, g := want[name], got[name]; !near(w.Flat, g.Flat) || !near(w.Cum, g.Cum) {
				t.Errorf("%s normalised: pprof says %+v, granary %+v", name, w, g)
			}
		}
	}
}

// A side is the sum of its input: a file does not differ from itself, and a directory is the
// sum of its profiles.
func TestDiffSides(t *testing.T) {
	dir := t.TempDir()
	a := file(t, filepath.Join(dir, "a.pb.gz"), service())
	file(t, filepath.Join(dir, "b.pb.gz"), service())
	if got := granaryDiff(t, a, dir); got.Before != 1e9 || got.After != 2e9 || got.Functions[0] != (profile.FunctionChange{Function: profile.Function{Name: "compress", Flat: 6e8, Cum: 6e8}, Before: profile.FunctionCost{Flat: 6e8, Cum: 6e8}, After: profile.FunctionCost{Flat: 12e8, Cum: 12e8}}) {
		t.Errorf("%+v", got)
	}
	if got := granaryDiff(t, "--normalize", a, dir); got.After != 1e9 || got.Scale != 0.5 || len(got.Functions) != 0 {
		t.Errorf("normalised: %+v", got)
	}
	write(t, filepath.Join(dir, "bad.pb.gz"), []byte("bad"))
	for _, args := range [][]string{{"diff", a, dir}, {"diff", dir, a}, {"diff", "-o", "-", dir, a}} {
		if r := granary(t, args...); r.code != cli.ExitFailed || len(r.problems()) != 1 || !strings.Contains(r.stderr, "bad.pb.gz") || !strings.Contains(r.stdout, "compress") {
			t.Errorf("%q with a bad profile: %+v", args, r)
		}
	}
}

func TestDiffErrors(t *testing.T) {
	a := file(t, "a.pb.gz", service())
	none := file(t, "none.pb.gz", newProfile("samples:count cpu:nanoseconds"))
	heap := file(t, "heap.pb.gz", newProfile("inuse_space:bytes", sample{"f", []int64{1}, nil}))
	counted := file(t, "s.pb.gz", newProfile("cpu:count", sample{"f", []int64{1}, nil}))
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--normalize", a, none}, "the total of cpu is 0 in B"},
		{[]string{"--normalize", none, a}, "the total of cpu is 0 in A"},
		{[]string{"--scale", "1e300", a, a}, "exceeds 64 bits"},
		{[]string{a, heap}, heap + `: unknown sample type "cpu:nanoseconds", known types: inuse_space; ` + a + ` has cpu, choose a type of both with --sample-index`},
		{[]string{"--sample-index", "cpu", a, heap}, heap + `: unknown sample type "cpu"`},
		{[]string{"--sample-index", "cpu", a, counted}, "cpu is in nanoseconds in A and in count in B"},
	} {
		if r := granary(t, append([]string{"diff"}, tc.args...)...); r.code != cli.ExitFailed || !strings.Contains(r.stderr, tc.want) || r.stdout != "" {
			t.Errorf("%q: %+v", tc.args, r)
		}
	}
}

// A factor scales B, in tables, JSON and pictures.
func TestDiffScale(t *testing.T) {
	a, b := file(t, "a.pb.gz", service()), file(t, "b.pb.gz", later())
	got := granaryDiff(t, "--scale", "0.5", a, b)
	if got.Before != 1e9 || got.After != 75e7 || got.Scale != 0.5 {
		t.Errorf("%+v", got)
	}
	for _, f := range got.Functions {
		if f.Name == "inflate" && (f.Flat != 2e8 || f.After.Cum != 2e8 || f.Before.Cum != 0) {
			t.Errorf("%+v", f)
		}
	}
	if r := granary(t, "diff", "--scale", "0.5", a, b); !strings.Contains(r.stdout, "B is scaled by 0.5 to 750 ms\n         -250 ms  -25.00% of A\n") || !strings.Contains(r.stdout, "  B        1.5 s  ") {
		t.Errorf("%+v", r)
	}
	if r := granary(t, "diff", "--scale", "0.5", "-o", "-", a, b); !strings.Contains(r.stdout, "cpu 750 ms in B, 1 s in A") {
		t.Errorf("%.500s", r.stdout)
	}
	for _, args := range [][]string{{"--scale", "0"}, {"--scale", "-1"}, {"--scale", "NaN"}, {"--scale", "1e999"}, {"--scale", "half"}, {"--normalize", "--scale", "2"}} {
		if r := granary(t, append(append([]string{"diff"}, args...), a, b)...); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "--scale") {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// The percentages of go tool pprof are shares of the total that the documentation of
// profile.DiffTop names.
func TestDiffTotalsEqualPprof(t *testing.T) {
	tool := newPprofTool(t)
	dir := filepath.Join(repositoryRoot(t), "testdata", "profiles", "etcd")
	a, b := filepath.Join(dir, "cpu-1.pb.gz"), filepath.Join(dir, "cpu-3.pb.gz")
	data, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	empty := mustParse(t, data, a)
	empty.Sample = nil
	none := file(t, "none.pb.gz", empty)
	merge := func(name string) *profile.Stacks {
		l, err := load(t.Context(), io.Discard, columnstore.Options{}, inputSource{}, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var stacks *profile.Stacks
		err = l.store.View(t.Context(), func(snap *columnstore.Snapshot) error {
			typ, err := l.db.FindType(t.Context(), snap, "samples")
			if err == nil {
				stacks, err = l.db.Merge(t.Context(), snap, typ, profile.Query{})
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return stacks
	}
	for _, pair := range [][2]string{{a, b}, {b, a}, {none, b}} {
		before, after := merge(pair[0]), merge(pair[1])
		want := cmp.Or(before.Magnitude, after.Magnitude)
		out := string(tool.run(t, "-top", "-symbolize=none", "-unit=minimum", "-sample_index=samples", "-diff_base="+pair[0], pair[1]))
		if !strings.Contains(out, fmt.Sprintf("of %d total\n", want)) || want == 0 {
			t.Errorf("%s and %s: want %d in %.300s", pair[0], pair[1], want, out)
		}
	}
}

// The picture is one tree of both sides, with the change of each frame.
func TestDiffFlameGraph(t *testing.T) {
	a, b := file(t, "a.pb.gz", service()), file(t, "b.pb.gz", later())
	out := filepath.Join(t.TempDir(), "diff.svg")
	if r := granary(t, "diff", "-o", out, a, b); r.code != cli.ExitOK || r.stdout != "" {
		t.Fatalf("%+v", r)
	}
	svg, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
	for _, want := range []string{
		`<g data-value="2500000000" data-sign="+50%"><title>root`,
		"<title>compress\ncompress.go\n600 ms before, 900 ms after: +300 ms (+50%)</title>",
		"<title>inflate\ninflate.go\n0 ns before, 400 ms after: +400 ms (new)</title>",
		`data-sign="gone"><title>parse`, "<title>gc\ngc.go\n90 ms before, 90 ms after: the same</title>",
		"Difference: cpu 1.5 s in B, 1 s in A", ">+50% compress<", ` width="100%"`,
	} {
		if !strings.Contains(strings.ReplaceAll(string(svg), "&#xA;", "\n"), want) {
			t.Errorf("there is no %q", want)
		}
	}
	if same := granary(t, "diff", "-o", "-", a, a); strings.Contains(same.stdout, "data-sign") || !strings.Contains(same.stdout, "No difference: cpu 1 s in B") || same.stderr != "" {
		t.Errorf("the same twice: %.500s", same.stdout)
	}
	scaled := granary(t, "diff", "--normalize", "--width", "900", "-o", "-", a, b)
	if !strings.Contains(scaled.stdout, "cpu 1 s in B, 1 s in A") || !strings.Contains(scaled.stdout, "600 ms before, 600 ms after: the same") || !strings.Contains(scaled.stdout, ` width="900"`) {
		t.Errorf("normalised: %.500s", scaled.stdout)
	}
	if r := granary(t, "flamegraph", "--width", "20", "-o", "-", a); r.code != cli.ExitUsage || !strings.Contains(r.stderr, "from 600 to 20000") {
		t.Errorf("%+v", r)
	}
}
