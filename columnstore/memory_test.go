package columnstore

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
)

// tight opens a store whose budget is that of n heavy batches of 500 rows, each in a
// bucket and a generation of its own, and a little more.
func tight(t *testing.T, n int64) (*Store, *Table) {
	t.Helper()
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1, MemoryBudget: n * 150_000}, samples(10))
	return store, table
}

func countRows(t *testing.T, table *Table, snap *Snapshot) (int64, error) {
	t.Helper()
	g, err := table.Aggregate(t.Context(), snap, AggregateOptions{Sum: "value"})
	if err != nil || len(g.Sums) == 0 {
		return 0, err
	}
	return g.Sums[0], nil
}

// The oldest buckets are evicted whole, and late rows for them are refused.
func TestEviction(t *testing.T) {
	store, table := tight(t, 6)
	for i := range int64(20) {
		insert(t, table, heavy(i*10, 500))
		stats := store.Stats()
		if stats.Rows+stats.EvictedRows != (i+1)*500 || stats.Bytes() > store.opts.MemoryBudget {
			t.Fatalf("after %d batches: %+v", i+1, stats)
		}
	}
	stats := store.Stats()
	if stats.EvictedRows == 0 || stats.Rows < 1000 || stats.Expired != 0 {
		t.Fatalf("%+v", stats)
	}
	if rows, err := countRows(t, table, snapshot(t, store)); rows != stats.Rows || err != nil {
		t.Errorf("%d rows can be read, %d are there: %v", rows, stats.Rows, err)
	}
	kept := (20 - stats.Rows/500) * 10
	if !stats.Oldest.Equal(time.Unix(0, kept)) {
		t.Errorf("rows are kept from %v, want %v", stats.Oldest, time.Unix(0, kept))
	}
	if _, err := table.Insert(t.Context(), heavy(kept-1, 1)); !errors.Is(err, ErrTooOld) {
		t.Errorf("a row of an evicted bucket: %v", err)
	}
	insert(t, table, heavy(kept, 1)) // late, but its bucket still exists
}

// One eviction drops one time range, not the ranges that share its dictionaries. The
// dictionaries go with the last of them.
func TestEviction_RangeByRange(t *testing.T) {
	effort.Alone(t)
	const ranges = 16
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: ranges, MemoryBudget: 1 << 20}, samples(10))
	full := heavy(0, 500)
	floor := int64(math.MinInt64)
	steps := 0
	for i := range int64(200 * ranges) { // 20 batches a range
		full.Columns["time"] = encoding.Int64s(i / 20 * 10)
		before := store.Stats()
		insert(t, table, full)
		now, after := table.floor(), store.Stats()
		if now == floor {
			continue
		}
		if i%(20*ranges) == 0 { // the dictionaries of a new generation need the room of several ranges
			floor = now
			continue
		}
		if floor > math.MinInt64 && now-floor != 10 {
			t.Errorf("insert %d raised the floor from %d to %d: %+v", i, floor, now, after)
		}
		last := now%(10*ranges) == 0 // of a generation
		if dropped := before.Stacks - after.Stacks; dropped != 0 && !last {
			t.Errorf("the floor %d is within a generation, but %d stacks were dropped", now, dropped)
		}
		floor = now
		steps++
	}
	if steps < 2*ranges {
		t.Errorf("%d ranges were evicted, want at least %d", steps, 2*ranges)
	}
}

// Rows too large for the budget are refused and leave nothing, even when they are refused
// repeatedly.
func TestMemory_Refused(t *testing.T) {
	effort.Slow(t)
	effort.Alone(t)
	store, table := tight(t, 7)
	insert(t, table, heavy(1, 500))
	before, big := store.Stats(), heavy(2, 20_000)
	for range 100 {
		if _, err := table.Insert(t.Context(), big); !errors.Is(err, ErrMemory) {
			t.Fatalf("20,000 new stacks in a budget of %d: %v", store.opts.MemoryBudget, err)
		}
	}
	if after := store.Stats(); !cmp.Equal(after, before) {
		t.Errorf("refused inserts changed %+v to %+v", before, after)
	}
	// Without a time bucket nothing can be evicted: the store fills, and returns ErrMemory.
	plain, err := store.CreateTable("plain", samples(0))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range int64(20) {
		if _, err := plain.Insert(t.Context(), heavy(i, 500)); errors.Is(err, ErrMemory) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if stats := store.Stats(); refused == 0 || refused == 20 || stats.Bytes() > store.opts.MemoryBudget {
		t.Errorf("%d of 20 refused, %+v", refused, stats)
	}
}

// An open transaction counts, and its memory is released when it ends.
func TestMemory_OpenTransaction(t *testing.T) {
	store, table := tight(t, 8)
	tx := store.Begin()
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = tx.Insert(t.Context(), table, heavy(1, 500)) // the same stacks: parts only
	}
	if !errors.Is(err, ErrMemory) {
		t.Fatalf("%d inserts of one transaction: %v", n, err)
	}
	tx.Abort()
	if stats := store.Stats(); stats.PendingBytes != 0 {
		t.Errorf("after an abort: %+v", stats)
	}
	insert(t, table, heavy(1, 500))
}

