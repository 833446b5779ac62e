package columnstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
)

// Rows too large for an empty store evict nothing.
func TestMemory_HopelessInsertEvictsNothing(t *testing.T) {
	store, table := tight(t, 20)
	for i := range int64(12) {
		insert(t, table, heavy(i*10, 500))
	}
	before := store.Stats()
	if _, err := table.Insert(t.Context(), heavy(200, 60_000)); !errors.Is(err, ErrMemory) {
		t.Fatal(err)
	}
	if after := store.Stats(); !cmp.Equal(after, before) {
		t.Errorf("a refused insert changed %+v to %+v", before, after)
	}
}

// No room is made for callers that wait to make room themselves.
func TestMemory_RoomIsMadeForOne(t *testing.T) {
	store, table := tight(t, 20)
	for i := range int64(24) {
		insert(t, table, heavy(i*10, 500))
	}
	before := store.Stats()
	const callers, bytes = 64, 50_000
	var wg sync.WaitGroup
	var refused atomic.Int64
	store.memory.making.Lock() // another caller makes room
	room := store.memory.share(evictAt) - store.memory.used()
	store.memory.pending.Add(room)
	for range callers {
		wg.Go(func() {
			if err := store.memory.reserve(bytes, incoming{table: table, start: 230}); err != nil {
				refused.Add(1)
				return
			}
			store.memory.release(bytes)
		})
	}
	time.Sleep(20 * time.Millisecond)
	store.memory.pending.Add(-room)
	store.memory.making.Unlock()
	wg.Wait()
	if after := store.Stats(); refused.Load() > 0 || after.Rows < before.Rows-500*5 {
		t.Errorf("%d reservations of %d bytes, each given back at once: %d refused, %d rows before, %d after",
			callers, bytes, refused.Load(), before.Rows, after.Rows)
	}
}

// long returns a row with a unique label of that many bytes.
func long(at int64, bytes int) (b map[string]encoding.Vector) {
	return map[string]encoding.Vector{
		"kind": encoding.Strings("k"), "labels.pod": encoding.Strings(fmt.Sprint(at, strings.Repeat("x", bytes))),
		"stack": encoding.UUIDLists([]uuid.UUID{{1}}), "time": encoding.Int64s(at), "value": encoding.Int64s(1),
	}
}

// A generation whose dictionaries fill the budget is evicted when rows of the next arrive: the
// store does not stop.
func TestMemory_FullGenerationIsLeftBehind(t *testing.T) {
	store, table := open(t, Options{MemoryBudget: 1 << 20, FutureLimit: -1, Manual: true, GenerationBuckets: 16}, samples(10))
	refused := 0
	for i := range int64(400) { // a row a tick: 160 are a generation
		b := heavy(i, 1)
		b.Columns = long(i, 20_000)
		if _, err := table.Insert(t.Context(), b); errors.Is(err, ErrMemory) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	stats := store.Stats()
	if stats.Rows+stats.EvictedRows+int64(refused) != 400 || stats.Rows == 0 || refused == 0 || refused > 380 {
		t.Errorf("%d refused, %+v", refused, stats)
	}
	b := heavy(480, 1)
	b.Columns = long(480, 20_000)
	insert(t, table, b)
}

// Notes are in the account, and bounded.
func TestMemory_Notes(t *testing.T) {
	store, table := open(t, Options{MemoryBudget: 1 << 20, Manual: true}, samples(0))
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		tx := store.Begin()
		tx.Note(table, fmt.Sprint(n, strings.Repeat("n", 10_000)))
		_, err = tx.Commit()
	}
	stats := store.Stats()
	if !errors.Is(err, ErrLimit) || stats.Bytes() > 1<<17 || stats.Bytes() < 1<<15 || stats.PendingBytes != 0 {
		t.Errorf("%d notes of 10 kB: %v, %+v", n, err, stats)
	}
}

