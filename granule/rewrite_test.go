package granule

import (
	"fmt"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// G2, G3, G4: a rewrite of random parts, whole or in sub-ranges, into one or
// several granules has the same rows, sorted, within bounds that tile the
// parent's. And G1: the parent is as it was.
func TestRewriteIsIdentity(t *testing.T) {
	for name, def := range definitions {
		t.Run(name, func(t *testing.T) {
			s := mustSchema(t, def)
			rapid.Check(t, func(rt *rapid.T) {
				gen := NewGeneration(1)
				g := drawGranule(rt, t, def, s, gen)
				before := decodeAll(t, s, g)
				for _, maxRows := range []int{math.MaxInt, 1, rapid.IntRange(1, 30).Draw(rt, "max rows")} {
					children := Rewrite(s, g, Limit{Rows: maxRows})
					checkRewrite(t, s, g, children, maxRows)
					after := decodeAll(t, s, children...)
					checkSameRows(t, fmt.Sprintf("G3: rewrite to %d rows", maxRows), before, after)
					if !slices.IsSortedFunc(after, func(a, b row) int { return compareRows(def, gen, a, b) }) {
						rt.Fatalf("G2: rows of the children are not in order:\n%v", after)
					}
				}
				if low, high, ok := g.Halve(s); ok {
					checkTiling(t, s, g.lo, g.hi, []*Granule{low, high})
					checkSameRows(t, "G3: halves", before, decodeAll(t, s, append(Rewrite(s, low, Limit{Rows: 3}), Rewrite(s, high, Limit{Rows: 3})...)...))
					if low.Rows() == 0 || high.Rows() == 0 {
						rt.Fatalf("halves of %d and %d rows", low.Rows(), high.Rows())
					}
				} else if keys := keysOf(s, g.Sections()[0]); len(slices.Compact(keys)) > 1 && len(g.Sections()) == 1 {
					rt.Fatalf("no halves of the keys %q", keys)
				}
				if diff := gocmp.Diff(text(before), text(decodeAll(t, s, g))); diff != "" {
					rt.Fatalf("G1: the parent changed (-before +after):\n%s", diff)
				}
			})
		})
	}
}

// drawGranule draws a granule of some parts, cut to random bounds.
func drawGranule(rt *rapid.T, t testing.TB, def schema.Definition, s *schema.Schema, gen *Generation) *Granule {
	var parts []Section
	var keys []string
	for range rapid.IntRange(1, 5).Draw(rt, "parts") {
		p := partOf(t, s, gen, drawBatch(rt, def, rapid.IntRange(1, 8).Draw(rt, "rows"), true))
		parts = append(parts, whole(p))
		keys = append(keys, keysOf(s, whole(p))...)
	}
	lo, hi := "", ""
	if rapid.Bool().Draw(rt, "bounded") {
		lo, hi = rapid.SampledFrom(keys).Draw(rt, "lo"), rapid.SampledFrom(keys).Draw(rt, "hi")
		if hi <= lo {
			hi = ""
		}
	}
	g := New(lo, hi)
	for _, section := range parts {
		if within := section.Within(s, lo, hi); within.Rows() > 0 {
			g = g.With(within)
		}
	}
	if g.Rows() > 0 && rapid.Bool().Draw(rt, "rewritten before") {
		g = Rewrite(s, g, Limit{Rows: math.MaxInt})[0]
		for _, section := range parts[:len(parts)/2] {
			g = g.With(section.Within(s, lo, hi))
		}
	}
	return g
}

// checkRewrite checks the properties of any rewrite's result, except for its rows.
func checkRewrite(t testing.TB, s *schema.Schema, g *Granule, children []*Granule, maxRows int) {
	t.Helper()
	lo, hi := g.Bounds()
	checkTiling(t, s, lo, hi, children)
	if g.Rows() == 0 {
		return
	}
	for i, child := range children {
		if child.FreshParts() != 0 {
			t.Fatalf("child %d has %d fresh parts", i, child.FreshParts())
		}
		keys := keysOf(s, child.Sections()[0])
		if len(keys) > maxRows && keys[0] != keys[len(keys)-1] {
			t.Fatalf("G4: child %d has %d rows of different keys, want at most %d", i, len(keys), maxRows)
		}
		// G5: the codes are those of the parent's generation.
		if child.base.Part.Generation() != g.Sections()[0].Part.Generation() {
			t.Fatalf("G5: child %d is of another generation", i)
		}
	}
}

// numbered returns a granule with one part for each list of numbers.
func numbered(t testing.TB, s *schema.Schema, gen *Generation, parts ...[]int64) *Granule {
	t.Helper()
	g := New("", "")
	for _, n := range parts {
		g = g.With(whole(numberPart(t, s, gen, n...)))
	}
	return g
}

// contents lists each granule's numbers.
func contents(t testing.TB, s *schema.Schema, granules []*Granule) [][]int64 {
	t.Helper()
	var out [][]int64
	for _, g := range granules {
		var n []int64
		for _, r := range decodeAll(t, s, g) {
			n = append(n, r["n"].(int64))
		}
		out = append(out, n)
	}
	return out
}

// G4: the bounds of a split. Rows with equal keys stay together at the expense of equal sizes,
// and a granule of only such rows is not split.
func TestRewriteCuts(t *testing.T) {
	s := mustSchema(t, numbers)
	tests := []struct {
		name    string
		parts   [][]int64
		maxRows int
		want    [][]int64
	}{
		{"no rows", nil, 5, [][]int64{nil}},
		{"one row", [][]int64{{1}}, 1, [][]int64{{1}}},
		{"fits exactly", [][]int64{{1, 3}, {2, 4}}, 4, [][]int64{{1, 2, 3, 4}}},
		{"one too many", [][]int64{{1, 3, 5}, {2, 4}}, 4, [][]int64{{1, 2}, {3, 4, 5}}},
		{"even pieces", [][]int64{{1, 2, 3, 4, 5, 6}}, 2, [][]int64{{1, 2}, {3, 4}, {5, 6}}},
		{"not a small rest", [][]int64{{1, 2, 3, 4, 5, 6, 7}}, 3, [][]int64{{1, 2}, {3, 4}, {5, 6, 7}}},
		{"one row each", [][]int64{{1, 2, 3}}, 1, [][]int64{{1}, {2}, {3}}},
		{"no limit", [][]int64{{2}, {1}}, math.MaxInt, [][]int64{{1, 2}}},
		{"all equal", [][]int64{{7, 7, 7}, {7, 7}}, 2, [][]int64{{7, 7, 7, 7, 7}}},
		{"all equal, one row each", [][]int64{{7}, {7}}, 1, [][]int64{{7, 7}}},
		{"equal keys across the cut: step back", [][]int64{{1, 2, 2, 2}}, 2, [][]int64{{1}, {2, 2, 2}}},
		{"equal keys from the start: step on", [][]int64{{1, 1, 1, 2}}, 2, [][]int64{{1, 1, 1}, {2}}},
		{"equal keys at both ends", [][]int64{{1, 1, 1, 2, 3, 3, 3}}, 2, [][]int64{{1, 1, 1}, {2}, {3, 3, 3}}},
		{"equal keys of several parts", [][]int64{{1, 2}, {2, 3}, {2, 4}}, 3, [][]int64{{1}, {2, 2, 2}, {3, 4}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := numbered(t, s, NewGeneration(1), tt.parts...)
			children := Rewrite(s, g, Limit{Rows: tt.maxRows})
			if diff := gocmp.Diff(tt.want, contents(t, s, children)); diff != "" {
				t.Errorf("children (-want +got):\n%s", diff)
			}
			checkRewrite(t, s, g, children, tt.maxRows)
		})
	}
}

// With keys that all differ, a split has as few children as keep to the limit,
// and no child has more than one row more than another.
func TestRewriteSplitsEvenly(t *testing.T) {
	s := mustSchema(t, numbers)
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SliceOfNDistinct(rapid.Int64(), 1, 60, rapid.ID[int64]).Draw(rt, "numbers")
		maxRows := rapid.IntRange(1, 70).Draw(rt, "max rows")
		children := Rewrite(s, numbered(t, s, NewGeneration(1), n), Limit{Rows: maxRows})
		if want := (len(n) + maxRows - 1) / maxRows; len(children) != want {
			rt.Fatalf("%d rows in %d children, want %d", len(n), len(children), want)
		}
		small, large := len(n), 0
		for _, child := range children {
			small, large = min(small, child.Rows()), max(large, child.Rows())
		}
		if large-small > 1 {
			rt.Fatalf("children have %d to %d rows", small, large)
		}
	})
}

