package profile

import (
	"fmt"
	"math/rand/v2"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
)

// threadBench is the size of a store with samples of threads and their states. rows is the
// number of rows of each profile. The state of a thread changes about once a second.
type threadBench struct {
	profiles, rows, threads int
	every                   int64 // nanoseconds between profiles
}

// open returns the store, compacted.
func (s threadBench) open(b *testing.B) (*DB, *columnstore.History) {
	db := openBenchDB(b)
	b.Cleanup(func() { _ = db.store.Close() })
	h, err := db.store.CreateHistory("threads", columnstore.HistoryOptions{Start: start})
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	p := makeProfile(start, "n:count")
	const functions, depth, stacks = 200, 12, 2000
	for i := range functions {
		f := &pprof.Function{ID: uint64(i + 1), Name: fmt.Sprint("f", i), Filename: "f.go"}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &pprof.Location{ID: f.ID, Mapping: p.Mapping[0], Address: 0x1000 + f.ID, Line: []pprof.Line{{Function: f, Line: 1}}})
	}
	var all [stacks][]*pprof.Location
	for i := range all {
		for range depth {
			all[i] = append(all[i], p.Location[rng.IntN(functions)])
		}
	}
	for range s.rows {
		p.Sample = append(p.Sample, &pprof.Sample{Value: []int64{1}, Label: map[string][]string{"tid": nil}})
	}
	for i := range s.profiles {
		p.TimeNanos = start + int64(i)*s.every
		for k, sample := range p.Sample {
			sample.Location = all[rng.IntN(stacks)]
			sample.Label["tid"] = []string{fmt.Sprint((i*7 + k) % s.threads)}
		}
		if _, err := db.Insert(ctx, p, InsertOptions{Labels: map[string]string{"job": "bench"}}); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.store.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	s.writeStates(b, db, h, rng)
	return db, h
}

func (s threadBench) writeStates(b *testing.B, db *DB, h *columnstore.History, rng *rand.Rand) {
	tx := db.store.Begin()
	w, err := tx.History(h)
	if err != nil {
		b.Fatal(err)
	}
	states := []history.Value{history.String("running"), history.String("runnable"), history.String("blocked"), {}}
	end := start + int64(s.profiles)*s.every
	for t := range s.threads {
		a, err := w.Attribute("Threads", fmt.Sprint(t))
		if err != nil {
			b.Fatal(err)
		}
		for at := int64(start); at < end; at += rng.Int64N(2e9) + 1 {
			if err := w.Change(at, a, states[rng.IntN(len(states))]); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := w.Close(end); err != nil {
		b.Fatal(err)
	}
	if _, err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkMergeByState compares sums by state with sums by the label that leads to the state,
// and with sums by stack alone. The store has a million rows, in profiles with many samples of
// each thread, or at most one.
func BenchmarkMergeByState(b *testing.B) {
	for _, s := range []threadBench{{1000, 1000, 40, 10e9}, {1000, 1000, 40, 1e9}, {10_000, 100, 400, 1e9}} {
		b.Run(fmt.Sprintf("profiles=%d,every=%ds", s.profiles, s.every/1e9), func(b *testing.B) {
			db, h := s.open(b)
			snap, err := db.store.Snapshot()
			if err != nil {
				b.Fatal(err)
			}
			defer snap.Close()
			states := States{History: h, Path: []string{"Threads", "{tid}"}}
			for _, question := range []struct {
				by  string
				ask func() error
			}{
				{"nothing", func() error { _, err := db.Merge(ctx, snap, cpuCount, Query{}); return err }},
				{"label", func() error { _, err := db.MergeBy(ctx, snap, cpuCount, Query{}, "tid"); return err }},
				{"state", func() error { _, err := db.MergeByState(ctx, snap, cpuCount, Query{}, states); return err }},
			} {
				b.Run("by="+question.by, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if err := question.ask(); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*s.profiles*s.rows), "ns/row")
				})
			}
		})
	}
}
