package columnstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"go.uber.org/goleak"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/effort"
)

// TestMaintainer_Settles runs the real maintainer: when inserts stop, all due work is done,
// without another insert to start it.
func TestMaintainer_Settles(t *testing.T) {
	store, table := open(t, Options{FreshParts: 4, MaxParts: 8, GranuleRows: 200}, samples(1000))
	rng := rand.New(rand.NewPCG(1, 2))
	rows := int64(0)
	for i := range 200 {
		b, _ := batch(rng, 1+rng.IntN(40), int64(i*20))
		insert(t, table, b)
		rows += int64(b.Rows)
	}
	due := func() (n int) {
		for _, g := range store.roots.Root().State.Table(table.ordinal).Granules.All() {
			if store.maintainer.isDue(g) {
				n++
			}
		}
		return n
	}
	for due() > 0 { // a maintainer that stops runs into the timeout of go test
		time.Sleep(time.Millisecond)
	}
	stats := store.Stats()
	if stats.Splits+stats.Compactions == 0 {
		t.Errorf("no granule was rewritten; stats %+v", stats)
	}
	if stats.Parts > 8*stats.Granules {
		t.Errorf("%d parts in %d granules", stats.Parts, stats.Granules)
	}
	if c := total(t, table, snapshot(t, store)); c.Rows != rows {
		t.Errorf("%d rows, want %d", c.Rows, rows)
	}
	checkBounds(t, store, table)
}

// TestClose_WaitsForRewrite closes while a rewrite is between merge and publish. Close returns
// after the rewrite, whose result is complete.
func TestClose_WaitsForRewrite(t *testing.T) {
	var once sync.Once
	merged, goOn := make(chan struct{}), make(chan struct{})
	var published atomic.Bool
	store, table := open(t, Options{FreshParts: 2, Yield: func(point string) {
		switch point {
		case "maintain/merged":
			once.Do(func() { close(merged); <-goOn })
		case "maintain/published":
			published.Store(true)
		}
	}}, samples(0))
	for i := range 10 {
		insert(t, table, oneRow(int64(i)))
	}
	<-merged
	returned := make(chan struct{})
	go func() { store.Close(); close(returned) }()
	for !store.closed.Load() {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-returned:
		t.Error("Close did not wait for the rewrite")
	case <-time.After(20 * time.Millisecond):
	}
	close(goOn)
	<-returned
	if !published.Load() {
		t.Error("Close returned before the rewrite was published")
	}
	if stats := store.Stats(); stats.Rows != 10 || stats.Compactions != 1 || stats.Discarded != 0 {
		t.Errorf("stats %+v", stats)
	}
}

// TestMaintain_ClosedMeanwhile closes a Manual store from a yield point.
func TestMaintain_ClosedMeanwhile(t *testing.T) {
	for _, test := range []struct {
		name string
		f    func(*Store) error
	}{
		{"maintain", func(s *Store) error { return s.Maintain(context.Background()) }},
		{"compact", func(s *Store) error { return s.Compact(context.Background()) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var store *Store
			armed := false
			store, table := open(t, Options{Manual: true, FreshParts: 2, Yield: func(point string) {
				if armed && point == "maintain/published" {
					store.Close()
				}
			}}, samples(100))
			for i := range 30 {
				insert(t, table, oneRow(int64(i%10)*100))
			}
			armed = true
			wantError(t, test.f(store), ErrClosed, "closed")
			if n := store.Stats().Compactions; n != 1 {
				t.Errorf("%d rewrites, want the one under way", n)
			}
		})
	}
}

// TestClose_UnderLoad closes a store during inserts, reads and maintenance: every call returns
// a result or ErrClosed.
func TestClose_UnderLoad(t *testing.T) {
	for round := range 10 {
		store, table := open(t, Options{FreshParts: 2, GranuleRows: 50}, samples(100))
		var workers sync.WaitGroup
		var committed atomic.Int64
		for w := range 3 {
			workers.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), uint64(w)))
				for {
					b, _ := batch(rng, 10, int64(rng.IntN(1000)))
					if _, err := table.Insert(context.Background(), b); err != nil {
						if !errors.Is(err, ErrClosed) {
							t.Error(err)
						}
						return
					}
					committed.Add(int64(b.Rows))
				}
			})
		}
		for committed.Load() < 300 {
			time.Sleep(100 * time.Microsecond)
		}
		store.Close()
		workers.Wait()
		if rows := store.Stats().Rows; rows != committed.Load() {
			t.Errorf("%d rows, %d were committed", rows, committed.Load())
		}
		checkBounds(t, store, table)
	}
}

