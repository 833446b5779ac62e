package columnstore

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
)

// pods makes a row for each time, all of one pod.
func pods(pod string, times ...int64) schema.Batch {
	stacks, values := make([][]uuid.UUID, len(times)), make([]int64, len(times))
	for i, at := range times {
		stacks[i], values[i] = []uuid.UUID{{byte(at % 3)}}, 1
	}
	return schema.Batch{Rows: len(times), Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("k"), "labels.pod": encoding.Strings(pod), "stack": encoding.UUIDLists(stacks...),
		"time": encoding.Int64s(times...), "value": encoding.Int64s(values...),
	}}
}

// rowsByBucket returns the sorted times of the rows of each bucket with rows.
func rowsByBucket(t *testing.T, store *Store, table *Table) map[int64][]int64 {
	t.Helper()
	out := map[int64][]int64{}
	state := store.roots.Root().State.Table(table.ordinal)
	for _, b := range state.Buckets.All() {
		out[b.Start] = nil
	}
	for bound, g := range state.Granules.All() {
		start := bucketOf(table.schema, bound)
		column := slices.IndexFunc(table.schema.Columns(), func(c schema.Column) bool { return c.Name == "time" })
		for _, s := range g.Sections() {
			for _, c := range s.Part.Columns() {
				if c.Index == column {
					for _, w := range c.Words().Append(nil, s.Lo, s.Hi) {
						out[start] = append(out[start], encoding.ToInt64(w))
					}
				}
			}
		}
	}
	for _, times := range out {
		slices.Sort(times)
	}
	return out
}

func wantBuckets(t *testing.T, store *Store, table *Table, when string, want map[int64][]int64) {
	t.Helper()
	if got := rowsByBucket(t, store, table); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%s: rows by bucket %v, want %v", when, got, want)
	}
}

// A bucket with enough rows is cut behind the newest row of the commit. Later rows go to the
// new bucket, late rows to the bucket of their time, and rows inserted before the cut to the
// bucket of their insertion.
func TestCut(t *testing.T) {
	store, table := open(t, Options{FutureLimit: -1, Manual: true, BucketRows: 4}, samples(100))
	before := store.Begin()
	if err := before.Insert(t.Context(), table, pods("early", 1, 50)); err != nil {
		t.Fatal(err)
	}
	insert(t, table, pods("a", 90)) // from a clock ahead: it does not decide the place of the cut
	insert(t, table, pods("a", 10, 20))
	wantBuckets(t, store, table, "three rows", map[int64][]int64{0: {10, 20, 90}})
	insert(t, table, pods("a", 30))
	wantBuckets(t, store, table, "the fourth", map[int64][]int64{0: {10, 20, 30, 90}, 31: nil})
	insert(t, table, pods("a", 31, 30, 99))
	wantBuckets(t, store, table, "after the cut", map[int64][]int64{0: {10, 20, 30, 30, 90}, 31: {31, 99}})
	if _, err := before.Commit(); err != nil { // five since the cut: the next is behind 50
		t.Fatal(err)
	}
	wantBuckets(t, store, table, "inserted before the cut", map[int64][]int64{0: {1, 10, 20, 30, 30, 50, 90}, 31: {31, 99}, 51: nil})
	insert(t, table, pods("b", 49, 51, 100, 205))
	wantBuckets(t, store, table, "other ranges", map[int64][]int64{0: {1, 10, 20, 30, 30, 50, 90}, 31: {31, 49, 99}, 51: {51}, 100: {100}, 200: {205}})
	insert(t, table, pods("b", 1, 2, 3, 4, 5, 60)) // not the newest range: no cut
	insert(t, table, pods("b", 299, 298, 297))     // no bucket begins behind 299 in its range
	wantBuckets(t, store, table, "ranges that are not cut", map[int64][]int64{
		0: {1, 1, 2, 3, 4, 5, 10, 20, 30, 30, 50, 90}, 31: {31, 49, 99}, 51: {51, 60}, 100: {100}, 200: {205, 297, 298, 299},
	})
	compact(t, store)
	checkRange(t, store, table, 40, 60, 3)
	checkRange(t, store, table, 90, 100, 2)
	checkRange(t, store, table, math.MinInt64, 31, 10)
}

