package columnstore

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/granarydb/granary/schema"
)

// maxBuckets bounds the time buckets of one batch: each takes a part, and
// every sixteenth range dictionaries of its own. A day has 96 ranges.
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
	table *Table
	state *tableState
	last  bucketTimes   // of the bucket that was found last
	found []bucketTimes // of up to maxBuckets, ascending
}

// bucketTimes is the times of a bucket, which begins at the first. Both ends are inclusive.
type bucketTimes struct{ start, end int64 }

// bucketFinder returns one of the newest root, which knows the newest bucket.
func (t *Table) bucketFinder() bucketFinder {
	f := bucketFinder{table: t, state: t.store.log.Root().State.table(t.ordinal)}
	if t.schema.BucketColumn() >= 0 {
		f.last = bucketTimes{f.state.last, t.lastTime(f.state.last)}
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
	if f.last.start <= at && at <= f.last.end {
		return f.last.start
	}
	i, exact := slices.BinarySearchFunc(f.found, at, func(b bucketTimes, at int64) int { return cmp.Compare(b.start, at) })
	if !exact {
		i-- // the one that begins before, if there is one
	}
	if i >= 0 && at <= f.found[i].end {
		f.last = f.found[i]
		return f.last.start
	}
	f.last = f.table.timesOf(f.state, at)
	if len(f.found) < maxBuckets {
		f.found = slices.Insert(f.found, i+1, f.last)
	}
	return f.last.start
}

// timesOf returns the times of the bucket of a time, which need not be there yet. It looks
// at two buckets, however many the time range is cut into.
func (t *Table) timesOf(state *tableState, at int64) bucketTimes {
	first := t.schema.BucketStart(at)
	times := bucketTimes{first, t.lastTime(first)}
	key, _ := t.schema.BucketBounds(at)
	_, end := t.schema.BucketBounds(times.end)
	for _, b := range state.buckets.Overlapping(key, end) {
		if b.start > at {
			times.end = b.start - 1
			break
		}
		times.start = max(first, b.start) // it can be of a range before
	}
	return times
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
