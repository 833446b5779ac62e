package main

import (
	"context"
	"fmt"

	"github.com/granarydb/granary/cmd/granary/internal/check"
	"github.com/granarydb/granary/cmd/granary/internal/states"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// statesType is the type of the time of goroutines in states.
var statesType = profile.Type{Sample: "states", SampleUnit: "nanoseconds"}

// collectStates returns the time of goroutines by state, and by function and state: a run is a Go execution trace. The states are like
// callers of the functions in them.
func collectStates(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot) ([]*checked, error) {
	c := &checked{typ: statesType}
	for _, handle := range db.Store().Histories() {
		view, err := snap.History(handle)
		if err != nil {
			return nil, err
		}
		if !view.Instants() {
			continue
		}
		sums, err := states.Sums(ctx, view)
		if err != nil {
			return nil, fmt.Errorf("states of %s: %w", handle.Name(), err)
		}
		if len(sums) > 0 {
			c.side.Runs = append(c.side.Runs, runOfStates(sums))
		}
	}
	if len(c.side.Runs) == 0 {
		return nil, nil
	}
	return []*checked{c}, nil
}

// runOfStates returns the run of a trace.
func runOfStates(sums []states.Sum) check.Run {
	r := check.Run{Functions: map[string]check.Cost{}}
	for _, s := range sums {
		v := float64(s.Total)
		r.Total += v
		state := r.Functions[s.State]
		if state.Total += v; s.Function == "" {
			state.Self += v
		} else {
			name := s.Function + ": " + s.State
			r.Functions[name] = check.Cost{Self: r.Functions[name].Self + v, Total: r.Functions[name].Total + v}
		}
		r.Functions[s.State] = state
	}
	return r
}
