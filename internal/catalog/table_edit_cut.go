package catalog

import (
	"math"

	"github.com/granarydb/granary/granule"
)

// A time range that gets many rows is cut into several buckets (Options.BucketRows of package
// columnstore). The decision depends only on the state of the table and the commit. No row moves: a cut
// adds an empty bucket, and later inserts go there.

const (
	leastRows  = 1 << 20 // default rows per bucket
	seriesRows = 1 << 12 // default rows per series of a bucket
)

// rowsOfBucket returns the number of rows at which a bucket is cut. most is the configured number. 0
// derives it from the number of series.
func rowsOfBucket(most, series int) int64 {
	if most > 0 {
		return int64(most)
	}
	return max(leastRows, seriesRows*int64(series))
}

// BucketCut describes a bucket that CutBucket began, and the granule bounds that Divide can give it.
type BucketCut struct {
	Start    int64 // of the bucket
	key, end string
	places   []string // inner bounds, without the bytes of the bucket
}

// Size returns the bytes of the granules that Divide creates.
func (c *BucketCut) Size() int64 { return GranuleSize * int64(len(c.places)+1) }

// CutBucket begins a bucket after the latest row of this commit, if the newest time range got enough rows
// since its last bucket began. Queries for earlier times then skip fewer rows. The cut bucket's granules
// are added to Closing, as for a closed bucket, because only late rows reach them. granuleRows is the
// size at which granules split.
//
// The cut is not after the latest row of the table, because the clock that wrote that row may run ahead,
// and all rows up to its time would then go to the cut bucket.
//
// The new bucket has no granule yet. The caller may create granules with Divide.
func (e *TableEdit) CutBucket(most, granuleRows int) (c BucketCut, ok bool) {
	if most < 0 || e.State.Filled < rowsOfBucket(most, e.State.Series) || e.schema.BucketColumn() < 0 {
		return c, false
	}
	at := e.Latest + 1
	if e.Latest < e.State.last {
		return c, false // late rows: leave the decision to the next commit
	}
	e.State.Filled = 0 // a failed cut is retried after as many rows again
	if at < e.Latest || e.schema.BucketStart(at) != e.schema.BucketStart(e.State.last) {
		return c, false
	}
	return e.cutAt(at, granuleRows)
}

// cutAt begins a bucket at a time in the newest time range.
func (e *TableEdit) cutAt(at int64, granuleRows int) (c BucketCut, ok bool) {
	key, end := e.schema.BucketBounds(at)
	bound, b, ok := e.editBuckets().Floor(key)
	if !ok || bound == key || b.Start < e.schema.BucketStart(at) || b.Late {
		return c, false // a unit was dropped, or late rows came
	}
	if e.State.LastUnit > 0 && !e.leavesLateStart(at) {
		return c, false
	}
	before := *b
	before.Latest = e.State.Newest
	e.editBuckets().Set(bound, &before)
	next := &BucketState{Start: at, Latest: math.MaxInt64, Gen: b.Gen, Born: e.commit}
	e.editBuckets().Set(key, next)
	e.State.Bytes += next.Size()
	e.State.last, e.State.Series = at, 0
	c = BucketCut{Start: at, key: key, end: end}
	rows := 0
	for bound, g := range e.granules.Between(bound, key) {
		if g.FreshParts() > 0 {
			e.Closing = append(e.Closing, g)
		}
		if rows > granuleRows/2 {
			c.places, rows = append(c.places, bound[len(key):]), 0
		}
		rows += g.Rows()
	}
	return c, true
}

// Divide creates a new bucket's granules. They copy the previous bucket's bounds, because most rows to
// come have the same series. Without Divide the first row creates one granule, and a writer at full speed
// was half as fast, because all inserts waited for the splits of that granule.
func (e *TableEdit) Divide(c *BucketCut) {
	e.State.Bytes += c.Size()
	for lo, i := c.key, 0; i <= len(c.places); i++ {
		hi := c.end
		if i < len(c.places) {
			hi = c.key + c.places[i]
		}
		e.granules.Set(lo, granule.New(lo, hi))
		lo = hi
	}
}
