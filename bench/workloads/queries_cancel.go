package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// cancelFigures are the times of queries that were cancelled while they ran.
type cancelFigures struct {
	Query     string            `json:"query"`
	QuietMs   float64           `json:"quiet_ms"`  // wall time without cancellation, median of five
	Cancelled int               `json:"cancelled"` // queries that returned the context's error
	Finished  int               `json:"finished"`  // queries that ended before
	Until     results.Latencies `json:"until_returned"`
	MustMs    float64           `json:"must_ms"` // bound for the longest
}

// cancelAll cancels merges of everything, and searches, which begin with a pass over the dictionaries.
func cancelAll(q *FilledFleet) ([]cancelFigures, error) {
	var all []cancelFigures
	for _, name := range []string{"merge-all", "search-many"} {
		f, err := cancelled(q, name, 50)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// cancelled cancels a query at times spread evenly over its duration.
func cancelled(q *FilledFleet, name string, times int) (f cancelFigures, err error) {
	f.Query, f.MustMs = name, 20
	var where columnstore.Expr
	if name == "search-many" {
		where = peers.HasFunction(peers.SearchMany)
	}
	merge := func(ctx context.Context) error {
		_, err := q.Table.Aggregate(ctx, q.Snap, columnstore.AggregateOptions{Sum: profile.ColumnValue, By: []string{profile.ColumnStacktrace}, Where: where})
		return err
	}
	var whole []float64
	for range 5 {
		start := time.Now()
		if err := merge(context.Background()); err != nil {
			return f, err
		}
		whole = append(whole, float64(time.Since(start)))
	}
	quiet := results.Median(whole)
	f.QuietMs = quiet / 1e6
	var until []float64
	for i := range times {
		ctx, cancel := context.WithCancel(context.Background())
		returned := make(chan error, 1)
		go func() { returned <- merge(ctx) }()
		time.Sleep(time.Duration(quiet * (float64(i) + 0.5) / float64(times)))
		at := time.Now()
		cancel()
		err := <-returned
		took := float64(time.Since(at)) / 1e3
		switch {
		case err == nil:
			f.Finished++
		case errors.Is(err, context.Canceled):
			f.Cancelled++
			until = append(until, took)
		default:
			return f, fmt.Errorf("%s, cancelled: %w", name, err)
		}
	}
	f.Until = results.LatenciesOf(until)
	return f, nil
}