// paused fills a table with `profiles` profiles, begins a scan of a snapshot, and stops after the first
// record.
func paused(t *testing.T, profiles int64) (store *Store, table *Table, stop func()) {
	t.Helper()
	store, table = tight(t, 20)
	for i := range profiles {
		insert(t, table, heavy(i*10, 500))
	}
	snap := snapshot(t, store)
	next, end := iter.Pull2(table.Scan(t.Context(), snap, ScanOptions{Columns: []string{"value"}}))
	rec, err, ok := next()
	if !ok || err != nil {
		t.Fatal(err)
	}
	rec.Release()
	return store, table, func() {
		end()
		snap.Close()
	}
}

// A stalled read costs room, but not the snapshots of others, and not the inserts.
func TestMemory_ReadStandsStill(t *testing.T) {
	store, table, stop := paused(t, 16)
	defer stop()
	expired := 0
	for i := int64(16); i < 200; i++ {
		young := snapshot(t, store) // of a short query
		insert(t, table, heavy(i*10, 500))
		if _, err := countRows(t, table, young); errors.Is(err, ErrSnapshotExpired) {
			expired++
		}
		young.Close()
	}
	stats := store.Stats()
	if expired > 5 || stats.PinnedBytes < stats.Bytes()/4 || stats.Rows < 1000 || stats.Bytes() > store.opts.MemoryBudget {
		t.Errorf("%d of 184 short queries expired, %+v", expired, stats)
	}
	stop()
	if stats := store.Stats(); stats.PinnedBytes != 0 {
		t.Errorf("after the read: %+v", stats)
	}
}

// Long queries, one after the other, evict only the rows that make room for new rows: inserts wait for an
// expired query to end, and do not evict in vain the rows that it holds.
func TestMemory_QuestionsUnderWay(t *testing.T) {
	var asked atomic.Bool
	store, table := open(t, Options{FutureLimit: -1, GenerationBuckets: 1, MemoryBudget: 20 * 150_000, Yield: func(point string) {
		if point == "read/granule" && asked.Load() {
			time.Sleep(2 * time.Millisecond)
		}
	}}, samples(10))
	at := int64(0)
	for ; store.Stats().EvictedRows == 0; at += 10 {
		insert(t, table, heavy(at, 500))
	}
	least := store.Stats().Rows / 2
	asked.Store(true)
	done, ended := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-done:
				ended <- nil
				return
			default:
			}
			if err := store.View(context.Background(), func(snap *Snapshot) error {
				_, err := table.Aggregate(context.Background(), snap, AggregateOptions{Sum: "value"})
				return err
			}); err != nil && !errors.Is(err, ErrSnapshotExpired) {
				ended <- err
				return
			}
		}
	}()
	for end := at + 2000; at < end; at += 10 {
		insert(t, table, heavy(at, 500))
		if rows := store.Stats().Rows; rows < least {
			t.Errorf("%d rows are left, want at least %d", rows, least)
			break
		}
	}
	close(done)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if store.roots.Expired() == 0 {
		t.Error("no question expired: the test shows nothing")
	}
}

// A snapshot that holds nearly everything, most of it dictionaries, expires before rows are
// evicted in vain: eviction would free nothing until the newest rows went.
func TestMemory_LeakedSnapshotOfAll(t *testing.T) {
	store, table := tight(t, 20)
	for i := range int64(80) {
		insert(t, table, heavy(i*10, 500))
	}
	least := store.Stats().Rows * 3 / 4
	snapshot(t, store)
	for i := int64(80); i < 140; i++ {
		insert(t, table, heavy(i*10, 500))
		if stats := store.Stats(); stats.Rows < least {
			t.Fatalf("after %d batches: want at least %d rows, %+v", i+1, least, stats)
		}
	}
	if stats := store.Stats(); stats.Expired != 1 || stats.PinnedBytes != 0 {
		t.Errorf("the snapshot should have expired: %+v", stats)
	}
}

// A leaked snapshot of any size costs a third of the rows at most.
func TestMemory_LeakedSnapshotOfSome(t *testing.T) {
	effort.Alone(t)
	for _, batches := range []int64{2, 4, 6, 10, 14} {
		store, table := tight(t, 20)
		for i := range batches {
			insert(t, table, heavy(i*10, 500))
		}
		snapshot(t, store)
		full := int64(0)
		for i := batches; i < 100; i++ {
			insert(t, table, heavy(i*10, 500))
			stats := store.Stats()
			if stats.EvictedRows > 0 && full == 0 {
				full = i * 500
			}
			if full > 0 && stats.Rows < full*2/3 {
				t.Fatalf("a snapshot of %d batches: %d rows filled the budget, %d are kept after %d batches: %+v", batches, full, stats.Rows, i+1, stats)
			}
		}
	}
}

