package workloads

import (
	"context"
	"runtime"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/replay"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// replayResult is Replay's report. Times are CPU times.
type replayResult struct {
	Rows          int64              `json:"rows"`
	Stacks        int                `json:"stacks"`
	Series        int                `json:"series"`
	InsertNsRow   float64            `json:"insert_ns_per_row"`   // maintenance included
	CompactNsRow  float64            `json:"compact_ns_per_row"`  // maintenance after the last insert
	HeapBytesRow  float64            `json:"heap_bytes_per_row"`  // all in
	OwnBytesRow   float64            `json:"own_bytes_per_row"`   // by the store's accounting
	PartsBytesRow float64            `json:"parts_bytes_per_row"` // without dictionaries
	Amplification float64            `json:"write_amplification"`
	QueryMs       map[string]float64 `json:"query_ms"`
	CommitUs      float64            `json:"commit_us_per_granule"` // per granule of 2,000, without building the part
	HeldRatio     float64            `json:"insert_ratio_snapshot_held"`
}

// Replay inserts `rows` rows of the project's own profiles and runs a few queries. It also measures the
// commit of a table with many granules, and inserts beside a held snapshot.
func Replay(rows int64, repeat int) error {
	ctx := context.Background()
	templates, err := replay.Project()
	if err != nil {
		return err
	}
	before := measure.Heap()
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return err
	}
	start := measure.CPU()
	if err := replay.Insert(ctx, db, templates, rows); err != nil {
		return err
	}
	inserted := measure.CPU()
	if err := store.Compact(ctx); err != nil {
		return err
	}
	compacted := measure.CPU()
	stats := store.Stats()
	n := float64(stats.Rows)
	r := replayResult{
		Rows: stats.Rows, Stacks: stats.Stacks, Series: stats.Series,
		InsertNsRow: float64(inserted-start) / n, CompactNsRow: float64(compacted-inserted) / n,
		HeapBytesRow: float64(measure.Heap()-before) / n, OwnBytesRow: float64(stats.Bytes()) / n, PartsBytesRow: float64(stats.PartBytes) / n,
		Amplification: stats.WriteAmplification(),
	}
	if r.QueryMs, err = replayQueries(ctx, db, repeat); err != nil {
		return err
	}
	commit, err := commitCost(ctx, repeat)
	if err != nil {
		return err
	}
	r.CommitUs = float64(commit) / 1e3
	if r.HeldRatio, err = heldRatio(ctx, templates, repeat); err != nil {
		return err
	}
	runtime.KeepAlive(templates)
	return results.Print(r)
}

// replayQueries returns CPU milliseconds by query.
func replayQueries(ctx context.Context, db *profile.DB, repeat int) (map[string]float64, error) {
	one, err := profile.ParseSelector(`{pod="pod-3"}`)
	if err != nil {
		return nil, err
	}
	some, err := profile.ParseSelector(`{pod=~"pod-1."}`)
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	err = db.Store().View(ctx, func(snap *columnstore.Snapshot) error {
		cpu, err := db.FindType(ctx, snap, "cpu")
		if err != nil {
			return err
		}
		for name, query := range map[string]func() error{
			"merge-type": func() error { _, err := db.Merge(ctx, snap, cpu, profile.Query{}); return err },
			"select-pod": func() error { _, err := db.Merge(ctx, snap, cpu, profile.Query{Selector: one}); return err },
			"regex-pods": func() error { _, err := db.Merge(ctx, snap, cpu, profile.Query{Selector: some}); return err },
			"types":      func() error { _, err := db.Types(ctx, snap); return err },
			"series-type": func() error {
				_, err := db.Range(ctx, snap, cpu, profile.Query{}, profile.RangeOptions{Step: time.Minute, By: []string{"pod"}})
				return err
			},
			"scan-arrow": func() error { return scan(ctx, db, snap) },
		} {
			if out[name], err = measure.MedianMs(repeat, query); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func scan(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot) error {
	for rec, err := range db.Table().Scan(ctx, snap, columnstore.ScanOptions{}) {
		if err != nil {
			return err
		}
		rec.Release()
	}
	return nil
}
