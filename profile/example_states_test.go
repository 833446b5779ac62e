package profile_test

import (
	"context"
	"fmt"
	"log"
	"strconv"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/profile"
)

// threadEvent is a change of a thread's state, as traced by the scheduler of an operating
// system.
type threadEvent struct {
	at    time.Duration // since the start
	tid   int64
	state string
}

// wallProfile returns a profile with one sample for each thread, running or not: its function.
func wallProfile(at time.Time, stacks map[int64][]string) *pprof.Profile {
	p := &pprof.Profile{
		TimeNanos:  at.UnixNano(),
		SampleType: []*pprof.ValueType{{Type: "wall", Unit: "nanoseconds"}},
		PeriodType: &pprof.ValueType{Type: "wall", Unit: "nanoseconds"}, Period: 10_000_000,
	}
	for tid, stack := range stacks {
		sample := &pprof.Sample{Value: []int64{10_000_000}, NumLabel: map[string][]int64{"tid": {tid}}}
		for _, name := range stack {
			id := uint64(len(p.Function) + 1)
			f := &pprof.Function{ID: id, Name: name}
			l := &pprof.Location{ID: id, Line: []pprof.Line{{Function: f}}}
			p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			sample.Location = append(sample.Location, l)
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

// Samples and the states of threads are written in one transaction, so that every snapshot
// with the samples has the states. The query then separates the stacks of running threads from
// those of blocked threads.
func ExampleDB_MergeByState() {
	ctx := context.Background()
	begin := time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	threads, err := store.CreateHistory("threads", columnstore.HistoryOptions{Start: begin.UnixNano()})
	if err != nil {
		log.Fatal(err)
	}

	record := func(events []threadEvent, samples ...*pprof.Profile) error {
		tx := store.Begin()
		defer tx.Abort() // does nothing after the commit
		states, err := tx.History(threads)
		if err != nil {
			return err
		}
		for _, e := range events {
			thread, err := states.Attribute("Threads", strconv.FormatInt(e.tid, 10))
			if err != nil {
				return err
			}
			if err := states.Change(begin.Add(e.at).UnixNano(), thread, history.String(e.state)); err != nil {
				return err
			}
		}
		for _, p := range samples {
			if _, err := db.InsertTx(ctx, tx, p, profile.InsertOptions{Labels: map[string]string{"job": "api"}}); err != nil {
				return err
			}
		}
		_, err = tx.Commit()
		return err
	}
	const ms = time.Millisecond
	err = record(
		[]threadEvent{{0, 7, "running"}, {0, 8, "blocked"}, {15 * ms, 8, "running"}, {25 * ms, 7, "blocked"}, {40 * ms, 7, "running"}},
		wallProfile(begin.Add(10*ms), map[int64][]string{7: {"parse", "serve"}, 8: {"lock", "serve"}}),
		wallProfile(begin.Add(20*ms), map[int64][]string{7: {"parse", "serve"}, 8: {"render", "serve"}}),
		wallProfile(begin.Add(30*ms), map[int64][]string{7: {"read", "serve"}, 8: {"render", "serve"}, 9: {"idle"}}),
	)
	if err != nil {
		log.Fatal(err)
	}

	err = store.View(ctx, func(snap *columnstore.Snapshot) error {
		wall, err := db.FindType(ctx, snap, "wall")
		if err != nil {
			return err
		}
		groups, err := db.MergeByState(ctx, snap, wall, profile.Query{}, profile.States{
			History: threads, Path: []string{"Threads", "{tid}"},
		})
		for _, g := range groups {
			fmt.Println(g.Status, g.State, profile.FormatValue(g.Stacks.Total, wall.SampleUnit))
			for _, f := range g.Stacks.Top() {
				if f.Flat > 0 {
					fmt.Println(" ", f.Name, profile.FormatValue(f.Flat, wall.SampleUnit))
				}
			}
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// known "blocked" 20 ms
	//   lock 10 ms
	//   read 10 ms
	// known "running" 40 ms
	//   parse 20 ms
	//   render 20 ms
	// no attribute null 10 ms
	//   idle 10 ms
}