// A read that is under way when its snapshot expires ends soon. Rows that it holds are not
// evicted for the last sixteenth of the budget, as it would free nothing.
func TestMemory_ReadUnderWay(t *testing.T) {
	store, table, stop := paused(t, 20)
	defer stop()
	i := int64(20)
	for ; store.Stats().EvictedRows == 0 && store.memory.used() <= store.memory.share(evictAt)-150_000; i++ {
		insert(t, table, heavy(i*10, 500))
	}
	next := incoming{table: table, start: i * 10}
	bytes := store.memory.share(evictAt) - store.memory.used() + 50_000
	if err := store.memory.reserve(bytes, next); err != nil {
		t.Fatal(err)
	}
	store.memory.release(bytes)
	if stats := store.Stats(); stats.Expired != 1 || stats.Rows < (i-2)*500 {
		t.Errorf("%d rows inserted, %+v", i*500, stats)
	}
}

// Memory held by a stalled read is not free for others: an insert that would fit without it is
// refused, and accepted when the read has ended.
func TestMemory_HeldByReadIsNoRoom(t *testing.T) {
	store, table, stop := paused(t, 24)
	defer stop()
	bytes, next := store.opts.MemoryBudget/4*3, incoming{table: table, start: 1000}
	if err := store.memory.reserve(bytes, next); !errors.Is(err, ErrMemory) {
		t.Errorf("%v, %+v", err, store.Stats())
	}
	if stats := store.Stats(); stats.PendingBytes != 0 || stats.Bytes() > store.opts.MemoryBudget {
		t.Errorf("after it was refused: %+v", stats)
	}
	stop()
	if err := store.memory.reserve(bytes, next); err != nil {
		t.Error(err)
	}
	store.memory.release(bytes)
}

// The need of an insert is computed for each generation from its own rows, with repeated
// values counted once.
func TestMemory_NeedIsNotCountedTwice(t *testing.T) {
	store, table := open(t, Options{MemoryBudget: 4 << 20, FutureLimit: -1, Manual: true, GenerationBuckets: 1}, samples(10))
	many := heavy(0, 2000)
	times := make([]int64, many.Rows)
	for i := range times {
		times[i] = int64(i % 200)
	}
	many.Columns["time"] = encoding.Int64s(times...)
	insert(t, table, many) // 20 generations
	tags := make([]string, 1000)
	for i := range tags {
		tags[i] = fmt.Sprint(i%2) + strings.Repeat("t", 10_000)
	}
	b := heavy(300, len(tags))
	b.Columns["tags.a"] = encoding.Strings(tags...)
	insert(t, table, b)
	if stats := store.Stats(); stats.Rows != 3000 || stats.EvictedRows != 0 {
		t.Errorf("%+v", stats)
	}
}

// A bucket that closes while one of its granules is split is compacted as a whole.
func TestBucket_ClosesDuringSplit(t *testing.T) {
	var between func()
	store, table := open(t, Options{FutureLimit: -1, Manual: true, GranuleRows: 100, Yield: func(point string) {
		if f := between; point == "maintain/merged" && f != nil {
			between = nil
			f()
		}
	}}, samples(10))
	insert(t, table, heavy(1, 150))
	between = func() {
		b := heavy(1, 150)
		b.Columns["stack"].UUIDLists[0], b.Columns["stack"].UUIDLists[149] = b.Columns["stack"].UUIDLists[149], b.Columns["stack"].UUIDLists[0]
		insert(t, table, b) // to both children
		insert(t, table, at(35))
	}
	if err := store.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	granules := 0
	for _, g := range store.roots.Root().State.Table(table.ordinal).Granules.All() {
		if granules++; g.FreshParts() > 0 && g.Rows() > 1 {
			t.Errorf("granule %d of a closed bucket has %d fresh parts", granules, g.FreshParts())
		}
	}
	if granules < 3 {
		t.Errorf("%d granules: nothing was split", granules)
	}
}