// A split is where neighbours have the least in common, near the middle: between two series, else between
// two stacks; and inside a stack's run only if there is nothing else near. The bound is no longer than it
// takes to tell them apart.
func TestRewriteCutsAtRuns(t *testing.T) {
	s := mustSchema(t, schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
		},
		SortingKey: []string{"kind", "stack", "time"},
	})
	const rows = 320 // the middle is 160, near is 10 rows away
	run := func(from, to int, kind string, stack byte) (kinds []string, stacks [][]uuid.UUID) {
		for range to - from {
			kinds, stacks = append(kinds, kind), append(stacks, []uuid.UUID{{stack}})
		}
		return kinds, stacks
	}
	tests := []struct {
		name          string
		series, stack int // rows from which on they are others
		limit         int
		want          int // rows of the first child
	}{
		{"between series", 168, 155, 200, 168},
		{"between stacks", 200, 155, 200, 155},
		{"the series is not near", 100, 152, 200, 152},
		{"the series is just near below", 150, 155, 200, 150},
		{"the series is just near above", 170, 155, 200, 170},
		{"the series is one row too far below", 149, 155, 200, 155},
		{"the series is one row too far above", 171, 155, 200, 155},
		{"the rest would be too large", 152, 156, 165, 156},
		{"the rest is just small enough", 155, 157, 165, 155},
		{"the first would be too large", 168, 163, 165, 163},
		{"the first is just small enough", 165, 163, 165, 165},
		{"inside of a run that is too large", 300, 290, 200, 160},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var kinds []string
			var stacks [][]uuid.UUID
			marks := []int{0, min(tt.series, tt.stack), max(tt.series, tt.stack), rows}
			for i := range 3 {
				kind, stack := "a", byte(1)
				if marks[i] >= tt.series {
					kind = "b"
				}
				if marks[i] >= tt.stack {
					stack = 2
				}
				k, st := run(marks[i], marks[i+1], kind, stack)
				kinds, stacks = append(kinds, k...), append(stacks, st...)
			}
			times := make([]int64, rows)
			for i := range times {
				times[i] = int64(i)
			}
			g := New("", "").With(whole(partOf(t, s, NewGeneration(1), &schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
				"kind": encoding.Strings(kinds...), "stack": encoding.UUIDLists(stacks...), "time": encoding.Int64s(times...),
			}})))
			children := Rewrite(s, g, Limit{Rows: tt.limit})
			if len(children) != 2 || children[0].Rows() != tt.want {
				t.Fatalf("%d children, the first of %d rows, want 2 and %d", len(children), children[0].Rows(), tt.want)
			}
			checkRewrite(t, s, g, children, tt.limit)
		})
	}
}

