package profile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// TimeStacks has the sums by stack of the profiles of one time.
type TimeStacks struct {
	Time   int64 // start of the step, in Unix nanoseconds
	Stacks *Stacks
}

// MergeByTime is Merge by the times of profiles, rounded down to multiples of step since 1970; 0 keeps each time. The order is that
// of time. Times without samples are omitted.
//
// It costs as much as MergeBy. Errors are those of Merge, and columnstore.ErrQuery for a negative step.
func (db *DB) MergeByTime(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, step time.Duration) ([]TimeStacks, error) {
	if step < 0 {
		return nil, fmt.Errorf("%w: step %v: want at least 0", columnstore.ErrQuery, step)
	}
	p := db.plan(ctx, snap, q, t)
	groups, err := p.sum(ctx, p.types, columnstore.AggregateOptions{By: []string{ColumnStacktrace, ColumnTimestamp}, Step: int64(step), NoCounts: true})
	if err != nil {
		return nil, err
	}
	const timedStack = 4 + 12 + 100 // the number of its time, its code and its value, and a place of its time in a map
	if err := p.fits(groups, timedStack*len(groups.Sums)); err != nil {
		return nil, err
	}
	numbers, of := map[int64]uint32{}, make([]uint32, len(groups.Sums))
	var out []TimeStacks
	for row, at := range groups.Columns[1].Values.Int64s {
		n, known := numbers[at]
		if !known {
			n = uint32(len(out))
			numbers[at], out = n, append(out, TimeStacks{Time: at})
		}
		of[row] = n
	}
	for i, stacks := range divide(p, groups, of, len(out)) {
		out[i].Stacks = stacks
	}
	slices.SortFunc(out, func(a, b TimeStacks) int { return cmp.Compare(a.Time, b.Time) })
	return out, nil
}
