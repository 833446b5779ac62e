package columnstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// tuningFleet inserts an hour of a fleet: 100 pods, each with a profile of 100 rows every 10 seconds. Of
// the 4,000 stacks at a time, 40 are replaced every minute, as by deployments.
func tuningFleet(b *testing.B, table *Table) {
	const pods, rows, depth, stacks, replaced = 100, 100, 20, 4000, 40
	frames := make([]uuid.UUID, rows*depth)
	lists := make([][]uuid.UUID, rows)
	for i := range lists {
		lists[i] = frames[i*depth : (i+1)*depth]
	}
	batch := loaderBatch{frames: frames}
	batch.Rows = rows
	batch.Columns = map[string]encoding.Vector{
		"kind": encoding.Strings("cpu"), "labels.pod": encoding.Strings(""), "labels.node": encoding.Strings(""),
		"stack": encoding.UUIDLists(lists...), "time": encoding.Int64s(0), "value": encoding.Int64s(make([]int64, rows)...),
	}
	for scrape := range 360 {
		oldest := uint64(scrape/6) * replaced
		for pod := range pods {
			batch.Columns["labels.pod"].Strings[0] = fmt.Sprint("pod-", pod)
			batch.Columns["labels.node"].Strings[0] = fmt.Sprint("node-", pod%20)
			batch.Columns["time"].Int64s[0] = int64(scrape)*10e9 + int64(pod)
			for i := range rows {
				stack := oldest + (uint64(scrape*pods+pod)*2654435761+uint64(i*i))%stacks
				batch.Columns["value"].Int64s[i] = 1 + int64(stack*stack+uint64(scrape*i))%50 // counts of a sampler
				for d := range depth {
					f := frames[i*depth+d][:]
					binary.LittleEndian.PutUint64(f, stack/(1+uint64(depth-1-d))<<8|uint64(d)) // shared by more stacks toward the root
				}
			}
			if _, err := table.Insert(context.Background(), batch.Batch); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkTuning prints the figures of docs/tuning.md: the bytes of an hour of a fleet under
// different buckets and generations, and three questions: the last five minutes of one pod,
// five minutes of all pods, and everything.
func BenchmarkTuning(b *testing.B) {
	for _, c := range []struct {
		name   string
		bucket time.Duration
		opts   Options
	}{
		{"bucket=1m", time.Minute, Options{}},
		{"bucket=5m", 5 * time.Minute, Options{}},
		{"bucket=15m", 15 * time.Minute, Options{}},
		{"bucket=60m", time.Hour, Options{}},
		{"bucket=1m/generation=1", time.Minute, Options{GenerationBuckets: 1}},
		{"bucket=1m/generation=4", time.Minute, Options{GenerationBuckets: 4}},
		{"bucket=1m/generation=60", time.Minute, Options{GenerationBuckets: 60}},
		{"bucket=60m/rows=250k", time.Hour, Options{BucketRows: 250_000}},
		{"bucket=60m/rows=1m", time.Hour, Options{BucketRows: 1_000_000}},
		{"bucket=60m/rows=never", time.Hour, Options{BucketRows: -1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.opts.FutureLimit, c.opts.PastLimit = -1, -1
			store, err := Open(c.opts)
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			table, err := store.CreateTable("samples", samples(int64(c.bucket)))
			if err != nil {
				b.Fatal(err)
			}
			tuningFleet(b, table)
			if err := store.Compact(context.Background()); err != nil {
				b.Fatal(err)
			}
			snap, err := store.Snapshot()
			if err != nil {
				b.Fatal(err)
			}
			defer snap.Close()
			// The fastest of all runs, since other processes share the machine.
			fastest := func(best time.Duration, where Expr) time.Duration {
				started := time.Now()
				if _, err := table.Aggregate(context.Background(), snap, AggregateOptions{Sum: "value", By: []string{"stack"}, Where: where}); err != nil {
					b.Fatal(err)
				}
				return min(best, time.Since(started))
			}
			const fifty, lastFive = int64(50 * time.Minute), int64(55 * time.Minute)
			recent, window, all := time.Hour, time.Hour, time.Hour
			for b.Loop() {
				recent = fastest(recent, And(Equal("labels.pod", "pod-7"), AtLeast("time", lastFive)))
				window = fastest(window, And(AtLeast("time", fifty), Less("time", lastFive)))
				all = fastest(all, And())
			}
			stats := store.Stats()
			b.ReportMetric(float64(stats.PartBytes)/float64(stats.Rows), "partB/row")
			b.ReportMetric(float64(stats.Bytes()-stats.PartBytes)/float64(stats.Rows), "dictB/row")
			b.ReportMetric(float64(stats.Granules), "granules")
			b.ReportMetric(stats.WriteAmplification(), "writes/row")
			b.ReportMetric(float64(recent.Microseconds()), "pod-us")
			b.ReportMetric(window.Seconds()*1000, "window-ms")
			b.ReportMetric(all.Seconds()*1000, "all-ms")
		})
	}
}
