package catalog

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/index"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// TableState is the state of one table in a root.
type TableState struct {
	Schema   *schema.Schema
	Granules index.Version[*granule.Granule] // by lower bound
	Buckets  *index.Version[*BucketState]    // by lowest key
	Notes    []string                        // distinct, in the order of their commits
	Rows     int64                           // in memory, and only in files
	Bytes    int64                           // heap bytes of parts, granules, buckets and notes, without dictionaries
	Newest   int64                           // latest time of a committed row; the least int64 if there are no buckets
	last     int64                           // start of the newest bucket
	Filled   int64                           // rows of the newest time range since its last bucket began
	Series   int                             // number of series of the newest bucket
	Open     int64                           // start of the first time range that is not closed
	Floor    int64                           // start of the first time range that takes rows
	Dropped  int64                           // rows that retention dropped
	Evicted  int64                           // rows that eviction dropped
	Lost     int64                           // part of both, and of DropBefore: rows of units that were not dropped with Drop
	LastUnit uint64                          // id of the newest unit; 0 if there never was one
	deletes  bool                            // rows were deleted from buckets since the store was opened
}

// NewTableState returns the state of a table without rows.
func NewTableState(s *schema.Schema) *TableState {
	return &TableState{
		Schema:   s,
		Granules: *index.New[*granule.Granule](),
		Buckets:  index.New[*BucketState](),
		Newest:   math.MinInt64,
		last:     math.MinInt64,
		Open:     math.MinInt64,
		Floor:    math.MinInt64,
	}
}

// Oldest returns the oldest bucket.
func (t *TableState) Oldest() (b *BucketState, ok bool) {
	for _, b := range t.Buckets.All() {
		return b, true
	}
	return nil, false
}

// FirstFrom returns the start of the first time range at or after start that has a bucket.
func (t *TableState) FirstFrom(start int64) (first int64, ok bool) {
	key, _ := t.Schema.BucketBounds(start)
	for bound, b := range t.Buckets.Overlapping(key, "") {
		if bound >= key {
			return t.Schema.BucketStart(b.Start), true
		}
	}
	return 0, false
}

// BytesBetween returns the bytes of the rows in granules that begin in [from, to), and how many of these
// bytes roots up to version newest hold too.
func (t *TableState) BytesBetween(from, to string, newest txn.Version) (bytes, kept int64) {
	for bound, g := range t.Granules.Overlapping(from, to) {
		if bound < from {
			continue
		}
		for _, s := range g.Sections() {
			bytes += int64(s.Size())
			if txn.Version(s.Part.Since()) <= newest {
				kept += int64(s.Size())
			}
		}
	}
	return bytes, kept
}

// Family returns the sorted concrete columns of a dynamic column that have a value. A nil state has none.
// O(buckets x columns).
func (t *TableState) Family(name string) []string {
	if t == nil {
		return nil
	}
	return family(name, func(yield func(*BucketState) bool) {
		for _, b := range t.Buckets.All() {
			if !yield(b) {
				return
			}
		}
	})
}

// FamilyOf is Family for the buckets of BucketsOf.
func (t *TableState) FamilyOf(name string, lo, hi int64) []string {
	if t == nil {
		return nil
	}
	return family(name, t.BucketsOf(lo, hi))
}

func family(name string, buckets iter.Seq[*BucketState]) []string {
	distinct, prefix := map[string]bool{}, name+"."
	for b := range buckets {
		for column := range b.Columns {
			if strings.HasPrefix(column, prefix) {
				distinct[column] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(distinct))
}

// BucketsOf yields the buckets that can have rows with times in [lo, hi), in time order. hi is
// inclusive if it is the greatest int64.
func (t *TableState) BucketsOf(lo, hi int64) iter.Seq[*BucketState] {
	first := t.Schema.BucketStart(lo)
	from, to := t.keyBounds(lo, hi)
	return func(yield func(*BucketState) bool) {
		for _, b := range t.Buckets.Overlapping(from, to) {
			if b.Start < first || b.Latest < lo {
				continue // the bucket is before the times: the last before a gap, or a cut bucket
			}
			if t.LastUnit > 0 && hi != math.MaxInt64 && t.firstOf(b) >= hi {
				continue // the bucket is after the times: late buckets begin anywhere
			}
			if !yield(b) {
				return
			}
		}
	}
}
