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

// Placement is a part on its way into a table. It was built for a bucket and a granule.
type Placement struct {
	Part      *granule.Part
	Bucket    int64    // start of the bucket
	BucketKey string   // lowest key of the bucket
	BucketEnd string   // lowest key above the bucket; empty at the end of time
	Bound, Hi string   // bounds of the granule that the part was built for
	Born      uint64   // Born of the bucket that the part was built for; 0 if the bucket is new
	Known     bool     // the bucket has the part's series and columns already
	Series    []uint32 // distinct codes in ascending order, unless Known
	Columns   []string // concrete dynamic columns with a value that the bucket lacks, unless Known
}

// Size returns an upper bound of the bytes that the placement adds to a database. It includes a new
// granule and a new bucket.
func (a *Placement) Size() int64 {
	size := int64(a.Part.Size())
	if !a.Known {
		last := a.Series[len(a.Series)-1]
		size += GranuleSize + BucketSize + columnSize*int64(len(a.Columns)) + 8*int64(last/64+1)
	}
	return size
}
