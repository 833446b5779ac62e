package catalog

import (
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// Router divides the sorted rows of a batch in one bucket into parts, one for each granule of a state
// that the rows overlap. It belongs to one goroutine, which sets the fields, calls Begin, and then Next
// while More returns true.
type Router struct {
	State   *TableState
	Bucket  int64
	Lo, Hi  string // key bounds of the bucket
	Batch   *schema.Batch
	Columns []schema.Concrete // of the batch
	Of      []int32           // the rows of the batch in the bucket; nil means all
	Rows    *granule.Rows     // the rows Of, sorted

	next  int
	known *BucketState
	// knows reports whether the bucket has all columns of the rows. Otherwise names has the missing
	// columns, if named is true.
	knows, named bool
	names        []string
}

// Begin finds the bucket.
func (r *Router) Begin() {
	_, known, ok := r.State.Buckets.Floor(r.Lo)
	if !ok || known.Start != r.Bucket {
		known = &BucketState{}
	}
	r.known, r.knows = known, known.HasColumns(r.State.Schema, r.Columns, r.Of)
}

// More reports whether rows are left.
func (r *Router) More() bool { return r.next < r.Rows.Len() }

// Next returns the next part.
func (r *Router) Next() Placement {
	a := Placement{Bucket: r.Bucket, Born: r.known.Born, BucketKey: r.Lo, BucketEnd: r.Hi, Bound: r.Lo, Hi: r.Hi}
	if bound, g, ok := r.State.Granules.FloorBytes(r.Rows.Key(r.next)); ok && bound >= r.Lo {
		a.Bound, a.Hi = g.Bounds()
	}
	hi := r.Rows.Len()
	if a.Hi != "" && string(r.Rows.Key(hi-1)) >= a.Hi {
		hi = r.Rows.Search(r.next, a.Hi)
	}
	a.Part = r.Rows.Part(r.next, hi)
	if a.Known = r.knows && r.known.hasSeries(a.Part.Series()); !a.Known {
		if !r.named { // once: every part gets the names of the whole batch
			r.names = r.known.NewColumns(r.State.Schema, a.Part.Generation(), r.Batch, r.Columns, r.Of)
			r.named = true
		}
		a.Series, a.Columns = a.Part.SeriesSet(), r.names
	}
	r.next = hi
	return a
}