// TestOpenClose leaks no goroutine, with work in progress or without.
func TestOpenClose(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for i := range 100 {
		store, err := Open(Options{FreshParts: 2, PastLimit: -1})
		if err != nil {
			t.Fatal(err)
		}
		table, err := store.CreateTable("t", samples(0))
		if err != nil {
			t.Fatal(err)
		}
		for at := range i % 7 {
			insert(t, table, oneRow(int64(at)))
		}
		var both sync.WaitGroup
		both.Go(func() { _ = store.Close() })
		both.Go(func() { _ = store.Close() })
		both.Wait()
	}
}

// TestQueue holds each granule once, oldest first.
func TestQueue(t *testing.T) {
	var store Store
	store.maintainer.queue.init()
	q := &store.maintainer.queue
	table := &Table{}
	named := func(t *Table, bound string) dueGranule { return dueGranule{granuleName: granuleName{t, bound}} }
	a, b, c := named(table, "a"), named(table, "b"), named(&Table{}, "a")
	q.add(nil)
	if _, ok := q.pop(); ok {
		t.Error("something was in an empty queue")
	}
	q.add([]dueGranule{a, b, a})
	q.add([]dueGranule{b, c})
	for i, want := range []dueGranule{a, b, c} {
		if i == 1 {
			q.add([]dueGranule{a}) // may come again after it was taken
		}
		if got, ok := q.pop(); !ok || got != want {
			t.Errorf("element %d: %v", i, got)
		}
	}
	if got, ok := q.pop(); !ok || got != a {
		t.Errorf("last: %v", got)
	}
	if d, ok := q.pop(); ok || len(q.wake) != 1 {
		t.Errorf("%v is left, %d tokens", d, len(q.wake))
	}
}

// Parts replaced by a rewrite are released at once, in a store of one table and of two:
// neither the index, nor a root, nor a cell of a fresh part keeps them.
func TestRewriteFreesParts(t *testing.T) {
	for _, tables := range []int{1, 2} {
		store, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(1000))
		both := []*Table{table}
		if tables == 2 {
			other, err := store.CreateTable("other", samples(1000))
			if err != nil {
				t.Fatal(err)
			}
			both = append(both, other)
		}
		rng := rand.New(rand.NewPCG(1, 91))
		for round := range 4 {
			for i := range 60 {
				b, _ := batch(rng, 20, int64(i%5)*1000)
				if _, err := both[i%tables].Insert(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			var replaced []weak.Pointer[granule.Part]
			for _, table := range both {
				for _, g := range store.roots.Root().State.Table(table.ordinal).Granules.All() {
					for _, s := range g.Sections() {
						replaced = append(replaced, weak.Make(s.Part))
					}
				}
			}
			if err := store.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := kept(replaced...); n != 0 {
				t.Fatalf("%d tables, round %d: %d parts are kept that no root has", tables, round, n)
			}
		}
		runtime.KeepAlive(store)
	}
}

// A step rewrites the rows of two granules at most, even if the bucket is closed meanwhile. In
// the end no granule of the bucket has fresh parts.
func TestMaintain_StepsAreBounded(t *testing.T) {
	effort.Alone(t)
	for _, closed := range []bool{false, true} {
		store, table := open(t, Options{Manual: true, FutureLimit: -1, GranuleRows: 100}, samples(1000))
		for i := range int64(100) {
			insert(t, table, heavy(i, 100))
		}
		if closed {
			insert(t, table, heavy(5000, 1))
		}
		last, most := int64(0), int64(0)
		for store.maintainer.step() {
			rewritten := store.Stats().RewrittenRows
			most, last = max(most, rewritten-last), rewritten
		}
		if most == 0 || most > 2*100 {
			t.Errorf("closed %v: a step went through %d rows", closed, most)
		}
		fresh := 0
		for _, g := range store.roots.Root().State.Table(table.ordinal).Granules.All() {
			fresh += g.FreshParts()
		}
		if closed && fresh > 1 { // the part that closed the bucket is in an open bucket
			t.Errorf("%d fresh parts are left", fresh)
		}
	}
}
