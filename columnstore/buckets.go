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
	latest, floor := t.store.latestTime(), t.floor()
	groups := map[int64][]int32(nil)
	var start int64
	var group []int32
	for row, at := range times {
		if at > latest {
			return nil, fmt.Errorf("%w: row %d is at %s, the clock is at %s", ErrFuture, row,
				timeText(at), timeText(t.store.opts.Now().UnixNano()))
		}
		s := t.schema.BucketStart(at)
		if s < floor {
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
