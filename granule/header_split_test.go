package granule

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// timed is a table that is not sorted by time, so that a split within a series leaves headers
// without a row on either side.
var timed = schema.Definition{
	Columns: []schema.Column{
		{Name: "host", Type: encoding.String, Encoding: encoding.DictionaryRLE},
		{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain},
		{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
	},
	SortingKey: []string{"host", "n"},
	Bucket:     schema.Bucket{Column: "time", Width: 1 << 40},
	Header:     []string{"time"},
}

// Each child of a split has the headers of its rows and no others: its times are
// exactly theirs, and it is no larger than its share.
func TestSplitHeaders(t *testing.T) {
	const rows = 1 << 13
	rng := rand.New(rand.NewPCG(1, 1))
	s := mustSchema(t, timed)
	n, times := make([]int64, rows), make([]int64, rows)
	for i := range n {
		n[i], times[i] = int64(i), rng.Int64N(1<<30)
	}
	p := partOf(t, s, NewGeneration(1), &schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
		"host": encoding.Strings("a"), "n": encoding.Int64s(n...), "time": encoding.Int64s(times...),
	}})
	lo, hi := s.BucketBounds(0)
	children := Rewrite(s, New(lo, hi).With(whole(p)), Limit{Rows: rows / 8})
	if len(children) < 8 {
		t.Fatalf("%d children, want 8 or more", len(children))
	}
	size := 0
	for _, child := range children {
		part := child.base.Part
		size += part.Size()
		column := part.Find(2, "time")
		got := column.Words().Append(nil, 0, part.Rows())
		least, most := part.TimeRange()
		if encoding.ToInt64(slices.Min(got)) != least || encoding.ToInt64(slices.Max(got)) != most {
			t.Errorf("times of a child are %d to %d, it says %d to %d", slices.Min(got), slices.Max(got), least, most)
		}
		if table, _ := column.Words().Lookup(); table != nil && table.Len() > part.Rows() {
			t.Errorf("%d headers for %d rows", table.Len(), part.Rows())
		}
	}
	if most := 2 * p.Size(); size > most {
		t.Errorf("children have %d bytes, want at most %d", size, most)
	}
}

// distinct returns dense and sparse ordinals in order, and does not scan the range of sparse
// ones.
func TestDistinct(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		ordinals := make([]uint64, 1+rng.IntN(100))
		for i := range ordinals {
			ordinals[i] = 7 + rng.Uint64N(1<<rng.IntN(40))
		}
		want := slices.Compact(slices.Sorted(slices.Values(ordinals)))
		if got := distinct(ordinals); !slices.Equal(got, want) {
			t.Fatalf("distinct(%v) = %v, want %v", ordinals, got, want)
		}
	}
	if got := distinct([]uint64{1 << 60, 0}); !slices.Equal(got, []uint64{0, 1 << 60}) {
		t.Errorf("distinct of two ends = %v", got)
	}
}
