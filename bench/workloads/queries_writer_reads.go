package workloads

import (
	"context"
	"fmt"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// reads are the merges for one job, in the order in which they take turns.
var reads = []string{"held", "same-rows", "last", "all-time"}

// isFixed reports whether a read covers the rows from before the writer began.
func isFixed(name string) bool { return name == "held" || name == "same-rows" }

// read makes a read and returns its wall time in microseconds.
func (w *fleetWriter) read(name string) (us float64, err error) {
	where := []columnstore.Expr{peers.Condition([]peers.Term{{Column: fleet.LabelPrefix + "job", Text: w.Subject.Columns[fleet.LabelPrefix+"job"].Strings[0]}}), peers.Condition(peers.OfType(w.Subject))}
	switch {
	case isFixed(name):
		where = append(where, columnstore.Less(profile.ColumnTimestamp, w.start))
	case name == "last":
		where = append(where, columnstore.AtLeast(profile.ColumnTimestamp, w.newest.Load()-w.last))
	}
	opts := columnstore.AggregateOptions{Sum: profile.ColumnValue, By: []string{profile.ColumnStacktrace}, Where: columnstore.And(where...)}
	var groups *columnstore.Groups
	ctx, start := context.Background(), time.Now()
	if name == "held" {
		groups, err = w.Table.Aggregate(ctx, w.Snap, opts)
	} else {
		err = w.Store.View(ctx, func(snap *columnstore.Snapshot) error {
			groups, err = w.Table.Aggregate(ctx, snap, opts)
			return err
		})
	}
	us = float64(time.Since(start)) / 1e3
	if err != nil || !isFixed(name) {
		return us, err
	}
	if w.same == nil {
		w.same = groups
	}
	if got, want := sums(groups), sums(w.same); got != want {
		return us, fmt.Errorf("a merge of rows that stay the same gave %v groups, rows and sum, before it were %v", got, want)
	}
	return us, nil
}

// sums returns the number of groups, the number of their rows, and the sum.
func sums(g *columnstore.Groups) (all [3]int64) {
	all[0] = int64(len(g.Sums))
	for i := range g.Sums {
		all[1] += g.Counts[i]
		all[2] += g.Sums[i]
	}
	return all
}

// quiet returns each read's median while nothing else runs.
func (w *fleetWriter) quiet() (us []float64, err error) {
	for _, name := range reads {
		var all []float64
		for range quietAsks {
			one, err := w.read(name)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		us = append(us, results.Median(all))
	}
	return us, nil
}