// The number of series of the newest bucket follows its rows.
func TestCut_Series(t *testing.T) {
	store, table := open(t, Options{FutureLimit: -1, Manual: true, BucketRows: 5}, samples(100))
	wantSeries := func(when string, want int) {
		t.Helper()
		if got := store.roots.Root().State.Table(table.ordinal).Series; got != want {
			t.Errorf("%s: %d series, want %d", when, got, want)
		}
	}
	insert(t, table, pods("a", 110, 111))
	insert(t, table, pods("b", 112))
	wantSeries("two of the range", 2)
	insert(t, table, pods("c", 50)) // in an older bucket
	wantSeries("a third in an older range", 2)
	insert(t, table, pods("a", 113, 114))
	wantSeries("cut", 0)
	insert(t, table, pods("b", 115))
	insert(t, table, pods("d", 101))
	wantSeries("after the cut", 1)
	insert(t, table, pods("a", 230))
	wantSeries("another range", 1)
}

// Queries about later times skip a bucket that was cut, until later rows are added to it.
func TestCut_Late(t *testing.T) {
	store, table := open(t, Options{FutureLimit: -1, Manual: true, BucketRows: 4}, samples(100))
	early := store.Begin()
	if err := early.Insert(t.Context(), table, pods("early", 60)); err != nil {
		t.Fatal(err)
	}
	insert(t, table, pods("a", 10, 20, 30, 31))
	insert(t, table, pods("a", 32, 50))
	wantFrom := func(when string, lo int64, want ...int64) {
		t.Helper()
		var got []int64
		for b := range table.state().BucketsOf(lo, math.MaxInt64) {
			got = append(got, b.Start)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: a question from %d on looks at buckets %v, want %v", when, lo, got, want)
		}
	}
	wantFrom("cut", 31, 0, 32)
	wantFrom("cut", 32, 32)
	if _, err := early.Commit(); err != nil {
		t.Fatal(err)
	}
	wantFrom("a later row", 60, 0, 32)
	wantFrom("a later row", 61, 32)
	checkRange(t, store, table, 32, 100, 3)
	insert(t, table, pods("a", 5)) // not later
	wantFrom("an earlier row", 61, 32)
	compact(t, store)
	checkRange(t, store, table, 40, 100, 2)
	checkRange(t, store, table, 60, 61, 1)
}

// The bucket of a time is found after any earlier lookups, also in ranges without a bucket and
// with more buckets than are cached.
func TestCut_Finder(t *testing.T) {
	_, table := open(t, Options{FutureLimit: -1, Manual: true, BucketRows: 1}, samples(10_000))
	for _, at := range []int64{math.MinInt64, math.MinInt64 + 5, -10_000, -9_999, 7} {
		insert(t, table, pods("a", at))
	}
	for at := int64(20_000); at < 20_000+3*catalog.MaxBuckets; at += 2 {
		insert(t, table, pods("a", at))
	}
	state := table.store.roots.Root().State.Table(table.ordinal)
	var starts []int64
	for _, b := range state.Buckets.All() {
		starts = append(starts, b.Start)
	}
	if len(starts) < catalog.MaxBuckets+100 {
		t.Fatalf("%d buckets", len(starts))
	}
	rng := rand.New(rand.NewPCG(1, 7))
	find := table.state().FindBuckets()
	for range 20_000 {
		at := rng.Int64N(45_000) - 15_000
		switch rng.IntN(16) {
		case 0:
			at = math.MinInt64 + rng.Int64N(20_000)
		case 1:
			at = math.MaxInt64 - rng.Int64N(20_000)
		case 2:
			at = starts[rng.IntN(len(starts))] + rng.Int64N(2)
		}
		want := table.schema.BucketStart(at)
		for _, start := range starts {
			if want < start && start <= at {
				want = start
			}
		}
		if got := find.At(at); got != want {
			t.Fatalf("the bucket of %d begins at %d, want %d", at, got, want)
		}
	}
	// An insert of late rows visits few buckets, however many the range has.
	late := func() {
		find := table.state().FindBuckets()
		find.At(20_000)
	}
	if n := testing.AllocsPerRun(100, late); n > 8 {
		t.Errorf("%v allocations for a late row", n)
	}
}

// A new bucket's granules are reserved before they are in the root, and not made if the budget has no
// room.
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