// A long-lived snapshot keeps its rows while others are evicted. When it holds a quarter of
// the budget it expires, a scan of it ends, and its bytes are released.
func TestExpiry(t *testing.T) {
	store, table := tight(t, 6)
	insert(t, table, heavy(0, 500))
	small := snapshot(t, store)
	for i := int64(1); i < 30; i++ {
		insert(t, table, heavy(i*10, 500))
	}
	if rows, err := countRows(t, table, small); rows != 500 || err != nil {
		t.Errorf("the snapshot of 500 rows: %d, %v", rows, err)
	}
	if stats := store.Stats(); stats.PinnedBytes == 0 || stats.Expired != 0 || stats.EvictedRows == 0 {
		t.Errorf("with a snapshot of one bucket: %+v", stats)
	}
	large := snapshot(t, store)
	scan := table.Scan(t.Context(), large, ScanOptions{Columns: []string{"value"}})
	records, failed := 0, error(nil)
	for rec, err := range scan {
		if failed = err; err != nil {
			break
		}
		rec.Release()
		if records++; records == 1 { // the scan is in the middle
			// The scan holds its current part until it moves on. The rest is little.
			for i := int64(30); i < 60; i++ {
				insert(t, table, heavy(i*10, 500))
			}
			if stats := store.Stats(); stats.Expired == 0 || stats.PinnedBytes < stats.Bytes()/2 || stats.Bytes() > store.opts.MemoryBudget {
				t.Errorf("while a scan stands still: %+v", stats)
			}
		}
	}
	if !errors.Is(failed, ErrSnapshotExpired) || records == 0 {
		t.Errorf("a scan of a snapshot that expired under it: %v after %d records", failed, records)
	}
	for name, read := range map[string]func() error{
		"scan": func() error {
			for _, err := range table.Scan(t.Context(), large, ScanOptions{}) {
				return err
			}
			return nil
		},
		"aggregate": func() error { _, err := countRows(t, table, large); return err },
		"series":    func() error { _, err := table.Series(t.Context(), large, between(0, 1)); return err },
		"columns":   func() error { _, err := table.Columns(large); return err },
		"notes":     func() error { _, err := table.Notes(large); return err },
		"inspect": func() error {
			for _, err := range table.Inspect(t.Context(), large) {
				return err
			}
			return nil
		},
	} {
		if err := read(); !errors.Is(err, ErrSnapshotExpired) {
			t.Errorf("%s of an expired snapshot: %v", name, err)
		}
	}
	insert(t, table, heavy(600, 500)) // the scan has ended
	small.Close()
	large.Close()
	if stats := store.Stats(); stats.PinnedBytes != 0 || stats.Expired == 0 {
		t.Errorf("after the snapshots were closed: %+v", stats)
	}
}

// Inserts into a granule with too many fresh parts rewrite it themselves.
func TestMaintenance_InsertsHelp(t *testing.T) {
	const maxParts = 4
	var slow atomic.Bool
	release := make(chan struct{})
	store, table := open(t, Options{GranuleRows: 100, FreshParts: 2, MaxParts: maxParts, FutureLimit: -1, Yield: func(point string) {
		if point == "maintain/merged" && slow.CompareAndSwap(false, true) {
			select { // the first rewrite does not end, be it the maintainer's or an insert's
			case <-release:
			case <-time.After(effort.Less(time.Second, 5)):
			}
		}
	}}, samples(0))
	defer close(release)
	most := 0
	for i := range 200 {
		insert(t, table, heavy(int64(i), 3))
		for _, g := range store.roots.Root().State.Table(table.ordinal).Granules.All() {
			most = max(most, g.FreshParts())
		}
	}
	if most > 2*maxParts+1 {
		t.Errorf("a granule had %d fresh parts, inserts should help from %d on", most, 2*maxParts)
	}
}

// A budget has a minimum, and sets the size of granules.
func TestMemoryBudget_Options(t *testing.T) {
	for _, opts := range []Options{{MemoryBudget: -1}, {GenerationBuckets: -1}, {GranuleBytes: -1}} {
		if _, err := Open(opts); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
	defer func(least int64) { leastBudget = least }(leastBudget)
	leastBudget = 1 << 20
	if _, err := Open(Options{MemoryBudget: 1<<20 - 1}); !errors.Is(err, ErrOptions) {
		t.Errorf("a budget below 1 MiB: %v", err)
	}
	for budget, rows := range map[int64]int{0: 65536, 1 << 20: 256, 64 << 20: 16384, 1 << 40: 65536} {
		if opts, err := (Options{MemoryBudget: budget}).withDefaults(); err != nil || opts.GranuleRows != rows {
			t.Errorf("budget %d: granules of %d rows, %v, want %d", budget, opts.GranuleRows, err, rows)
		}
	}
	got := []int64{}
	for _, o := range []Options{{}, {GenerationBuckets: 3}, {Retention: time.Hour}, {Retention: 20 * time.Minute}, {Retention: 1000 * time.Hour}} {
		got = append(got, o.generationBuckets(int64(time.Minute)))
	}
	if want := []int64{16, 3, 15, 5, 16}; !slices.Equal(got, want) {
		t.Errorf("generations of %v buckets, want %v", got, want)
	}
	if n := (&Options{Retention: time.Minute}).generationBuckets(int64(time.Hour)); n != 1 {
		t.Errorf("a generation of %d buckets, want 1", n)
	}
}