// nearest finds the change that is nearest to the target, of two the lower one.
func TestNearest(t *testing.T) {
	const rows = 7
	for changes := range 1 << rows {
		for target := 1; target < rows; target++ {
			for from := 1; from <= target; from++ {
				for to := target; to < rows; to++ {
					want := 0
					for at := from; at <= to; at++ {
						if changes>>at&1 == 1 && (want == 0 || max(target-at, at-target) < target-want) {
							want = at
						}
					}
					got := nearest(target, from, to, func(i int) bool {
						if i < from || i > to {
							t.Fatalf("row %d is not in [%d, %d]", i, from, to)
						}
						return changes>>i&1 == 1
					})
					if got != want {
						t.Fatalf("nearest to %d of %b in [%d, %d] is %d, want %d", target, changes, from, to, got, want)
					}
				}
			}
		}
	}
}

// Rows of two series have different keys, although the rest of their keys is equal.
func TestRewriteCutsAtSeries(t *testing.T) {
	s := mustSchema(t, schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"kind", "n"},
	})
	for _, kinds := range [][]string{{"a", "a", "a", "b"}, {"a", "b", "b", "b"}} {
		g := New("", "").With(whole(partOf(t, s, NewGeneration(1), &schema.Batch{Rows: 4, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings(kinds...), "n": encoding.Int64s(1),
		}})))
		children := Rewrite(s, g, Limit{Rows: 2})
		if len(children) != 2 {
			t.Errorf("%v: %d children", kinds, len(children))
		}
		checkRewrite(t, s, g, children, 2)
	}
}

