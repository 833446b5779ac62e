package columnstore

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

const quarter = int64(15 * time.Minute)

// openBench starts a store with a table of profiles of 500 rows.
func openBench(b *testing.B, opts Options, profiles int) (*Store, *Table, *fleet) {
	b.Helper()
	opts.FutureLimit, opts.PastLimit = -1, -1
	store, err := Open(opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	table, err := store.CreateTable("profiles", samples(quarter))
	if err != nil {
		b.Fatal(err)
	}
	f := newFleet(1, 20_000)
	for n := range profiles {
		insert(b, table, f.profile(n, 500))
	}
	compact(b, store)
	return store, table, f
}

func perRow(b *testing.B, rows int) {
	b.Helper()
	total := float64(rows) * float64(b.N)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/total, "ns/row")
	b.ReportMetric(total/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkInsert commits profiles of 500 rows and 18 frames, with and without maintenance in
// the background.
func BenchmarkInsert(b *testing.B) {
	for _, manual := range []bool{true, false} {
		b.Run(fmt.Sprintf("maintained=%v", !manual), func(b *testing.B) {
			_, table, f := openBench(b, Options{Manual: manual}, 200)
			const prepared = 400
			var batches []schema.Batch
			for n := range prepared {
				batches = append(batches, f.profile(200+n, 500))
			}
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				batches[n%prepared].Columns["time"].Int64s[0] = int64(200+n) * scrapeEvery
				insert(b, table, batches[n%prepared])
				n++
			}
			perRow(b, 500)
		})
	}
}

func BenchmarkAggregate(b *testing.B) {
	const profiles = 2000
	store, table, _ := openBench(b, Options{Manual: true}, profiles)
	snap := snapshot(b, store)
	four := []Aggregate{{Op: Sum, Column: "value"}, {Op: Mean, Column: "value"}, {Op: Min, Column: "value"}, {Op: Max, Column: "value"}}
	for _, test := range []struct {
		name string
		opts AggregateOptions
		rows int
	}{
		{"by=stack", AggregateOptions{Sum: "value", By: []string{"stack"}}, 500 * profiles},
		{"by=labels", AggregateOptions{Sum: "value", By: []string{"labels"}}, 500 * profiles},
		{"by=step", AggregateOptions{Sum: "value", By: []string{"time"}, Step: int64(time.Minute)}, 500 * profiles},
		{"by=none", AggregateOptions{Sum: "value"}, 500 * profiles},
		{"by=stack,pod=1of20", AggregateOptions{Sum: "value", By: []string{"stack"}, Where: Equal("labels.pod", "pod-7")}, 500 * profiles / fleetPods},
		{"by=none,aggregates=max", AggregateOptions{Aggregates: four[3:]}, 500 * profiles},
		{"by=none,aggregates=4", AggregateOptions{Aggregates: four}, 500 * profiles},
		{"by=stack,aggregates=4", AggregateOptions{Aggregates: four, By: []string{"stack"}}, 500 * profiles},
		{"by=labels,aggregates=4", AggregateOptions{Aggregates: four, By: []string{"labels"}}, 500 * profiles},
		{"by=step,aggregates=4", AggregateOptions{Aggregates: four, By: []string{"time"}, Step: int64(time.Minute)}, 500 * profiles},
		{"by=labels,stack,aggregates=4", AggregateOptions{Aggregates: four, By: []string{"labels", "stack"}}, 500 * profiles},
		{"by=labels,stack", AggregateOptions{Sum: "value", By: []string{"labels", "stack"}}, 500 * profiles},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				groups, err := table.Aggregate(context.Background(), snap, test.opts)
				if err != nil || len(groups.Counts) == 0 {
					b.Fatal(groups, err)
				}
			}
			perRow(b, test.rows)
		})
	}
}

