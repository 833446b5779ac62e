package granule

import (
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// G1, G6: With leaves the old granule as it was and copies nothing of it.
func TestWithShares(t *testing.T) {
	s := mustSchema(t, numbers)
	gen := NewGeneration(1)
	var chain []*Granule
	g := New("", "")
	for i := range int64(5) {
		chain = append(chain, g)
		g = g.With(whole(numberPart(t, s, gen, i, i)))
		if g.fresh.next != chain[i].fresh {
			t.Errorf("granule %d does not share the list of the one before", i+1)
		}
	}
	for i, g := range chain {
		if g.FreshParts() != i || g.FreshRows() != 2*i || g.Rows() != 2*i || len(g.Sections()) != i {
			t.Errorf("granule %d has %d parts, %d sections and %d rows now", i, g.FreshParts(), len(g.Sections()), g.Rows())
		}
	}
	s0 := whole(numberPart(t, s, gen, 1))
	if n := testing.AllocsPerRun(100, func() { g.With(s0) }); n > 2 {
		t.Errorf("With allocates %v times, want 2", n)
	}
}

// Slices come oldest first, the base before all.
func TestSlicesOrder(t *testing.T) {
	s := mustSchema(t, numbers)
	gen := NewGeneration(1)
	g := Rewrite(s, numbered(t, s, gen, []int64{9}, []int64{8}), Limit{Rows: math.MaxInt})[0]
	for i := range int64(3) {
		g = g.With(whole(numberPart(t, s, gen, i)))
	}
	if diff := gocmp.Diff([][]int64{{8, 9, 0, 1, 2}}, contents(t, s, []*Granule{g})); diff != "" {
		t.Errorf("rows section by section (-want +got):\n%s", diff)
	}
	if g.Rows() != 5 || g.FreshRows() != 3 || g.FreshParts() != 3 {
		t.Errorf("%d rows, %d fresh ones in %d parts, want 5, 3, 3", g.Rows(), g.FreshRows(), g.FreshParts())
	}
	if n := len(New("a", "b").Sections()); n != 0 {
		t.Errorf("a new granule has %d slices", n)
	}
}

// G7: Oldest never divides a commit's parts, here the second and third of five.
func TestOldest_BetweenCommits(t *testing.T) {
	s := mustSchema(t, numbers)
	gen := NewGeneration(1)
	g := New("", "")
	for i, commit := range []uint64{4, 7, 7, 8, 8} {
		p := numberPart(t, s, gen, int64(i))
		p.Stamp(1, commit)
		g = g.With(whole(p))
	}
	for rows, want := range []int{1, 1, 1, 3, 3, 5} {
		if got := g.Oldest(rows).FreshParts(); got != want {
			t.Errorf("with %d rows: %d parts, want %d", rows, got, want)
		}
	}
	if one := New("", "").With(whole(numberPart(t, s, gen, 1))).With(whole(numberPart(t, s, gen, 2))); one.Oldest(1) != one {
		t.Error("a granule of one commit is divided")
	}
}

// G1, G2: Oldest is the granule as it was before its newest parts came, which are carried
// over when a rewrite of it is published.
func TestOldest(t *testing.T) {
	s := mustSchema(t, numbers)
	gen := NewGeneration(1)
	commit := uint64(0)
	part := func(n ...int64) Section {
		p := numberPart(t, s, gen, n...)
		commit++
		p.Stamp(commit, commit)
		return whole(p)
	}
	g := Rewrite(s, numbered(t, s, gen, []int64{10, 20, 30}), Limit{Rows: math.MaxInt})[0]
	for _, n := range []int64{1, 11, 21, 31} { // two rows each
		g = g.With(part(n, n+1))
	}
	for _, test := range []struct{ rows, parts int }{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 2}, {7, 3}, {8, 4}, {math.MaxInt, 4}} {
		old := g.Oldest(test.rows)
		if old.FreshParts() != test.parts || old.FreshRows() != 2*test.parts || old.Rows() != 3+2*test.parts || len(old.Sections()) != 1+test.parts {
			t.Fatalf("with %d fresh rows: %d fresh parts of %d rows, want %d", test.rows, old.FreshParts(), old.FreshRows(), test.parts)
		}
		size := 0
		for _, section := range old.Sections()[1:] {
			size += section.Size()
		}
		if old.FreshSize() != size || test.parts == 4 && old != g {
			t.Errorf("with %d fresh rows: %d fresh bytes, want %d", test.rows, old.FreshSize(), size)
		}
		lo, hi := g.Bounds()
		successors, ok := g.Succeed(s, old, Rewrite(s, old, Limit{Rows: 4}))
		if !ok {
			t.Fatalf("with %d fresh rows: a rewrite is refused", test.rows)
		}
		checkTiling(t, s, lo, hi, successors)
		want, got := slices.Concat(contents(t, s, []*Granule{g})...), slices.Concat(contents(t, s, successors)...)
		slices.Sort(want)
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("with %d fresh rows (-want +got):\n%s", test.rows, diff)
		}
	}
	if empty := New("", ""); empty.Oldest(0) != empty {
		t.Error("a granule without rows is another")
	}
}

