package pprof

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"
	"pgregory.net/rapid"
)

// drawPruned draws a profile with patterns of frames to drop.
func drawPruned(t *rapid.T) *pprof.Profile {
	names := []string{"a", "b", "c", "malloc", ".malloc", "operator()(int)", "f(int)", "ns::(anonymous namespace)::f(x)", "(anonymous namespace)", "(", "", "operator(", "operator()()"}
	patterns := rapid.SampledFrom([]string{
		"", "a", "a|b", "malloc", "m.*", ".*", "f", "a|", "b|c|malloc|f", `ns::\(anonymous namespace\)::f`, `operator\(\)`, "operator", "(", "a)|(b", "[^a]*",
	})
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "n", Unit: "count"}}, PeriodType: &pprof.ValueType{},
		DropFrames: patterns.Draw(t, "drop"), KeepFrames: patterns.Draw(t, "keep"),
	}
	for i := range 9 {
		p.Function = append(p.Function, &pprof.Function{ID: uint64(i + 1), Name: rapid.SampledFrom(names).Draw(t, "name"), Filename: fmt.Sprint(i)})
	}
	for i := range 9 {
		l := &pprof.Location{ID: uint64(i + 1), Address: uint64(i)}
		for k := range rapid.IntRange(0, 4).Draw(t, "lines") {
			l.Line = append(l.Line, pprof.Line{Line: int64(k), Function: rapid.SampledFrom(p.Function).Draw(t, "function")})
		}
		p.Location = append(p.Location, l)
	}
	for i := range rapid.IntRange(0, 9).Draw(t, "samples") {
		p.Sample = append(p.Sample, &pprof.Sample{Value: []int64{1 << i}, Location: rapid.SliceOfN(rapid.SampledFrom(p.Location), 0, 6).Draw(t, "stack")})
	}
	return p
}

// framesOf returns a flat profile's stacks: of each location its address, and the files and lines of its
// functions.
func framesOf(f *Flat) (stacks []string) {
	for i := range f.Samples {
		var text strings.Builder
		stack, values, _ := f.Sample(i)
		for _, l := range stack {
			fmt.Fprintf(&text, " %d", f.Locations[l].Address)
			for _, ln := range f.LinesOf(l) {
				fmt.Fprintf(&text, ":%s.%d", f.Strings[f.Functions[ln.Function].File], ln.Line)
			}
		}
		stacks = append(stacks, fmt.Sprint(values, text.String()))
	}
	return stacks
}

// A pruned profile is that of google/pprof, with the memory of profiles before it and without.
func TestPruneEqualsPprof(t *testing.T) {
	var used Pruner
	changed := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPruned(t)
		var encoded strings.Builder
		if err := p.WriteUncompressed(&encoded); err != nil {
			t.Fatal(err)
		}
		limits := Limits{}.WithDefaults()
		ways := map[string]func(f *Flat) error{
			"decoded":   func(f *Flat) error { return Decode(encoded.String(), limits, f) },
			"in memory": func(f *Flat) error { return Flatten(p, limits, f) },
		}
		before := map[string][]string{}
		got := map[string][]string{}
		for way, read := range ways {
			var f Flat
			if err := read(&f); err != nil {
				t.Fatal(way, err)
			}
			before[way] = framesOf(&f)
			if err := used.Prune(&f); err != nil {
				t.Fatal(way, err)
			}
			got[way] = framesOf(&f)
			if len(used.known) > 4 {
				t.Fatalf("%d patterns are kept", len(used.known))
			}
		}
		var want Flat
		_ = p.RemoveUninteresting() // go tool pprof ignores the error
		if err := Flatten(p, limits, &want); err != nil {
			t.Fatal(err)
		}
		for way := range ways {
			if diff := cmp.Diff(framesOf(&want), got[way]); diff != "" {
				t.Fatalf("%s: drop %q, keep %q: -pprof +granary\n%s\nof %q", way, p.DropFrames, p.KeepFrames, diff, before[way])
			}
			if !cmp.Equal(before[way], got[way]) {
				changed++
			}
		}
	})
	if changed == 0 && !testing.Short() { // with -short a fifth of the profiles is drawn, and may have none
		t.Error("no profile lost a frame")
	}
}

// Names are matched without their arguments, as google/pprof matches them.
func TestPlainNameEqualsPprof(t *testing.T) {
	part := rapid.SampledFrom([]string{"(", ")", "()", "operator", "operator()", "(anonymous namespace)", "(anonymous", "a", "::", ".", " "})
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), "")
		root, leaf := &pprof.Function{ID: 1, Name: "root"}, &pprof.Function{ID: 2, Name: name}
		at := []*pprof.Location{{ID: 1, Line: []pprof.Line{{Function: leaf}}}, {ID: 2, Line: []pprof.Line{{Function: root}}}}
		p := &pprof.Profile{Location: at, Function: []*pprof.Function{root, leaf}, Sample: []*pprof.Sample{{Location: at}}}
		plain := plainName(name)
		if plain == "" {
			return // no pattern is empty
		}
		pattern, err := compileFrames(quoted(plain))
		if err != nil || pattern == nil {
			t.Fatal(err)
		}
		left := maxSteps
		if !pattern.matches(plain, &left) {
			t.Fatalf("%q does not match itself", plain)
		}
		p.DropFrames = quoted(plain)
		if err := p.RemoveUninteresting(); err != nil {
			t.Fatal(err)
		}
		if len(p.Sample[0].Location) != 1 {
			t.Fatalf("%q is not %q for google/pprof", name, plain)
		}
	})
}

func quoted(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\x{%x}`, r)
	}
	return b.String()
}

// P5 of package profile: patterns that would take too long are refused, and nothing is dropped.
func TestPruneBounds(t *testing.T) {
	for _, drop := range []string{strings.Repeat("x", maxPattern+1), "(.*a.*){500}"} {
		f := Flat{}
		f.Reset()
		f.Strings = []string{"", strings.Repeat("a", 1<<20) + "!"}
		f.Functions = append(f.Functions, FlatFunction{Name: 1})
		f.Locations = append(f.Locations, FlatLocation{Lines: 1})
		f.Lines, f.Stack, f.Samples, f.DropFrames = []FlatLine{{Function: 1}}, []uint32{1}, []FlatSample{{Stack: 1}}, drop
		if err := new(Pruner).Prune(&f); !errors.Is(err, ErrTooLarge) || len(f.Stack) != 1 || len(f.Lines) != 1 {
			t.Errorf("%.20s: %v, %v", drop, err, f.Stack)
		}
	}
}
