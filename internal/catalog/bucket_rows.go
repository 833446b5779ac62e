package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/granarydb/granary/schema"
)

// ErrTooOld is returned by GroupRows. Package columnstore exports and documents it.
var ErrTooOld = errors.New("time is older than what is kept")

// GroupRows calls yield with the start of each time bucket of a batch, ascending, and with the bucket's
// rows; nil means all rows. times has each row's time. It is empty for a table without time buckets. The
// errors are ErrFuture and ErrPast for a time beyond the limits, ErrTooOld for a time below the floor,
// and schema.ErrLimit for more than MaxBuckets buckets.
func (t *TableState) GroupRows(times []int64, limits TimeLimits, yield func(start int64, rows []int32)) error {
	find := t.FindBuckets()
	groups := map[int64][]int32(nil)
	var start int64
	var group []int32
	for row, at := range times {
		if at > limits.Latest || at < limits.Earliest {
			return limits.Check(at, fmt.Sprintf("row %d of column %q is at ", row, t.Schema.Columns()[t.Schema.BucketColumn()].Name))
		}
		s := find.At(at)
		if s < t.Floor {
			return fmt.Errorf("%w: row %d is at %s, kept from %s", ErrTooOld, row, TimeText(at), TimeText(t.Floor))
		}
		switch {
		case row == 0:
			start = s
		case s != start:
			if groups == nil { // the first row in another bucket
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
		yield(start, nil)
		return nil
	}
	groups[start] = group
	if len(groups) > MaxBuckets {
		return fmt.Errorf("%w: rows of %d time buckets, at most %d", schema.ErrLimit, len(groups), MaxBuckets)
	}
	for _, start := range slices.Sorted(maps.Keys(groups)) {
		yield(start, groups[start])
	}
	return nil
}