func TestSucceed(t *testing.T) {
	s := mustSchema(t, numbers)
	gen := NewGeneration(1)
	part := func(n ...int64) Section { return whole(numberPart(t, s, gen, n...)) }
	old := numbered(t, s, gen, []int64{10, 20}, []int64{30, 40})
	split := Rewrite(s, old, Limit{Rows: 2}) // [.., 30) and [30, ..)
	compacted := Rewrite(s, old, Limit{Rows: math.MaxInt})
	based := compacted[0].With(part(50))
	tests := []struct {
		name     string
		old, now *Granule
		children []*Granule
		want     [][]int64 // nil: refused
	}{
		{"nothing since", old, old, split, [][]int64{{10, 20}, {30, 40}}},
		{"a part for the left child", old, old.With(part(5, 15)), split, [][]int64{{10, 20, 5, 15}, {30, 40}}},
		{"a part for the right child", old, old.With(part(30, 35)), split, [][]int64{{10, 20}, {30, 40, 30, 35}}},
		{"a part for both", old, old.With(part(29, 30, 31)), split, [][]int64{{10, 20, 29}, {30, 40, 30, 31}}},
		{
			"several parts, in their order", old, old.With(part(1, 33)).With(part(2)).With(part(3, 31)), split,
			[][]int64{{10, 20, 1, 2, 3}, {30, 40, 33, 31}},
		},
		{"a part for a compaction", old, old.With(part(1, 99)), compacted, [][]int64{{10, 20, 30, 40, 1, 99}}},
		{"on top of a base", based, based.With(part(60)), Rewrite(s, based, Limit{Rows: math.MaxInt}), [][]int64{{10, 20, 30, 40, 50, 60}}},
		{"into what was empty", New("", ""), New("", "").With(part(1)), Rewrite(s, New("", ""), Limit{Rows: 2}), [][]int64{{1}}},
		{"compacted meanwhile", old, compacted[0], split, nil},
		{"compacted meanwhile, with a part since", old, compacted[0].With(part(1)), split, nil},
		{"compacted twice", compacted[0], Rewrite(s, compacted[0], Limit{Rows: math.MaxInt})[0], Rewrite(s, compacted[0], Limit{Rows: 2}), nil},
		{"split meanwhile: the upper bound is another", old, split[0], compacted, nil},
		{"split meanwhile: the lower bound is another", old, split[1], compacted, nil},
		{
			"a list of the same length, not the same", old,
			numbered(t, s, gen, []int64{10, 20}, []int64{30, 40}), split, nil,
		},
		{
			"a longer list, not the same", old,
			numbered(t, s, gen, []int64{10, 20}, []int64{30, 40}, []int64{50}), split, nil,
		},
		{"a shorter list: older than old", old.With(part(1)), old, split, nil},
		{"bounds alone differ", New("", ""), New("", numberKey(7)), []*Granule{New("", "")}, nil},
		{"lower bounds alone differ", New("", ""), New(numberKey(7), ""), []*Granule{New("", "")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nowBefore := contents(t, s, []*Granule{tt.now})
			childrenBefore := contents(t, s, tt.children)
			got, ok := tt.now.Succeed(s, tt.old, tt.children)
			if ok != (tt.want != nil) {
				t.Fatalf("Succeed = %t, want %t", ok, tt.want != nil)
			}
			if diff := gocmp.Diff(tt.want, contents(t, s, got)); diff != "" {
				t.Errorf("successors (-want +got):\n%s", diff)
			}
			if ok {
				lo, hi := tt.now.Bounds()
				checkTiling(t, s, lo, hi, got)
				for i, child := range got {
					if slices.ContainsFunc(child.Sections(), func(section Section) bool { return section.Rows() == 0 }) {
						t.Errorf("child %d has a part without rows", i)
					}
				}
			}
			// G1: neither the granule nor those derived from it have changed.
			if diff := gocmp.Diff(nowBefore, contents(t, s, []*Granule{tt.now})); diff != "" {
				t.Errorf("the granule changed (-before +after):\n%s", diff)
			}
			if diff := gocmp.Diff(childrenBefore, contents(t, s, tt.children)); diff != "" {
				t.Errorf("the children changed (-before +after):\n%s", diff)
			}
		})
	}
}

