package workloads

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
)

// Cold has measurements of a fleet that is only in files, in CPU time of the process.
type Cold struct {
	Hot     []float64 // ms to merge all rows in memory by stack, to codes: once, after a collection
	Merge   []float64 // the same after Open, from files in the system's cache, with known stacks; each beside Hot's
	Warm    []float64 // ms of a merge of rows in memory right after others, without a collection
	Touch   []float64 // ms of the first query about stacks after Open, which reads the dictionaries
	TouchMs []float64 // the same, wall time
	Stacks  int       // number in the dictionaries
}

// MeasureCold inserts a fleet, compacted, and a profile in the next time range with the same dictionaries.
// A copy of the store's directory is opened for each cold merge, beside a merge of the store itself, whose
// rows are in memory. Both therefore run in a process with the same age and heap: a collection precedes each,
// and neither finds buffers from the previous merge. The query before a cold merge, about the single profile,
// reads the dictionaries and none of the merged rows.
func MeasureCold(f *fleet.Fleet, m fleet.Shape, repeat int) (c Cold, err error) {
	// With more processors, idle garbage collectors would search for work and use CPU time.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir, err := os.MkdirTemp("", "granary-bench")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	_, l, err := durableInsert(f, m, columnstore.Options{Dir: filepath.Join(dir, "hot"), LogBytes: 1 << 40})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, l.store.Close()) }()
	ctx, next := context.Background(), l.from.Add(durableBucket)
	one, err := l.coder.Code(f.Profile(0, next))
	if err == nil {
		_, err = l.codes.Insert(ctx, one)
	}
	if err == nil {
		err = l.store.Compact(ctx)
	}
	cold := filepath.Join(dir, "cold")
	if err == nil {
		err = l.store.Backup(ctx, disk.System(cold))
	}
	if err != nil {
		return c, err
	}
	c.Stacks = l.store.Stats().Stacks
	rest := columnstore.Less(profile.ColumnTimestamp, next.UnixNano())
	warm, err := measure.CostOf(repeat, func() error { return mergeStacks(l.store, rest) })
	if err != nil {
		return c, err
	}
	c.Warm = warm.Ms
	return c, c.inTurns(l.store, cold, next, repeat)
}

// inTurns merges the rows before an instant, in turns in a store in memory and from another's files.
func (c *Cold) inTurns(store *columnstore.Store, dir string, instant time.Time, repeat int) error {
	rest := columnstore.Less(profile.ColumnTimestamp, instant.UnixNano())
	for i := range repeat + 1 {
		hot, err := measure.MedianMs(1, func() error { return mergeStacks(store, rest) })
		if err != nil {
			return err
		}
		cold, err := coldOnce(dir, instant, i > 0)
		if err != nil {
			return err
		}
		if i > 0 { // the first warms the system's cache, and its Close writes the files
			c.Hot, c.Merge = append(c.Hot, hot), append(c.Merge, cold.merge)
			c.Touch, c.TouchMs = append(c.Touch, cold.touch), append(c.TouchMs, cold.touchWall)
		}
	}
	return nil
}

// coldRun has the costs of one cold store in milliseconds.
type coldRun struct{ touch, touchWall, merge float64 }

// coldOnce opens a directory, merges the rows from an instant on, and then the earlier rows. If must is true, it
// fails if rows are in memory after the open.
func coldOnce(dir string, instant time.Time, must bool) (c coldRun, err error) {
	store, err := columnstore.Open(columnstore.Options{Dir: dir, Manual: true})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if s := store.Stats(); must && (s.ColdRows != s.Rows || s.Rows == 0) {
		return c, fmt.Errorf("%d rows of %d are in files alone", s.ColdRows, s.Rows)
	}
	begun := time.Now()
	c.touch, err = measure.MedianMs(1, func() error {
		begun = time.Now()
		return mergeStacks(store, columnstore.AtLeast(profile.ColumnTimestamp, instant.UnixNano()))
	})
	c.touchWall = float64(time.Since(begun)) / 1e6
	if err == nil {
		c.merge, err = measure.MedianMs(1, func() error { return mergeStacks(store, columnstore.Less(profile.ColumnTimestamp, instant.UnixNano())) })
	}
	return c, err
}

// mergeStacks sums the rows that match where by stack.
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