// Without a list that leads the suffix, a cut between values of its first column is no better than another.
func TestRewriteCutsBetweenNumbers(t *testing.T) {
	s := mustSchema(t, schema.Definition{
		Columns: []schema.Column{
			{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain},
			{Name: "m", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"n", "m"},
	})
	const rows = 320
	n, m := make([]int64, rows), make([]int64, rows)
	for i := range rows {
		n[i], m[i] = int64(i/155), int64(i)
	}
	g := New("", "").With(whole(partOf(t, s, NewGeneration(1), &schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
		"n": encoding.Int64s(n...), "m": encoding.Int64s(m...),
	}})))
	if children := Rewrite(s, g, Limit{Rows: 200}); children[0].Rows() != rows/2 {
		t.Errorf("the first child has %d rows", children[0].Rows())
	}
}

// Halves are cut in the middle of the largest part, and have no parts without rows.
func TestHalve(t *testing.T) {
	s := mustSchema(t, numbers)
	gen := NewGeneration(1)
	for _, parts := range [][][]int64{
		{{1, 2}, {10, 11, 12, 13, 14, 15}, {20, 21}},
		{{10, 11, 12, 13, 14, 15}, {1, 2}, {20, 21}},
		{{1, 2}, {20, 21}, {10, 11, 12, 13, 14, 15}},
	} {
		low, high, ok := numbered(t, s, gen, parts...).Halve(s)
		if !ok || low.Rows() != 5 || high.Rows() != 5 || low.Parts() != 2 || high.Parts() != 2 {
			t.Errorf("%v: %t, halves of %d and %d rows", parts, ok, low.Rows(), high.Rows())
		}
	}
	if low, high, ok := numbered(t, s, gen, []int64{1, 1, 1, 2}).Halve(s); !ok || low.Rows() != 3 || high.Rows() != 1 {
		t.Errorf("%t: equal keys at the middle are not divided behind them", ok)
	}
	if _, _, ok := numbered(t, s, gen, []int64{1, 1, 1}, []int64{2, 3}).Halve(s); ok {
		t.Error("equal keys have halves")
	}
}

// A rewrite takes memory by rows and columns besides the parts that it makes.
func TestRewriteSize(t *testing.T) {
	g := numbered(t, mustSchema(t, numbers), NewGeneration(1), []int64{1, 2, 3}, []int64{4, 5})
	if got, want := g.RewriteSize(), g.Size()+5*(72+8*1); got != want {
		t.Errorf("RewriteSize() = %d, want %d", got, want)
	}
}

func TestSeparator(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"a", "b", "b"}, {"abc", "abd", "abd"}, {"abcd", "abd", "abd"}, {"ab", "abc", "abc"}, {"ab", "b123", "b"}, {"", "x", "x"},
	} {
		s, ok := separator([]byte(tt.a), []byte(tt.b))
		if string(s) != tt.want || !ok || string(s) <= tt.a || string(s) > tt.b {
			t.Errorf("separator(%q, %q) = %q, %v", tt.a, tt.b, s, ok)
		}
	}
	if s, ok := separator([]byte("a"), []byte("a")); ok {
		t.Errorf("%q separates equal keys", s)
	}
}

// A limit in bytes splits as one in rows does, by the average row.
func TestRewriteByBytes(t *testing.T) {
	s := mustSchema(t, numbers)
	n := make([]int64, 1000)
	for i := range n {
		n[i] = int64(i) * 1_000_003
	}
	g := numbered(t, s, NewGeneration(1), n)
	for _, pieces := range []int{1, 2, 5} {
		children := Rewrite(s, g, Limit{Rows: math.MaxInt, Bytes: g.Size()/pieces + pieces})
		if len(children) != pieces {
			t.Errorf("%d bytes in %d children, want %d", g.Size(), len(children), pieces)
		}
		checkRewrite(t, s, g, children, 1000/pieces+1000/16)
	}
	if children := Rewrite(s, g, Limit{Rows: 100, Bytes: 1 << 30}); len(children) != 10 {
		t.Errorf("the limit in rows made %d children of 1,000 rows, want 10", len(children))
	}
	if children := Rewrite(s, g, Limit{Rows: math.MaxInt, Bytes: 1}); len(children) != 1000 {
		t.Errorf("a limit of one byte made %d children of 1,000 rows", len(children))
	}
}