// table is a store's view of a table in its simplest form: granules in order, and beside them
// each committed row.
type table struct {
	schema   *schema.Schema
	gen      *Generation
	granules []*Granule
	rows     []row
	lineage  map[*Granule]*Granule // to the last rewrite's result that a granule grew from
}

// add gives each granule the rows of a part that are within its bounds: a
// commit, perhaps of a part that was built when the granules were others.
func (tb *table) add(t testing.TB, p *Part) {
	for i, g := range tb.granules {
		if within := whole(p).Within(tb.schema, g.lo, g.hi); within.Rows() > 0 {
			tb.granules[i] = g.With(within)
			tb.lineage[tb.granules[i]] = tb.lineage[g]
		}
	}
	tb.rows = append(tb.rows, decode(t, tb.schema, whole(p))...)
}

// rewrite is one that has begun: its children wait to be published.
type rewrite struct {
	old      *Granule
	children []*Granule
}

// publish replaces the granule at the children's bound by them if Succeed permits it, which must be the
// case if no other rewrite came first.
func (tb *table) publish(t *rapid.T, r rewrite) {
	i := slices.IndexFunc(tb.granules, func(g *Granule) bool { return g.lo == r.old.lo })
	now := tb.granules[i]
	successors, ok := now.Succeed(tb.schema, r.old, r.children)
	if want := tb.lineage[now] == tb.lineage[r.old]; ok != want {
		t.Fatalf("Succeed = %t, want %t", ok, want)
	}
	if ok {
		for _, child := range successors {
			tb.lineage[child] = child
		}
		tb.granules = slices.Replace(tb.granules, i, i+1, successors...)
	}
}

// G2, G3, G4 over time: parts are built, committed late, and rewrites are
// begun, overtaken and published in any order. No row is lost or doubled.
func TestInterleavings(t *testing.T) {
	for _, def := range []schema.Definition{numbers, everything(0)} {
		t.Run(def.Columns[0].Name, func(t *testing.T) {
			s := mustSchema(t, def)
			rapid.Check(t, func(rt *rapid.T) {
				first := New("", "")
				tb := &table{
					schema: s, gen: NewGeneration(1), granules: []*Granule{first},
					lineage: map[*Granule]*Granule{first: first},
				}
				var built []*Part
				var begun []rewrite
				rt.Repeat(map[string]func(*rapid.T){
					"build": func(rt *rapid.T) {
						b := drawSmall(rt, def)
						built = append(built, partOf(t, s, tb.gen, b))
					},
					"commit": func(rt *rapid.T) {
						if len(built) == 0 {
							rt.Skip("nothing is built")
						}
						i := rapid.IntRange(0, len(built)-1).Draw(rt, "part")
						tb.add(t, built[i])
						built = slices.Delete(built, i, i+1)
					},
					"begin rewrite": func(rt *rapid.T) {
						g := rapid.SampledFrom(tb.granules).Draw(rt, "granule")
						if g.Rows() == 0 {
							rt.Skip("rewrites of no rows all succeed, in any order")
						}
						maxRows := rapid.SampledFrom([]int{1, 3, 10, math.MaxInt}).Draw(rt, "max rows")
						begun = append(begun, rewrite{g, Rewrite(s, g, Limit{Rows: maxRows})})
					},
					"publish": func(rt *rapid.T) {
						if len(begun) == 0 {
							rt.Skip("nothing is begun")
						}
						i := rapid.IntRange(0, len(begun)-1).Draw(rt, "rewrite")
						tb.publish(rt, begun[i])
						begun = slices.Delete(begun, i, i+1)
					},
					"": func(*rapid.T) {
						checkTiling(t, s, "", "", tb.granules)
						checkSameRows(t, "table", tb.rows, decodeAll(t, s, tb.granules...))
					},
				})
			})
		})
	}
}

// drawSmall draws a batch of few rows with few distinct keys.
func drawSmall(t *rapid.T, def schema.Definition) *schema.Batch {
	n := rapid.IntRange(1, 4).Draw(t, "rows")
	if len(def.Columns) > 1 {
		return drawBatch(t, def, n, true)
	}
	values := rapid.SliceOfN(rapid.Int64Range(0, 20), n, n).Draw(t, "n")
	return &schema.Batch{Rows: n, Columns: map[string]encoding.Vector{"n": encoding.Int64s(values...)}}
}
