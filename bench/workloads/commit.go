package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/replay"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// heldRatio returns the CPU time of inserts and their maintenance while a reader holds a snapshot, relative
// to inserts without one. Chunks of inserts without, with, with and without a snapshot take turns in one
// store, so that the store's growth affects both alike.
func heldRatio(ctx context.Context, templates map[string]*pprof.Profile, repeat int) (float64, error) {
	const rows = 50_000
	store, err := columnstore.Open(columnstore.Options{Manual: true, FutureLimit: -1})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return 0, err
	}
	var spent [2]float64 // without a snapshot, with one
	for i := range 4 * (repeat + 1) {
		var snap *columnstore.Snapshot
		with := (i%4 + 1) / 2 % 2
		if with == 1 {
			if snap, err = store.Snapshot(); err != nil {
				return 0, err
			}
		}
		start := measure.CPU()
		if err := replay.Insert(ctx, db, templates, rows); err != nil {
			return 0, err
		}
		if err := store.Maintain(ctx); err != nil {
			return 0, err
		}
		if i >= 4 { // the first four fill the store
			spent[with] += float64(measure.CPU() - start)
		}
		if snap != nil {
			snap.Close()
		}
	}
	return spent[1] / spent[0], nil
}

// commitCost returns a commit's CPU time without building its parts, for each of 16 granules of 2,000 that
// it changes.
func commitCost(ctx context.Context, repeat int) (time.Duration, error) {
	const granules, touched, commits = 2000, 16, 1000
	store, err := columnstore.Open(columnstore.Options{Manual: true, FutureLimit: -1})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	table, err := store.CreateTable("t", schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
			{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"kind", "stack", "time"},
		Bucket:     schema.Bucket{Column: "time", Width: 100}, // one granule each
	})
	if err != nil {
		return 0, err
	}
	row := func(granule int) schema.Batch {
		return schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{
			"kind": encoding.Strings("cpu"), "stack": encoding.UUIDLists([]uuid.UUID{{1}}),
			"time": encoding.Int64s(int64(granule) * 100), "value": encoding.Int64s(1),
		}}
	}
	for i := range granules {
		if _, err := table.Insert(ctx, row(i)); err != nil {
			return 0, err
		}
	}
	if err := store.Compact(ctx); err != nil {
		return 0, err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var spent []float64
	for range repeat {
		txs := make([]*columnstore.Tx, commits)
		for i := range txs {
			txs[i] = store.Begin()
			for range touched {
				if err := txs[i].Insert(ctx, table, row(rng.IntN(granules))); err != nil {
					return 0, err
				}
			}
		}
		start := measure.CPU()
		for _, tx := range txs {
			if _, err := tx.Commit(); err != nil {
				return 0, err
			}
		}
		spent = append(spent, float64(measure.CPU()-start)/(commits*touched))
		if stats := store.Stats(); stats.Granules != granules {
			return 0, fmt.Errorf("%d granules, want %d", stats.Granules, granules)
		}
	}
	return time.Duration(results.Median(spent)), nil
}
