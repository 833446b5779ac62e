package columnstore

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/granarydb/granary/schema"
)

// maxBuckets bounds the time buckets of one batch: each takes a part, and
// every sixteenth dictionaries of its own. A day has 96.
const maxBuckets = 1 << 10

// bucketRows is rows of a batch that are in one time bucket.
type bucketRows struct {
	start int64
	rows  []int32 // nil: all of the batch
}

// groupByBucket appends the rows of each time bucket, the oldest first.
func (t *Table) groupByBucket(dst []bucketRows, columns []schema.Concrete, rows int) ([]bucketRows, error) {
	if rows == 0 {
		return dst, nil
	}
	column := t.schema.BucketColumn()
	var times []int64
	for i := range columns {
		if columns[i].Column == column {
			times = columns[i].Values.Int64s
		}
	}
	latest := t.store.latestTime()
	find := t.bucketFinder()
	groups := map[int64][]int32(nil)
	var start int64
	var group []int32
	for row, at := range times {
		if at > latest {
			return nil, fmt.Errorf("%w: row %d is at %s, the clock is at %s", ErrFuture, row,
				timeText(at), timeText(t.store.opts.Now().UnixNano()))
		}
		s := find.at(at)
		if floor := find.state.floor; s < floor {
			return nil, fmt.Errorf("%w: row %d is at %s, kept from %s", ErrTooOld, row, timeText(at), timeText(floor))
		}
		switch {
		case row == 0:
			start = s
		case s != start:
			if groups == nil { // the first that is in another bucket
				groups = map[int64][]int32{}
				for before := range row {
					group = append(group, int32(before))
				}
			}
			groups[start] = group
			start, group = s, groups[s]
		}
		if groups != nil {
			group = append(group, int32(row))
		}
	}
	if groups == nil {
		return append(dst, bucketRows{start: start}), nil
	}
	groups[start] = group
	if len(groups) > maxBuckets {
		return nil, fmt.Errorf("%w: rows of %d time buckets, at most %d", ErrLimit, len(groups), maxBuckets)
	}
	for _, start := range slices.Sorted(maps.Keys(groups)) {
		dst = append(dst, bucketRows{start, groups[start]})
	}
	return dst, nil
}

// bucketFinder finds the buckets of times in a root. The bucket of a time is the last one
// that begins at or before it in its time range of the schema's width.
type bucketFinder struct {
	table    *Table
	state    *tableState
	start    int64             // of the bucket that was found last
	from, to int64             // times that are its, both ends inclusive; none if from is above to
	starts   map[int64][]int64 // of a time range that is cut: where its buckets begin
}

// bucketFinder returns one of the newest root, which knows the newest bucket.
func (t *Table) bucketFinder() bucketFinder {
	f := bucketFinder{table: t, state: t.store.log.Root().State.table(t.ordinal), from: 1}
	if t.schema.BucketColumn() >= 0 {
		f.start = f.state.last
		f.from, f.to = f.start, t.lastTime(f.start)
	}
	return f
}

// lastTime returns the last time of the time range that a bucket is in.
func (t *Table) lastTime(bucket int64) int64 {
	if end := t.schema.BucketEnd(t.schema.BucketStart(bucket)); end > bucket {
		return end - 1
	}
	return math.MaxInt64
}

// at returns the start of the bucket of a time.
func (f *bucketFinder) at(at int64) int64 {
	if f.from <= at && at <= f.to {
		return f.start
	}
	first := f.table.schema.BucketStart(at)
	starts, known := f.starts[first]
	if !known && f.table.isCut(f.state, first) {
		starts = f.table.startsIn(f.state, first)
		if f.starts == nil {
			f.starts = map[int64][]int64{}
		}
		f.starts[first] = starts
	}
	f.start, f.from, f.to = first, first, f.table.lastTime(first)
	i, found := slices.BinarySearch(starts, at)
	if found {
		i++
	}
	if i > 0 {
		f.start, f.from = starts[i-1], starts[i-1]
	}
	if i < len(starts) {
		f.to = starts[i] - 1
	}
	return f.start
}

// isCut says whether the time range from first on has several buckets.
func (t *Table) isCut(state *tableState, first int64) bool {
	var key [8]byte
	_, b, ok := state.buckets.FloorBytes(t.schema.AppendBucket(key[:0], t.lastTime(first)))
	return ok && b.start > first
}

// startsIn returns where the buckets begin that the time range from first on is cut into.
func (t *Table) startsIn(state *tableState, first int64) (starts []int64) {
	for _, b := range state.buckets.Overlapping(t.rangeBounds(first)) {
		if b.start >= first {
			starts = append(starts, b.start)
		}
	}
	return starts
}

// rangeBounds returns the lowest key of all buckets of the time range from first on, and
// the lowest key after them, empty if there is none.
func (t *Table) rangeBounds(first int64) (lo, hi string) {
	lo, _ = t.schema.BucketBounds(first)
	_, hi = t.schema.BucketBounds(t.lastTime(first))
	return lo, hi
}

// latestTime returns the latest time that a row may have.
func (s *Store) latestTime() int64 {
	now := s.opts.Now().UnixNano()
	latest := now + int64(s.opts.FutureLimit)
	if s.opts.FutureLimit < 0 || latest < now { // no limit, or one beyond int64
		return math.MaxInt64
	}
	return latest
}

// floor returns the start of the first bucket that rows are taken for.
func (t *Table) floor() int64 { return t.store.log.Root().State.table(t.ordinal).floor }

func tooOld(bucket, floor int64) error {
	return fmt.Errorf("%w: rows of %s, kept from %s", ErrTooOld, timeText(bucket), timeText(floor))
}

func timeText(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339Nano) }