// checkRange counts the rows of times [lo, hi) by Scan and by Aggregate.
func checkRange(t *testing.T, store *Store, table *Table, lo, hi int64, want int64) {
	t.Helper()
	snap := snapshot(t, store)
	g, err := table.Aggregate(t.Context(), snap, AggregateOptions{Sum: "value", Where: between(lo, hi)})
	if err != nil || len(g.Sums) != 1 || g.Sums[0] != want {
		t.Errorf("sum of [%d, %d): %+v, %v; want %d", lo, hi, g, err, want)
	}
	if got := len(slices.Collect(scanRows(t, table, snap, ScanOptions{Where: between(lo, hi)}))); int64(got) != want {
		t.Errorf("scan of [%d, %d): %d rows, want %d", lo, hi, got, want)
	}
}

// There are no cuts where they are impossible or turned off.
func TestCut_Never(t *testing.T) {
	for name, tc := range map[string]struct {
		opts  Options
		width int64
		times []int64
		want  int // buckets
	}{
		"negative":          {Options{BucketRows: -1}, 100, []int64{1, 2, 3, 4}, 1},
		"the default":       {Options{}, 100, []int64{1, 2, 3, 4}, 1},
		"no buckets":        {Options{BucketRows: 1}, 0, []int64{1, 2, 3, 4}, 1},
		"one time":          {Options{BucketRows: 1}, 100, []int64{1, 1, 1, 1}, 2},
		"buckets of a time": {Options{BucketRows: 1}, 1, []int64{1, 2, 3, 4}, 4},
		"the last time":     {Options{BucketRows: 1}, 100, []int64{math.MaxInt64, math.MaxInt64}, 1},
		"the first time":    {Options{BucketRows: 1}, 100, []int64{math.MinInt64, math.MinInt64 + 1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			tc.opts.Manual, tc.opts.FutureLimit = true, -1
			store, table := open(t, tc.opts, samples(tc.width))
			for _, at := range tc.times {
				insert(t, table, pods("a", at))
			}
			got := rowsByBucket(t, store, table)
			rows := 0
			for _, times := range got {
				rows += len(times)
			}
			if len(got) != tc.want || rows != len(tc.times) {
				t.Errorf("buckets %v, want %d", got, tc.want)
			}
		})
	}
}

// A new bucket begins with granules that have the bounds of the previous bucket, and the old bucket's
// granules are compacted once.
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

// Retention and eviction drop all buckets of a dropped range, and no bucket of another range. So do
// floors. The bytes of a range count once.
func TestCut_Drops(t *testing.T) {
	t.Run("retention", func(t *testing.T) {
		store, table := open(t, Options{FutureLimit: -1, Manual: true, BucketRows: 2, Retention: 15}, samples(10))
		insert(t, table, pods("a", 1, 2))
		insert(t, table, pods("a", 5, 6))
		insert(t, table, pods("a", 3, 9, 11, 12))
		insert(t, table, pods("a", 14))
		want := map[int64][]int64{0: {1, 2}, 3: {3, 5, 6}, 7: {9}, 10: {11, 12}, 13: {14}}
		wantBuckets(t, store, table, "five buckets", want)
		insert(t, table, pods("a", 24)) // 24-15 = 9: a time of the range that ends at 10 is kept
		want[20] = []int64{24}
		wantBuckets(t, store, table, "all are kept", want)
		late := store.Begin()
		if err := late.Insert(t.Context(), table, pods("a", 8)); err != nil {
			t.Fatal(err)
		}
		insert(t, table, pods("a", 25)) // fills the bucket of 20 too
		wantBuckets(t, store, table, "a range is dropped", map[int64][]int64{10: {11, 12}, 13: {14}, 20: {24, 25}, 26: nil})
		if _, err := late.Commit(); !errors.Is(err, ErrTooOld) {
			t.Errorf("a row of a bucket that was dropped: %v", err)
		}
		if _, err := table.Insert(t.Context(), pods("a", 9)); !errors.Is(err, ErrTooOld) {
			t.Errorf("a row of the last time that was dropped: %v", err)
		}
		checkRange(t, store, table, math.MinInt64, math.MaxInt64, 5)
		if stats := store.Stats(); stats.Rows != 5 || stats.DroppedRows != 6 {
			t.Errorf("%+v", stats)
		}
	})
	t.Run("eviction", func(t *testing.T) {
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
	})
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
