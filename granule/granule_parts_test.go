package granule

import (
	"math"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// Parts counts the base, and Base returns it only while the granule has no other part.
func TestBase(t *testing.T) {
	s := mustSchema(t, numbers)
	gen := NewGeneration(1)
	rewritten := Rewrite(s, numbered(t, s, gen, []int64{1, 2}), Limit{Rows: math.MaxInt})[0]
	base := rewritten.base.Part
	tests := []struct {
		name  string
		g     *Granule
		parts int
		base  *Part
	}{
		{"no rows", New("", ""), 0, nil},
		{"of no part", Of("", "", nil), 0, nil},
		{"fresh", numbered(t, s, gen, []int64{1}, []int64{2}), 2, nil},
		{"rewritten", rewritten, 1, base},
		{"of a part", Of("", "", base), 1, base},
		{"rewritten, with a fresh part", rewritten.With(whole(numberPart(t, s, gen, 3))), 2, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if n := tt.g.Parts(); n != tt.parts || len(tt.g.Sections()) != n {
				t.Errorf("%d parts, %d sections, want %d", n, len(tt.g.Sections()), tt.parts)
			}
			section, ok := tt.g.Base()
			if ok != (tt.base != nil) {
				t.Errorf("Base: %t", ok)
			}
			if ok && section != whole(tt.base) {
				t.Errorf("Base = %v", section)
			}
		})
	}
}

// G1, G2: Join adds the rows of others that are within the bounds, and no others, and changes no granule.
func TestJoin(t *testing.T) {
	s := mustSchema(t, numbers)
	gen := NewGeneration(1)
	part := func(n ...int64) Section { return whole(numberPart(t, s, gen, n...)) }
	between := func(lo, hi int64, n ...int64) *Granule {
		g := New(numberKey(lo), numberKey(hi))
		if len(n) > 0 {
			g = g.With(part(n...))
		}
		return g
	}
	from := func(lo int64, n ...int64) *Granule { return New(numberKey(lo), "").With(part(n...)) }
	mine := between(10, 20, 11, 15)
	tests := []struct {
		name   string
		g      *Granule
		others []*Granule
		want   []int64
	}{
		{"none", mine, nil, []int64{11, 15}},
		{"beside it on both sides", mine, []*Granule{between(0, 10, 1, 9), between(20, 30, 20, 21)}, []int64{11, 15}},
		{"of the same bounds", mine, []*Granule{between(10, 20, 10, 19)}, []int64{11, 15, 10, 19}},
		{"in part below", mine, []*Granule{between(0, 20, 9, 10, 12)}, []int64{11, 15, 10, 12}},
		{"in part above", mine, []*Granule{between(10, 21, 12, 20)}, []int64{11, 15, 12}},
		{"by one key", mine, []*Granule{between(0, 11, 9, 10), between(19, 30, 19, 20)}, []int64{11, 15, 10, 19}},
		{"around it", mine, []*Granule{New("", "").With(part(1, 12, 30))}, []int64{11, 15, 12}},
		{"without an upper bound", mine, []*Granule{from(10, 12, 30)}, []int64{11, 15, 12}},
		{"without rows in common", mine, []*Granule{from(5, 5, 30)}, []int64{11, 15}},
		{"several parts", mine, []*Granule{between(10, 20, 12).With(part(13)), between(10, 20, 14)}, []int64{11, 15, 12, 13, 14}},
		{"no upper bound of its own", from(10, 11), []*Granule{between(0, 20, 9, 12), from(20, 30)}, []int64{11, 12, 30}},
		{"no rows of its own", between(10, 20), []*Granule{between(0, 30, 9, 10, 20)}, []int64{10}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := contents(t, s, append([]*Granule{tt.g}, tt.others...))
			joined := tt.g.Join(s, tt.others)
			if diff := gocmp.Diff([][]int64{tt.want}, contents(t, s, []*Granule{joined})); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			lo, hi := tt.g.Bounds()
			checkTiling(t, s, lo, hi, []*Granule{joined})
			if same := joined.Rows() == tt.g.Rows(); same != (joined == tt.g) {
				t.Errorf("the same granule: %t", joined == tt.g)
			}
			if diff := gocmp.Diff(before, contents(t, s, append([]*Granule{tt.g}, tt.others...))); diff != "" {
				t.Errorf("G1: a granule changed (-before +after):\n%s", diff)
			}
		})
	}
}

// A granule is due when a rewrite pays, or when one can bring it within its limits.
func TestIsDue(t *testing.T) {
	const few, most = 2, 4
	limit := Limit{Rows: 100, Bytes: 1000}
	granule := func(base, baseSize, parts, rows, size int) *Granule {
		g := New("", "")
		if base > 0 {
			g.base = Section{&Part{rows: base, size: baseSize}, 0, base}
		}
		g.freshParts, g.freshRows, g.freshSize = parts, rows, size
		return g
	}
	tests := []struct {
		name string
		g    *Granule
		want bool
	}{
		{"no rows", New("", ""), false},
		{"one part", granule(0, 0, 1, 10, 10), false},
		{"few parts and no base", granule(0, 0, few, 10, 10), true},
		{"few parts, fewer rows than the base", granule(11, 11, few, 10, 10), false},
		{"few parts, as many rows as the base", granule(10, 10, few, 10, 10), true},
		{"fewer parts, more rows than the base", granule(10, 10, few-1, 20, 20), false},
		{"less than most parts", granule(90, 90, most-1, 3, 3), false},
		{"most parts", granule(90, 90, most, 4, 4), true},
		{"at the limit of rows", granule(95, 95, 1, 5, 5), false},
		{"above the limit of rows", granule(95, 95, 1, 6, 6), true},
		{"a base at the limit of rows", granule(100, 100, 1, 1, 1), true},
		{"a base above the limit of rows", granule(101, 101, 1, 1, 1), false},
		{"at the limit of bytes", granule(20, 900, 1, 1, 100), false},
		{"above the limit of bytes", granule(20, 900, 1, 1, 101), true},
		{"a base at the limit of bytes", granule(20, 1000, 1, 1, 1), true},
		{"a base above the limit of bytes", granule(20, 1001, 1, 1, 1), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.g.IsDue(limit, few, most); got != tt.want {
				t.Errorf("IsDue = %t", got)
			}
		})
	}
}

// The first place is noted with its version, and the last one to leave is reported.
func TestUses(t *testing.T) {
	var u Uses
	if u.Since() != 0 {
		t.Errorf("Since() = %d before a use", u.Since())
	}
	for i, want := range []bool{true, false} {
		if first := u.Enter(uint64(7 + i)); first != want || u.Since() != 7 {
			t.Errorf("place %d: first %t, since %d", i, first, u.Since())
		}
	}
	for i, want := range []bool{false, true} {
		if last := u.Leave(); last != want {
			t.Errorf("place %d leaves: last %t", i, last)
		}
	}
}
