package columnstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// commitLog is the commits as writers tell them: the oracle of the concurrent tests.
type commitLog struct {
	mu      sync.Mutex
	commits oracle.Log[oracle.Sum]
}

func (l *commitLog) add(id txn.ID, sum oracle.Sum) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits.Add(uint64(id), sum)
}

// upTo returns the sum of all commits at or before id.
func (l *commitLog) upTo(id txn.ID) (total oracle.Sum) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, sum := range l.commits.Until(uint64(id)) {
		total = total.Plus(sum)
	}
	return total
}

// view is a reader's result from one snapshot.
type view struct {
	commit txn.ID
	found  oracle.Sum
}

// TestSnapshotsUnderLoad runs 4 writers, 4 readers and constant splits (C1 to C4). A reader
// scans each of its snapshots twice and aggregates it once. The results are checked against
// the commit log after the writers end, because a commit can be visible before its writer has
// logged it.
func TestSnapshotsUnderLoad(t *testing.T) {
	const writers, readers, inserts = 4, 4, 150
	store, table := open(t, Options{GranuleRows: 400, FreshParts: 3, MaxParts: 6}, samples(500))
	log := commitLog{}
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	var views [readers][]view
	for w := range writers {
		writing.Go(func() { write(t, table, &log, uint64(w), inserts) })
	}
	for r := range readers {
		reading.Go(func() {
			for !done.Load() {
				if v, ok := look(t, store, table); ok {
					views[r] = append(views[r], v)
				}
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
	looks := 0
	for _, vs := range views {
		last := txn.ID(0)
		for _, v := range vs {
			looks++
			if want := log.upTo(v.commit); v.found != want {
				t.Errorf("snapshot at commit %d has %+v, the log says %+v", v.commit, v.found, want)
			}
			if v.commit < last {
				t.Errorf("snapshot at commit %d after one at %d", v.commit, last)
			}
			last = v.commit
		}
	}
	stats := store.Stats()
	if stats.Splits == 0 || looks == 0 {
		t.Errorf("nothing was tested: %d looks, stats %+v", looks, stats)
	}
	t.Logf("%d looks at snapshots, %d splits, %d compactions, %d granules", looks, stats.Splits, stats.Compactions, stats.Granules)
}

// write commits inserts, every fifth with two batches, and aborts some others.
func write(t *testing.T, table *Table, log *commitLog, seed uint64, inserts int) {
	rng := rand.New(rand.NewPCG(seed, 7))
	for i := range inserts {
		tx := table.store.Begin()
		var all oracle.Sum
		for range 1 + i%5/4 {
			at := int64(rng.IntN(2000))
			b, _ := batch(rng, 1+rng.IntN(60), at)
			if err := tx.Insert(context.Background(), table, b); err != nil {
				t.Error(err)
				return
			}
			for _, value := range b.Columns["value"].Int64s {
				all.Add(value, at)
			}
		}
		if rng.IntN(6) == 0 {
			tx.Abort()
			continue
		}
		id, err := tx.Commit()
		if err != nil {
			t.Error(err)
			return
		}
		log.add(id, all)
	}
}

// look reads one snapshot twice.
func look(t *testing.T, store *Store, table *Table) (v view, ok bool) {
	snap, err := store.Snapshot()
	if err != nil {
		t.Error(err)
		return v, false
	}
	defer snap.Close()
	v.commit = snap.Commit()
	v.found = scanned(t, table, snap)
	if again := scanned(t, table, snap); again != v.found {
		t.Errorf("snapshot at commit %d: first %+v, then %+v", v.commit, v.found, again)
	}
	groups, err := table.Aggregate(context.Background(), snap, AggregateOptions{Sum: "value", By: []string{"labels"}})
	if err != nil {
		t.Error(err)
		return v, false
	}
	aggregated := oracle.Sum{Check: v.found.Check}
	for i := range groups.Sums {
		aggregated.Rows += groups.Counts[i]
		aggregated.Sum += groups.Sums[i]
	}
	if aggregated != v.found {
		t.Errorf("snapshot at commit %d: scanned %+v, aggregated %+v", v.commit, v.found, aggregated)
	}
	return v, true
}

func scanned(t *testing.T, table *Table, snap *Snapshot) (c oracle.Sum) {
	for row := range scanRows(t, table, snap, ScanOptions{Columns: []string{"value", "time"}}) {
		c.Add(row["value"].(int64), row["time"].(int64))
	}
	return c
}

// TestTransactionSpansTables runs transactions over two tables, and readers that must find
// equal sums in both (C1).
func TestTransactionSpansTables(t *testing.T) {
	store, left := open(t, Options{GranuleRows: 32, FreshParts: 2}, samples(0))
	right, err := store.CreateTable("right", samples(100))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	reading.Go(func() {
		for !done.Load() {
			err := store.View(ctx, func(snap *Snapshot) error {
				if l, r := total(t, left, snap), total(t, right, snap); l != r {
					return fmt.Errorf("commit %d: %+v in one table, %+v in the other", snap.Commit(), l, r)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for w := range 3 {
		writing.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 3))
			for range 60 {
				tx := store.Begin()
				b, _ := batch(rng, 1+rng.IntN(20), int64(rng.IntN(1000)))
				if err := tx.Insert(ctx, left, b); err != nil {
					t.Error(err)
				}
				if err := tx.Insert(ctx, right, b); err != nil {
					t.Error(err)
				}
				if _, err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
}

func total(t *testing.T, table *Table, snap *Snapshot) (c oracle.Sum) {
	t.Helper()
	groups, err := table.Aggregate(context.Background(), snap, AggregateOptions{Sum: "value"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range groups.Sums {
		c.Rows += groups.Counts[i]
		c.Sum += groups.Sums[i]
	}
	return c
}

// TestYieldPointsAreOutsideOfLocks calls back into the store from every yield point. A call
// under a lock would deadlock (C8).
func TestYieldPointsAreOutsideOfLocks(t *testing.T) {
	seen := map[string]int{}
	var table *Table
	var store *Store
	inside := false
	opts := Options{GranuleRows: 8, FreshParts: 2, Manual: true, Yield: func(point string) {
		seen[point]++
		if inside || table == nil {
			return
		}
		inside = true
		defer func() { inside = false }()
		b := schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{"value": encoding.Int64s(int64(seen[point]))}}
		if _, err := table.Insert(context.Background(), b); err != nil {
			t.Error(err)
		}
		if err := store.Compact(context.Background()); err != nil {
			t.Error(err)
		}
		store.Stats()
	}}
	store, made := open(t, opts, schema.Definition{
		Columns:    []schema.Column{{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain}},
		SortingKey: []string{"value"},
	})
	table = made
	for i := range 40 {
		b := schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{"value": encoding.Int64s(int64(i))}}
		if _, err := table.Insert(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Maintain(context.Background()); err != nil {
		t.Fatal(err)
	}
	err := store.View(context.Background(), func(snap *Snapshot) error {
		want := store.Stats().Rows // before the read, whose yield points insert more
		if rows := total(t, table, snap).Rows; rows != want {
			t.Errorf("a read has %d rows, stats say %d", rows, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, point := range []string{"insert/built", "commit/start", "commit/published", "maintain/picked", "maintain/merged", "maintain/published", "read/granule"} {
		if seen[point] == 0 {
			t.Errorf("yield point %q was never reached", point)
		}
	}
}
