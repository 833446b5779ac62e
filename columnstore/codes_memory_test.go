package columnstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// newIDs returns ids that are unique among all calls with the same rng.
func newIDs(rng *rand.Rand, n int) []uuid.UUID {
	ids := make([]uuid.UUID, n)
	for i := range ids {
		binary.LittleEndian.PutUint64(ids[i][:8], rng.Uint64())
		binary.LittleEndian.PutUint64(ids[i][8:], rng.Uint64())
	}
	return ids
}

// Interning new values, in any way, counts in the budget, never exceeds it, and is refused
// instead. Known values cost nothing even then (C9).
func TestCodes_Budget(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 3))
		budget := int64(100_000 + rng.IntN(400_000))
		store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1, MemoryBudget: budget}, samples(10))
		codes, err := table.Codes(0)
		if err != nil {
			t.Fatal(err)
		}
		known := codedRow(t, codes, 1)
		refused := 0
		for step := 0; refused < 5 && step < 100_000; step++ {
			before, size := store.Stats(), codes.gen.Load().Size()
			err := internSome(rng, codes)
			after := store.Stats()
			switch {
			case errors.Is(err, ErrMemory):
				refused++
				if grown := codes.gen.Load().Size() - size; grown != 0 || !cmp.Equal(before, after) {
					t.Errorf("seed %d, step %d: refused, but dictionaries grew by %d: %+v, then %+v", seed, step, grown, before, after)
				}
			case err != nil:
				t.Fatal(err)
			}
			if used := store.memory.used(); used > budget || after.PendingBytes != 0 || store.memory.dicts.Load() != int64(codes.gen.Load().Size()) {
				t.Fatalf("seed %d, step %d: %d bytes of %d are used, %+v; dictionaries have %d", seed, step, used, budget, after, codes.gen.Load().Size())
			}
		}
		if refused < 5 {
			t.Errorf("seed %d: %d bytes are used of %d, and nothing was refused", seed, store.memory.used(), budget)
		}
		if again := codedRow(t, codes, 1); again.Series != known.Series || again.Columns["stack"].Codes[0] != known.Columns["stack"].Codes[0] {
			t.Errorf("seed %d: what is known has other codes", seed)
		}
		if stats := store.Stats(); stats.Rows != 0 || stats.EvictedRows != 0 || len(columnNames(t, store, table)) != 5 {
			t.Errorf("seed %d: interning alone shows: %+v", seed, stats)
		}
	}
}

// internSome interns a few new values of one kind.
func internSome(rng *rand.Rand, codes *Codes) error {
	ids := newIDs(rng, 1+rng.IntN(40))
	switch rng.IntN(4) {
	case 0:
		_, err := codes.Series(map[string]string{"kind": fmt.Sprint(ids[0]), "labels." + ids[0].String(): string(make([]byte, rng.IntN(2000)))})
		return err
	case 1:
		records := make([][]byte, len(ids))
		for i := range records {
			records[i] = make([]byte, rng.IntN(200))
		}
		_, err := codes.Elements(nil, ids, records)
		return err
	case 2:
		_, err := codes.UUIDLists(nil, [][]uuid.UUID{ids, ids[:1], ids[rng.IntN(len(ids)):]})
		return err
	}
	lists := make([][]uint32, len(ids))
	for i := range lists {
		lists[i] = []uint32{1}
		for range rng.IntN(20) {
			lists[i] = append(lists[i], 1+uint32(rng.IntN(codes.gen.Load().Lists.Elements())))
		}
	}
	_, err := codes.Lists(nil, lists)
	return err
}

// Interning for newer times makes room like inserts: the oldest buckets are evicted with their
// dictionaries, whose codes are refused from then on.
func TestCodes_InterningEvicts(t *testing.T) {
	store, table := tight(t, 6)
	rng := rand.New(rand.NewPCG(1, 1))
	var first *Codes
	var row schema.Batch
	for bucket := range int64(25) {
		codes, err := table.Codes(bucket * 10)
		if err != nil {
			t.Fatal(err)
		}
		lists := make([][]uuid.UUID, 500)
		for i := range lists {
			lists[i] = newIDs(rng, 2)
		}
		stacks, err := codes.UUIDLists(nil, lists)
		if err != nil {
			t.Fatalf("bucket %d: %v", bucket, err)
		}
		b := codedRow(t, codes, bucket*10)
		b.Rows, b.Columns["stack"] = 500, encoding.ListCodes(stacks...)
		if _, err := codes.Insert(t.Context(), b); err != nil {
			t.Fatalf("bucket %d: %v", bucket, err)
		}
		if first == nil {
			first, row = codes, codedRow(t, codes, 0)
		}
		if stats := store.Stats(); stats.Rows+stats.EvictedRows != 500*(bucket+1) || stats.Bytes() > store.opts.MemoryBudget {
			t.Fatalf("bucket %d: %+v", bucket, stats)
		}
	}
	if stats := store.Stats(); stats.EvictedRows == 0 {
		t.Fatalf("%+v", stats)
	}
	_, err := first.Insert(t.Context(), row)
	wantError(t, err, ErrTooOld, "kept from")
}

