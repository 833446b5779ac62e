package columnstore

import (
	"maps"
	"slices"
	"testing"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/querytest"
)

func wantBuckets(t *testing.T, table *Table, when string, want map[int64][]int64) {
	t.Helper()
	if got := querytest.TimesByBucket(table.state()); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%s: rows by bucket %v, want %v", when, got, want)
	}
}

// The granules of a new bucket are reserved before they are in the root, and not made if the
// budget has no room.
func TestCut_Reserves(t *testing.T) {
	for room, want := range map[int64]int64{catalog.GranuleSize: catalog.GranuleSize, catalog.GranuleSize - 1: 0} {
		store, table := open(t, Options{FutureLimit: -1, Manual: true, BucketRows: 4}, samples(100))
		insert(t, table, pods("a", 1, 2, 3))
		state := table.state()
		e := state.Edit(table.ordinal)
		e.State.Filled, e.Latest = 4, 3
		store.memory.budget.Store(store.memory.used() + room)
		cut, ok := e.CutBucket(4, store.opts.GranuleRows)
		if !ok {
			t.Fatal("the bucket is not cut")
		}
		var pending int64
		if store.memory.reserveAtOnce(cut.Size()) {
			pending = cut.Size()
			e.Divide(&cut)
		}
		if pending != want || store.memory.pending.Load() != want {
			t.Errorf("room for %d bytes: %d pending, %d in the account, want %d", room, pending, store.memory.pending.Load(), want)
		}
		if got := e.State.Bytes - state.Bytes; got != catalog.BucketSize+want {
			t.Errorf("room for %d bytes: the table has %d more, want %d", room, got, catalog.BucketSize+want)
		}
		e.Release()
		store.memory.release(pending)
		store.memory.budget.Store(0)
		insert(t, table, pods("a", 4))
		wantBuckets(t, table, "the fourth row", map[int64][]int64{0: {1, 2, 3, 4}, 5: nil})
		if n := store.memory.pending.Load(); n != 0 {
			t.Errorf("%d bytes are pending after the commit", n)
		}
	}
}

// Eviction drops all buckets of a range, and none of a range that stays. The bytes of a range count once.
func TestCut_Drops(t *testing.T) {
	store, table := open(t, Options{FutureLimit: -1, Manual: true, BucketRows: 400, GenerationBuckets: 1, MemoryBudget: 1_500_000}, samples(10))
	for i := range int64(20) { // three batches a range, in two buckets or three
		for n := range int64(3) {
			insert(t, table, heavy(i*10+3*n, 300))
		}
		checkVictims(t, store, table)
		stats := store.Stats()
		if stats.Rows%900 != 0 || stats.Rows+stats.EvictedRows != (i+1)*900 {
			t.Fatalf("after %d ranges: half of one was evicted: %+v", i+1, stats)
		}
	}
	if stats := store.Stats(); stats.EvictedRows == 0 || stats.Rows < 900 {
		t.Fatalf("%+v", stats)
	}
}

// checkVictims compares the eviction candidates with the existing ranges: each once, with the
// bytes of all its rows.
func checkVictims(t *testing.T, store *Store, table *Table) {
	t.Helper()
	want := map[int64]int64{}
	state := store.roots.Root().State.Table(table.ordinal)
	for bound, g := range state.Granules.All() {
		if first := oracle.Floor(bucketOf(table.schema, bound), 10); first < oracle.Floor(state.Newest, 10) {
			want[first] += int64(g.Size())
		}
	}
	got := map[int64]int64{}
	for _, v := range store.memory.evictable(incoming{}) {
		bytes, _ := v.bytes(0)
		got[v.start] += bytes
	}
	if !maps.Equal(got, want) {
		t.Fatalf("bytes of what can be evicted, by range: %v, want %v", got, want)
	}
}
