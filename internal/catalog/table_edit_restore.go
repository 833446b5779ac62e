package catalog

import (
	"math"
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// A store that opens a directory restores an earlier run's commits. It adds their parts by key, because the
// granules of that run can differ from the ones of this run. It repeats the decisions of their edits, because
// they depended on the options, the memory and the clock of that run.

// Decisions are the changes that a commit made to a table's buckets besides adding rows.
type Decisions struct {
	Floor int64 // start of the first time range that takes rows
	Cut   int64 // start of the bucket that the commit began, or NoCut
}

// NoCut means that the commit cut no bucket. It cannot be mistaken for a cut, because a cut is later than the
// start of its time range.
const NoCut int64 = math.MinInt64

// Restore adds a part of an earlier run whose transaction ids are set (granule.Part.Stamp).
func (e *TableEdit) Restore(p *granule.Part) {
	a := Placement{Part: p, Bucket: p.Bucket()}
	a.BucketKey, a.BucketEnd = e.schema.BucketBounds(a.Bucket)
	a.Bound, a.Hi = a.BucketKey, a.BucketEnd
	// The part was built for a granule of the earlier run, and can overlap several granules now.
	if bound, _, ok := e.granules.Floor(string(p.AppendKey(nil, e.schema, 0))); ok && bound >= a.BucketKey {
		a.Bound = bound
	}
	b, ok := e.bucket(a.BucketKey)
	if !ok {
		b = &BucketState{}
	}
	series := p.SeriesSet()
	if a.Columns = newColumns(e.schema, b, p, series); len(a.Columns) > 0 || slices.ContainsFunc(series, func(code uint32) bool { return !b.Series.Has(code) }) {
		a.Series = series
	}
	a.Known = a.Series == nil
	e.Add(&a)
}

func (e *TableEdit) bucket(key string) (*BucketState, bool) {
	if e.buckets != nil {
		return e.buckets.Get(key)
	}
	return e.State.Buckets.Get(key)
}

// newColumns returns the concrete dynamic columns in a part that a bucket lacks.
func newColumns(s *schema.Schema, b *BucketState, p *granule.Part, series []uint32) (names []string) {
	add := func(column int, name []byte) {
		if s.Columns()[column].Dynamic && !b.Columns[string(name)] {
			names = append(names, string(name))
		}
	}
	for i := range p.Columns() {
		add(p.Columns()[i].Index, []byte(p.Columns()[i].Name))
	}
	for _, code := range series {
		if !b.Series.Has(code) { // the columns of the other series came with those series
			s.EachLabel(p.Generation().Series.Value(code), add)
		}
	}
	return names
}

// Follow repeats a restored commit's decisions after its rows were added.
func (e *TableEdit) Follow(d Decisions, granuleRows int) {
	e.State.Dropped += e.dropBefore(d.Floor)
	e.CloseBuckets()
	if d.Cut == NoCut {
		return
	}
	e.State.Filled = 0
	if cut, ok := e.cutAt(d.Cut, granuleRows); ok {
		e.Divide(&cut)
	}
}
