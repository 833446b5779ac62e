package columnstore

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/querytest"
)

func wantBuckets(t *testing.T, store *Store, table *Table, when string, want map[int64][]int64) {
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
		store.memory.budget = store.used() + room
		cut, ok := e.CutBucket(4, store.opts.GranuleRows)
		if !ok {
			t.Fatal("the bucket is not cut")
		}
		var pending int64
		if store.reserveAtOnce(cut.Size()) {
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
		store.release(pending)
		store.memory.budget = 0
		insert(t, table, pods("a", 4))
		wantBuckets(t, store, table, "the fourth row", map[int64][]int64{0: {1, 2, 3, 4}, 5: nil})
		if n := store.memory.pending.Load(); n != 0 {
			t.Errorf("%d bytes are pending after the commit", n)
		}
	}
}

// A new bucket begins with granules whose bounds are those of the bucket before, and the
// granules of the old bucket are compacted once.
func TestCut_Granules(t *testing.T) {
	store, table := open(t, Options{FutureLimit: -1, Manual: true, BucketRows: 200, GranuleRows: 20, FreshParts: 100, MaxParts: 100}, samples(1000))
	for n := range 199 {
		insert(t, table, pods(fmt.Sprint("pod", n%20), int64(n)))
		if n%40 == 39 {
			compact(t, store)
		}
	}
	granules := func() (bounds []map[string]bool, fresh []int) {
		last := int64(-1)
		for bound, g := range store.roots.Root().State.Table(table.ordinal).Granules.All() {
			if start := bucketOf(table.schema, bound); start != last {
				bounds, fresh, last = append(bounds, map[string]bool{}), append(fresh, 0), start
			}
			bounds[len(bounds)-1][bound[8:]] = true
			fresh[len(fresh)-1] += g.FreshParts()
		}
		return bounds, fresh
	}
	bounds, fresh := granules()
	if len(bounds) != 1 || len(bounds[0]) < 5 || fresh[0] != 39 {
		t.Fatalf("before the cut: %d buckets, granules %d, fresh parts %v", len(bounds), len(bounds[0]), fresh)
	}
	insert(t, table, pods("pod0", 199))
	if err := store.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	bounds, fresh = granules()
	if len(bounds) != 2 || len(bounds[1]) < 3 || fresh[0] != 0 {
		t.Fatalf("after the cut: %d buckets, granules %d and %d, fresh parts %v", len(bounds), len(bounds[0]), len(bounds[1]), fresh)
	}
	for bound := range bounds[1] {
		if !bounds[0][bound] {
			t.Errorf("a granule begins at %q, which none of the bucket before does", bound)
		}
	}
	insert(t, table, pods("pod3", 7)) // late
	if err := store.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, fresh = granules(); fresh[0] != 1 {
		t.Errorf("after a late row: fresh parts %v", fresh)
	}
	for info, err := range table.Inspect(t.Context(), snapshot(t, store)) {
		if err != nil || info.Parts == nil || info.Rows == 0 && len(info.Parts) > 0 {
			t.Errorf("granule %+v, %v", info, err)
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
	for _, v := range store.evictable(incoming{}) {
		bytes, _ := v.bytes(0)
		got[v.start] += bytes
	}
	if !maps.Equal(got, want) {
		t.Fatalf("bytes of what can be evicted, by range: %v, want %v", got, want)
	}
}