func BenchmarkScan(b *testing.B) {
	const profiles = 400
	store, table, _ := openBench(b, Options{Manual: true}, profiles)
	snap := snapshot(b, store)
	for _, test := range []struct {
		name string
		opts ScanOptions
	}{
		{"columns=all,form=dictionary", ScanOptions{}},
		{"columns=all,form=dictionary,own", ScanOptions{OwnDictionaries: true}},
		{"columns=all,form=native", ScanOptions{Form: Native}},
		{"columns=all,form=plain", ScanOptions{Form: Plain}},
		{"columns=all,form=dictionary,names", ScanOptions{Elements: querytest.ElementNames}},
		{"columns=labels,form=dictionary", ScanOptions{Columns: []string{"labels"}}},
		{"columns=labels,form=native", ScanOptions{Columns: []string{"labels"}, Form: Native}},
		{"columns=value", ScanOptions{Columns: []string{"value"}}},
		{"columns=all,ordered", ScanOptions{Ordered: true}},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rows := 0
				for rec, err := range table.Scan(context.Background(), snap, test.opts) {
					if err != nil {
						b.Fatal(err)
					}
					rows += int(rec.NumRows())
					rec.Release()
				}
				if rows != 500*profiles {
					b.Fatal(rows)
				}
			}
			perRow(b, 500*profiles)
		})
	}
}

// BenchmarkScan_OrderBy returns the first of a million rows.
func BenchmarkScan_OrderBy(b *testing.B) {
	const profiles = 2000
	store, table, _ := openBench(b, Options{Manual: true}, profiles)
	snap := snapshot(b, store)
	for _, limit := range []int{10, 1000, 1 << 16} {
		for _, by := range [][]Ordering{
			{{Column: "value", Descending: true}},
			{{Column: "time", Descending: true}},
			{{Column: "time"}},
			{{Column: "labels.pod"}},
			{{Column: "labels.pod", Descending: true}, {Column: "value"}},
			{{Column: "trace"}},
		} {
			b.Run(fmt.Sprintf("by=%v,limit=%d", by, limit), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					rows := 0
					for rec, err := range table.Scan(context.Background(), snap, ScanOptions{OrderBy: by, Limit: limit}) {
						if err != nil {
							b.Fatal(err)
						}
						rows += int(rec.NumRows())
						rec.Release()
					}
					if rows != limit {
						b.Fatal(rows)
					}
				}
				perRow(b, 500*profiles)
			})
		}
	}
}

// BenchmarkGroupsRecord makes a record of all stacks and their sums.
func BenchmarkGroupsRecord(b *testing.B) {
	store, table, _ := openBench(b, Options{Manual: true}, 400)
	groups, err := table.Aggregate(context.Background(), snapshot(b, store), AggregateOptions{Sum: "value", By: []string{"stack"}})
	if err != nil {
		b.Fatal(err)
	}
	for _, form := range recordForms {
		b.Run(fmt.Sprint("form=", form), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rec, err := groups.Record(RecordOptions{Form: form})
				if err != nil {
					b.Fatal(err)
				}
				rec.Release()
			}
			perRow(b, len(groups.Sums))
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	store, _, _ := openBench(b, Options{Manual: true}, 1)
	b.ReportAllocs()
	for b.Loop() {
		snap, err := store.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		snap.Close()
	}
}

// BenchmarkCommit commits transactions that touch one or sixteen granules, in a table with 2,000
// granules. Their parts are built with the timer stopped.
func BenchmarkCommit(b *testing.B) {
	for _, touched := range []int{1, 16} {
		b.Run(fmt.Sprint("granules=", touched), func(b *testing.B) { benchmarkCommit(b, touched) })
	}
}

func benchmarkCommit(b *testing.B, touched int) {
	const granules = 2000
	store, err := Open(Options{Manual: true, FutureLimit: -1, PastLimit: -1, MaxParts: math.MaxInt})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	table, err := store.CreateTable("t", samples(100))
	if err != nil {
		b.Fatal(err)
	}
	for i := range granules {
		insert(b, table, oneRow(int64(i)*100))
	}
	compact(b, store)
	if n := store.Stats().Granules; n != granules {
		b.Fatalf("%d granules", n)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	txs := make([]*Tx, 0, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if len(txs) == 0 {
			b.StopTimer()
			for range cap(txs) {
				txs = append(txs, store.Begin())
				for range touched {
					if err := txs[len(txs)-1].Insert(context.Background(), table, oneRow(int64(rng.IntN(granules))*100)); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.StartTimer()
		}
		if _, err := txs[len(txs)-1].Commit(); err != nil {
			b.Fatal(err)
		}
		txs = txs[:len(txs)-1]
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*touched), "ns/granule")
}
