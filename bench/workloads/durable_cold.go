package workloads

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// Cold are measurements of a fleet that is in files alone, in CPU time of the process.
type Cold struct {
	Hot     []float64 // ms to merge all rows in memory by stack, to codes
	Merge   []float64 // ms of the same after Open, of files that the system's cache has; stacks are known
	Touch   []float64 // ms of the first question about stacks after Open, which reads the dictionaries
	TouchMs []float64 // the same, wall time
	Stacks  int       // in the dictionaries
}

// MeasureCold inserts a fleet, compacted, and a profile of the next time range of the same
// dictionaries. It merges the fleet, closes the store, and opens it again for each cold merge. The
// question before, about the one profile, reads the dictionaries and none of the rows.
func MeasureCold(f *fleet.Fleet, m fleet.Shape, repeat int) (c Cold, err error) {
	// Idle collectors would look for work.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir, err := os.MkdirTemp("", "granary-bench")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	_, l, err := durableInsert(f, m, columnstore.Options{Dir: dir, LogBytes: 1 << 40})
	if err != nil {
		return c, err
	}
	ctx, next := context.Background(), l.from.Add(durableBucket)
	one, err := l.coder.Code(f.Profile(0, next))
	if err == nil {
		_, err = l.codes.Insert(ctx, one)
	}
	if err == nil {
		err = l.store.Compact(ctx)
	}
	if err != nil {
		return c, errors.Join(err, l.store.Close())
	}
	c.Stacks = l.store.Stats().Stacks
	rest := columnstore.Less(profile.ColumnTimestamp, next.UnixNano())
	hot, err := measure.CostOf(repeat, func() error { return mergeStacks(l.store, rest) })
	c.Hot = hot.Ms
	if err := errors.Join(err, l.store.Close()); err != nil {
		return c, err
	}
	for i := range repeat + 1 {
		cold, err := coldOnce(dir, next)
		if err != nil {
			return c, err
		}
		if i > 0 { // the first warms the system's cache
			c.Merge, c.Touch, c.TouchMs = append(c.Merge, cold.merge), append(c.Touch, cold.touch), append(c.TouchMs, cold.touchWall)
		}
	}
	return c, nil
}

// coldRun has the costs of one cold store in milliseconds.
type coldRun struct{ touch, touchWall, merge float64 }

// coldOnce opens a directory, asks about the rows from an instant on, and then about those before.
func coldOnce(dir string, instant time.Time) (c coldRun, err error) {
	store, err := columnstore.Open(columnstore.Options{Dir: dir, Manual: true})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	runtime.GC() // no collection is due soon
	start, begun := measure.CPU(), time.Now()
	err = mergeStacks(store, columnstore.AtLeast(profile.ColumnTimestamp, instant.UnixNano()))
	c.touch, c.touchWall = float64(measure.CPU()-start)/1e6, float64(time.Since(begun))/1e6
	if err != nil {
		return c, err
	}
	runtime.GC()
	start = measure.CPU()
	err = mergeStacks(store, columnstore.Less(profile.ColumnTimestamp, instant.UnixNano()))
	c.merge = float64(measure.CPU()-start) / 1e6
	return c, err
}

// mergeStacks sums the rows of a condition by stack.
func mergeStacks(store *columnstore.Store, where columnstore.Expr) error {
	ctx := context.Background()
	return store.View(ctx, func(snap *columnstore.Snapshot) error {
		groups, err := store.Table("profiles").Aggregate(ctx, snap, columnstore.AggregateOptions{
			Sum: profile.ColumnValue, By: []string{profile.ColumnStacktrace}, Where: where,
		})
		if err == nil && len(groups.Sums) == 0 {
			err = errors.New("the answer has no row")
		}
		return err
	})
}