// A batch refused for lack of memory leaves nothing but entries of dictionaries.
func TestCodes_Refused(t *testing.T) {
	store, table := tight(t, 3)
	codes, err := table.Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	b := codedRow(t, codes, 1)
	if b.Series, err = codes.Series(map[string]string{"kind": "cpu", "labels.secret": "s"}); err != nil {
		t.Fatal(err)
	}
	before := stateOf(t, store, table)
	b.Rows = 1 << 20
	values := make([]int64, b.Rows)
	for i := range values {
		values[i] = int64(i) << 20 // wide values: the part alone exceeds the budget
	}
	b.Columns["value"] = encoding.Int64s(values...)
	for range 3 {
		_, err = codes.Insert(t.Context(), b)
		wantError(t, err, ErrMemory, `table "samples"`)
	}
	before.check(t, store, table)
}

// Several goroutines intern equal and different values and insert their rows, while the
// maintainer compacts and splits and others read. Each row survives, and no value has two
// codes.
func TestCodes_Concurrent(t *testing.T) {
	const writers, inserts, rows = 4, 60, 25
	store, table := open(t, Options{GranuleRows: 200, FreshParts: 2, MaxParts: 4, FutureLimit: -1, GenerationBuckets: 2}, samples(100))
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	var sums [writers]map[string]int64
	for w := range writers {
		sums[w] = map[string]int64{}
		writing.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 17))
			for range inserts {
				if err := writeCoded(rng, table, int64(rng.IntN(1000)), 0, sums[w], rows); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			for !done.Load() {
				look(t, store, table)
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
	want := map[string]int64{}
	for _, s := range sums {
		for key, sum := range s {
			want[key] += sum
		}
	}
	got := map[string]int64{}
	for row := range scanRows(t, table, snapshot(t, store), ScanOptions{}) {
		got[codedKey(row["labels.pod"], row["stack"], row["time"])] += row["value"].(int64)
	}
	for key, sum := range want {
		if got[key] != sum {
			t.Errorf("%s sums to %d, want %d", key, got[key], sum)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d different rows, want %d", len(got), len(want))
	}
	for _, g := range table.generations.All() {
		if g.Lists.Elements() > 12 || g.Series.Len() > 5 {
			t.Errorf("generation %d has %d elements and %d series, want at most 12 and 5", g.Number, g.Lists.Elements(), g.Series.Len())
		}
	}
}

func codedKey(pod, stack, at any) string { return fmt.Sprint(pod, stack, at) }

// writeCoded inserts rows by codes that other goroutines intern at the same time, and adds
// their values to sums. Each era has elements of its own.
func writeCoded(rng *rand.Rand, table *Table, at, era int64, sums map[string]int64, rows int) error {
	codes, err := table.Codes(at)
	if err != nil {
		return err
	}
	pod := fmt.Sprint("pod-", rng.IntN(5))
	series, err := codes.Series(map[string]string{"kind": "cpu", "labels.pod": pod})
	if err != nil {
		return err
	}
	lists, values := make([][]uuid.UUID, rows), make([]int64, rows)
	for i := range lists {
		for range rng.IntN(3) {
			lists[i] = append(lists[i], uuid.UUID{byte(rng.IntN(12)), byte(era), byte(era >> 8)})
		}
		values[i] = int64(rng.IntN(100))
		sums[codedKey(pod, lists[i], at)] += values[i]
	}
	stacks, err := internLists(codes, lists, rng.IntN(2) == 0)
	if err != nil {
		return err
	}
	_, err = codes.Insert(context.Background(), schema.Batch{Rows: rows, Series: series, Columns: map[string]encoding.Vector{
		"stack": encoding.ListCodes(stacks...), "time": encoding.Int64s(at), "value": encoding.Int64s(values...),
	}})
	return err
}

// Writers by codes run beside eviction with real threads. Late writers get an error, and codes from one
// generation are never mixed with dictionaries from another.
func TestCodes_EvictionUnderLoad(t *testing.T) {
	_, table := open(t, Options{FutureLimit: -1, GenerationBuckets: 1, MemoryBudget: 600_000}, samples(10))
	var wg sync.WaitGroup
	var clock, late, kept atomic.Int64
	end := time.Now().Add(effort.Less(time.Second, 5))
	for w := range 4 {
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("panic: %v", r)
				}
			}()
			rng := rand.New(rand.NewPCG(uint64(w), 5))
			for time.Now().Before(end) {
				now := clock.Add(1)
				switch err := writeCoded(rng, table, now-int64(rng.IntN(400)), now, map[string]int64{}, 100); { // some are late
				case errors.Is(err, ErrTooOld), errors.Is(err, ErrMemory):
					late.Add(1)
				case err != nil:
					t.Error(err)
				default:
					kept.Add(1)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d kept, %d too late", kept.Load(), late.Load())
}