// Rows with equal keys keep the order in which they were inserted, so that a
// scan reads the same before and after.
func TestRewriteIsStable(t *testing.T) {
	def := schema.Definition{
		Columns: []schema.Column{
			{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain},
			{Name: "insert", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"n"},
	}
	s := mustSchema(t, def)
	gen := NewGeneration(1)
	g := New("", "")
	for i := range int64(9) {
		g = g.With(whole(partOf(t, s, gen, &schema.Batch{Rows: 2, Columns: map[string]encoding.Vector{
			"n": encoding.Int64s(i%2, 5), "insert": encoding.Int64s(i),
		}})))
	}
	var got []int64
	for _, r := range decodeAll(t, s, Rewrite(s, g, Limit{Rows: math.MaxInt})...) {
		got = append(got, r["insert"].(int64))
	}
	want := []int64{0, 2, 4, 6, 8, 1, 3, 5, 7, 0, 1, 2, 3, 4, 5, 6, 7, 8}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("inserts in scan order (-want +got):\n%s", diff)
	}
}

// A rewritten part is stamped with the lowest begin and the highest commit.
func TestRewriteStamps(t *testing.T) {
	s := mustSchema(t, numbers)
	gen := NewGeneration(1)
	tests := []struct {
		name          string
		stamps        [][2]uint64
		begin, commit uint64
	}{
		{"one", [][2]uint64{{3, 5}}, 3, 5},
		{"in order", [][2]uint64{{3, 5}, {6, 7}}, 3, 7},
		{"nested", [][2]uint64{{4, 5}, {1, 9}, {6, 8}}, 1, 9},
		{"from different transactions", [][2]uint64{{4, 9}, {2, 5}, {6, 7}}, 2, 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := New("", "")
			for i, stamp := range tt.stamps {
				p := numberPart(t, s, gen, int64(i), int64(i+10))
				p.Stamp(stamp[0], stamp[1])
				g = g.With(whole(p))
			}
			for i, child := range Rewrite(s, g, Limit{Rows: 2}) {
				if p := child.base.Part; p.Begin() != tt.begin || p.Commit() != tt.commit {
					t.Errorf("child %d: Begin, Commit = %d, %d, want %d, %d", i, p.Begin(), p.Commit(), tt.begin, tt.commit)
				}
			}
		})
	}
}

// G5: a rewrite moves codes and adds none to the dictionaries.
func TestRewriteAddsNoCodes(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	rapid.Check(t, func(rt *rapid.T) {
		gen := NewGeneration(1)
		g := drawGranule(rt, t, def, s, gen)
		sizes := func() [5]int {
			return [5]int{gen.Strings.Len(), gen.UUIDs.Len(), gen.Lists.Len(), gen.Lists.Elements(), gen.Series.Len()}
		}
		before := sizes()
		Rewrite(s, g, Limit{Rows: 3})
		if after := sizes(); after != before {
			rt.Fatalf("dictionaries have %v values after a rewrite, %v before", after, before)
		}
	})
}

// A rewrite pauses after every few thousand rows: of parts that it decodes, of series that it merges, of columns
// that it builds.
func TestRewritePauses(t *testing.T) {
	s := mustSchema(t, schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"kind", "n"},
	})
	gen := NewGeneration(1)
	g := New("", "")
	n := make([]int64, pauseEvery)
	for i := range n {
		n[i] = int64(i)
	}
	for i := range 3 {
		g = g.With(whole(partOf(t, s, gen, &schema.Batch{Rows: len(n), Columns: map[string]encoding.Vector{
			"kind": encoding.Strings(fmt.Sprint(i)), "n": encoding.Int64s(n...), "value": encoding.Int64s(1),
		}})))
	}
	pauses := 0
	Rewrite(s, g, Limit{Rows: math.MaxInt, Pause: func() { pauses++ }})
	if want := 3 + 3 + 2; pauses != want {
		t.Errorf("%d pauses, want %d", pauses, want)
	}
	Rewrite(s, g, Limit{Rows: math.MaxInt}) // without a function to call
	pauses = 0
	few := New("", "").With(Section{g.Sections()[0].Part, 0, 3})
	if Rewrite(s, few, Limit{Rows: math.MaxInt, Pause: func() { pauses++ }}); pauses > 0 {
		t.Errorf("%d pauses of a rewrite of few rows", pauses)
	}
}

// A granule without rows, from parts that have none within it, is not lost.
func TestRewriteEmptySlices(t *testing.T) {
	s := mustSchema(t, numbers)
	p := numberPart(t, s, NewGeneration(1), 1, 2)
	g := New(numberKey(5), numberKey(9)).With(whole(p).Within(s, numberKey(5), numberKey(9)))
	children := Rewrite(s, g, Limit{Rows: 10})
	checkTiling(t, s, numberKey(5), numberKey(9), children)
	if n := len(decodeAll(t, s, children...)); n != 0 {
		t.Errorf("%d rows of none", n)
	}
}
