package columnstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/effort"
)

// writeStates changes some of 100 attributes at each instant of [from, to), in one transaction or
// several.
func writeStates(t testing.TB, store *Store, h *History, from, to int64, each int) {
	t.Helper()
	for at := from; at < to; {
		tx := store.Begin()
		w := writerOf(t, tx, h)
		for i := 0; i < 20_000 && at < to; at++ {
			for range each {
				change(t, w, at, "a"+strconv.FormatInt((at*int64(each)+int64(i))%100, 10), history.Int(at*7919%65_521))
				i++
			}
		}
		commit(t, tx)
	}
}

// A history that does not change any more loses its old states before rows of later times go,
// closed or not. The latest states stay, and views that are held.
func TestHistory_IdleIsEvicted(t *testing.T) {
	if effort.Race {
		t.Skip("one goroutine inserts")
	}
	const budget = 4 << 20
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprint("closed=", closed), func(t *testing.T) {
			before := heap()
			store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1, MemoryBudget: budget}, samples(10))
			h := createHistory(t, store, HistoryOptions{})
			writeStates(t, store, h, 0, 5000, 100)
			if closed {
				tx := store.Begin()
				if err := writerOf(t, tx, h).Close(5000); err != nil {
					t.Fatal(err)
				}
				commit(t, tx)
			}
			full := store.Stats().HistoryBytes
			old := viewOf(t, store, h)
			states := map[int64]string{}
			for at := int64(0); at < 5000; at += 500 {
				states[at] = stateText(old, "a7", at)
			}
			evicted, rows := false, int64(0)
			for i := range int64(100) {
				insert(t, table, heavy(5010+10*i, 500))
				stats := store.Stats()
				if stats.Bytes() > budget || stats.PendingBytes != 0 {
					t.Fatalf("after insert %d: %+v", i, stats)
				}
				if stats.EvictedRows > 0 && !evicted {
					evicted, rows = true, stats.Rows
					if stats.HistoryBytes > full/4 {
						t.Errorf("rows are evicted beside %d bytes of older states, of %d", stats.HistoryBytes, full)
					}
				}
			}
			stats, view := store.Stats(), viewOf(t, store, h)
			t.Logf("%d bytes of states, %d at first, %d evicted; they begin at %d; %d rows when the first were evicted", stats.HistoryBytes, full, stats.EvictedStates, view.Start(), rows)
			if !evicted || stats.EvictedStates == 0 || view.Start() < 4000 || view.Start() > view.End() || view.End() < 4999 {
				t.Errorf("%+v; states from %d to %d", stats, view.Start(), view.End())
			}
			if got, want := stateText(view, "a7", view.End()), stateText(old, "a7", view.End()); got != want {
				t.Errorf("the latest state is %s, was %s", got, want)
			}
			for at, want := range states {
				if got := stateText(old, "a7", at); got != want {
					t.Errorf("the old view at %d: %s, was %s", at, got, want)
				}
			}
			if grown := heap() - before; !effort.Race && grown > budget+budget/10 {
				t.Errorf("%d bytes on the heap", grown)
			}
			if _, err := store.Begin().History(h); closed != errors.Is(err, history.ErrClosed) {
				t.Errorf("a writer: %v", err)
			}
			runtime.KeepAlive(store)
		})
	}
}

// TestHistory_CountingFrom0: states whose times are no dates are older than all rows of dates, and go
// first. The latest stays (decision 0006).
func TestHistory_CountingFrom0(t *testing.T) {
	if effort.Race {
		t.Skip("one goroutine inserts")
	}
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1, MemoryBudget: 4 << 20}, samples(10))
	h := createHistory(t, store, HistoryOptions{})
	writeStates(t, store, h, 0, 5000, 100)
	full, last := store.Stats().HistoryBytes, stateText(viewOf(t, store, h), "a7", 4999)
	now := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC).UnixNano()
	for i := int64(0); store.Stats().EvictedRows == 0; i++ {
		insert(t, table, heavy(now+10*i, 500))
	}
	stats, view := store.Stats(), viewOf(t, store, h)
	if stats.HistoryBytes > full/4 || view.End() != 4999 || stateText(view, "a7", 4999) != last {
		t.Errorf("%d of %d bytes of states are left, up to %d: %s, was %s", stats.HistoryBytes, full, view.End(), stateText(view, "a7", 4999), last)
	}
}

// Rows do not evict states of the newest time bucket. They are refused instead, as they are where
// rows of that bucket fill the store.
func TestHistory_NewestIsKept(t *testing.T) {
	if effort.Race {
		t.Skip("one goroutine inserts")
	}
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1, MemoryBudget: 4 << 20}, samples(1_000_000))
	h := createHistory(t, store, HistoryOptions{})
	insert(t, table, heavy(0, 1))
	writeStates(t, store, h, 0, 5000, 100)
	refused := false
	for i := int64(0); i < 100 && !refused; i++ {
		_, err := table.Insert(t.Context(), heavy(5000+i, 500))
		if refused = errors.Is(err, ErrMemory); err != nil && !refused {
			t.Fatal(err)
		}
	}
	stats, view := store.Stats(), viewOf(t, store, h)
	if !refused || view.Start() != 0 || stats.EvictedStates != 0 {
		t.Errorf("refused %v, states from %d to %d, %+v", refused, view.Start(), view.End(), stats)
	}
	// Rows of a later bucket can take all memory, the memory of states first.
	for i := int64(0); stats.EvictedStates == 0; i++ {
		insert(t, table, heavy(1_000_010+i, 500))
		if stats = store.Stats(); stats.EvictedRows > 0 || i == 20 {
			t.Fatalf("after rows of a later bucket: %+v", stats)
		}
	}
}

// A snapshot that holds a history's states, and stays, expires when they are to be evicted and are more
// than such snapshots may hold.
func TestHistory_EvictionExpiresSnapshot(t *testing.T) {
	if effort.Race {
		t.Skip("one goroutine inserts")
	}
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1, MemoryBudget: 4 << 20}, samples(10))
	h := createHistory(t, store, HistoryOptions{})
	writeStates(t, store, h, 0, 8000, 100)
	insert(t, table, heavy(8000, 10))
	snap := snapshot(t, store)
	for i := int64(1); i < 60; i++ {
		insert(t, table, heavy(8000+10*i, 500))
		if stats := store.Stats(); stats.Bytes() > 4<<20 {
			t.Fatalf("after insert %d: %+v", i, stats)
		}
	}
	stats := store.Stats()
	if _, err := snap.History(h); !errors.Is(err, ErrSnapshotExpired) || stats.Expired != 1 {
		t.Errorf("the snapshot: %v, %d expired", err, stats.Expired)
	}
	if stats.EvictedStates == 0 || stats.HistoryBytes > 512<<10 || stats.PinnedBytes != 0 {
		t.Errorf("%+v", stats)
	}
}

// A small history that a snapshot holds keeps its states: their eviction would free nothing.
func TestHistory_NoEvictionInVain(t *testing.T) {
	if effort.Race {
		t.Skip("one goroutine inserts")
	}
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1, MemoryBudget: 4 << 20}, samples(10))
	h := createHistory(t, store, HistoryOptions{})
	writeStates(t, store, h, 0, 1000, 100)
	insert(t, table, heavy(1000, 10))
	snap := snapshot(t, store)
	for i := int64(1); i < 100; i++ {
		insert(t, table, heavy(1000+10*i, 500))
	}
	if stats := store.Stats(); stats.EvictedStates != 0 || stats.EvictedRows == 0 || stats.Expired != 0 {
		t.Errorf("beside a snapshot: %+v", stats)
	}
	snap.Close()
	for i := int64(100); i < 110; i++ {
		insert(t, table, heavy(1000+10*i, 500))
	}
	if stats := store.Stats(); stats.EvictedStates == 0 {
		t.Errorf("without the snapshot: %+v", stats)
	}
}

// TestHistory_EvictionOrder writes rows and states of several tables and histories at random, in the
// order of time, with a small budget. The oldest data goes: no idle history keeps states from before the
// evicted time ranges, and no history loses states from after the first remaining range. Nothing is
// refused, and held views do not change.
func TestHistory_EvictionOrder(t *testing.T) {
	effort.Slow(t)
	effort.Alone(t)
	collectRarely(t)
	both, runs := 0, uint64(8) // runs that evicted rows and states, and all
	if effort.Race {
		runs = 3 // one goroutine does it all
	}
	for seed := *simSeed; seed < *simSeed+runs; seed++ {
		e := newEvictionRun(t, rand.New(rand.NewPCG(seed, 5)))
		for range 250 {
			if problem := e.step(); problem != "" {
				t.Fatalf("seed %d, at %d: %s; %+v", seed, e.now, problem, e.store.Stats())
			}
		}
		if stats := e.store.Stats(); stats.EvictedRows > 0 && stats.EvictedStates > 0 {
			both++
		}
	}
	if both*3 < int(runs) {
		t.Errorf("%d of %d runs evicted rows and states", both, runs)
	}
}

// evictionRun is a store under a small budget, at a moment of its time.
type evictionRun struct {
	rng       *rand.Rand
	store     *Store
	tables    []*Table
	histories []*History
	busy      []int // of each table and history: how likely a step writes it
	now       int64
	held      []heldView
}

type heldView struct {
	view   *history.View
	at     int64
	states []string
}

const evictionBucket = 10

func newEvictionRun(t testing.TB, rng *rand.Rand) *evictionRun {
	tables, histories := 1+rng.IntN(2), 1+rng.IntN(3)
	store, table := open(t, Options{Manual: true, FutureLimit: -1, GenerationBuckets: 1, MemoryBudget: int64(2+rng.IntN(3)) << 20}, samples(evictionBucket))
	e := &evictionRun{rng: rng, store: store, tables: []*Table{table}, now: 100}
	for len(e.tables) < tables {
		table, err := store.CreateTable("more", samples(evictionBucket))
		if err != nil {
			t.Fatal(err)
		}
		e.tables = append(e.tables, table)
	}
	for len(e.histories) < histories {
		h, err := store.CreateHistory(fmt.Sprint("states ", len(e.histories)), HistoryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e.histories = append(e.histories, h)
	}
	for range tables + histories {
		e.busy = append(e.busy, rng.IntN(4))
	}
	return e
}

// step writes to some tables and histories at the next instants, and checks.
func (e *evictionRun) step() (problem string) {
	e.now += int64(1 + e.rng.IntN(4))
	if e.rng.IntN(20) == 0 { // other histories are busy from here on
		for i := range e.busy {
			e.busy[i] = e.rng.IntN(4)
		}
	}
	for i, table := range e.tables {
		if e.rng.IntN(3) >= e.busy[i] {
			continue
		}
		before, starts := e.ranges(), e.starts()
		if _, err := table.Insert(context.Background(), heavy(e.now, 1+e.rng.IntN(300))); err != nil {
			return err.Error()
		}
		if problem := e.checkOrder(before, starts); problem != "" {
			return problem
		}
	}
	for i, h := range e.histories {
		if e.rng.IntN(3) >= e.busy[len(e.tables)+i] {
			continue
		}
		starts := e.starts()
		if err := e.write(h); err != nil {
			return err.Error()
		}
		if problem := e.checkOrder(nil, starts); problem != "" {
			return problem
		}
	}
	return e.check()
}

// write makes changes of a history, texts among them.
func (e *evictionRun) write(h *History) error {
	tx := e.store.Begin()
	defer tx.Abort()
	w, err := tx.History(h)
	if err != nil {
		return err
	}
	for i := range 1 + e.rng.IntN(2000) {
		a, err := w.Attribute("of", strconv.Itoa(i%70))
		if err != nil {
			return err
		}
		v := history.Int(e.rng.Int64N(1 << 40))
		if i%70%9 == 3 {
			v = history.String(fmt.Sprint("text ", e.rng.IntN(1<<20)))
		}
		if err := w.Change(e.now, a, v); err != nil && !errors.Is(err, history.ErrTime) {
			return err
		}
		if i%70 == 69 && e.rng.IntN(3) == 0 {
			e.now++
		}
	}
	_, err = tx.Commit()
	return err
}

// ranges returns the starts of the time ranges of all tables.
func (e *evictionRun) ranges() (all []int64) {
	for _, table := range e.tables {
		for _, b := range table.state().Buckets.All() {
			all = append(all, table.schema.BucketStart(b.Start))
		}
	}
	return all
}

// starts returns where the histories begin.
func (e *evictionRun) starts() (all []int64) {
	for _, view := range e.store.roots.Root().State.Histories {
		all = append(all, view.Start())
	}
	return all
}

// checkOrder compares the states that are left with the time ranges that an insert evicted, and
// the states that were evicted with the oldest range that is left but is not the newest.
func (e *evictionRun) checkOrder(before, starts []int64) string {
	left := e.ranges()
	oldest := int64(math.MaxInt64)
	for _, v := range e.store.memory.evictable(incoming{}) {
		oldest = min(oldest, v.start)
	}
	for i, start := range e.starts() {
		if oldest < math.MaxInt64 && start > starts[i] && start > oldest+evictionBucket {
			return fmt.Sprintf("history %d is evicted up to %d, there are rows of %d", i, start, oldest)
		}
	}
	for _, start := range before {
		if slices.Contains(left, start) {
			continue
		}
		for i, h := range e.histories {
			if bytes, oldest := h.states.Droppable(); bytes > 0 && oldest < start+evictionBucket {
				return fmt.Sprintf("history %d keeps states of %d, rows of %d are evicted", i, oldest, start)
			}
		}
	}
	return ""
}

func (e *evictionRun) check() string {
	stats := e.store.Stats()
	if stats.Bytes() > e.store.opts.MemoryBudget || stats.PendingBytes != 0 {
		return "beyond the budget"
	}
	for _, view := range e.store.roots.Root().State.Histories {
		if len(e.held) < 20 && view.Instants() && e.rng.IntN(30) == 0 {
			e.held = append(e.held, hold(view, view.Start()+e.rng.Int64N(view.End()-view.Start()+1)))
		}
	}
	for _, was := range e.held {
		if now := hold(was.view, was.at); fmt.Sprint(now.states) != fmt.Sprint(was.states) {
			return fmt.Sprintf("a view at %d: %v, was %v", was.at, now.states, was.states)
		}
	}
	return ""
}

// hold reads all states of a view at an instant.
func hold(view *history.View, at int64) heldView {
	h := heldView{view: view, at: at}
	slice, err := view.Slice(at)
	if err != nil {
		return h
	}
	for a, in := range slice.All() {
		h.states = append(h.states, fmt.Sprint(a, in.Start, in.Value))
	}
	return h
}

// A writer that meets an eviction waits for it. A second writer does not wait.
func TestHistory_EvictionIsNoWriter(t *testing.T) {
	store, _ := open(t, Options{Manual: true, MemoryBudget: 1 << 20}, samples(10))
	h := createHistory(t, store, HistoryOptions{})
	store.memory.making.Lock() // as an eviction does
	h.busy.Store(true)
	got := make(chan error)
	go func() {
		tx := store.Begin()
		_, err := tx.History(h)
		tx.Abort()
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("while states are evicted: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	h.busy.Store(false)
	store.memory.making.Unlock()
	if err := <-got; err != nil {
		t.Errorf("after the eviction: %v", err)
	}
	tx := store.Begin()
	defer tx.Abort()
	writerOf(t, tx, h)
	second := store.Begin()
	defer second.Abort()
	if _, err := second.History(h); !errors.Is(err, history.ErrBusy) {
		t.Errorf("a second writer: %v", err)
	}
}

// Rows and states evict each other from several goroutines.
func TestHistory_EvictionBesideWriters(t *testing.T) {
	store, table := open(t, Options{FutureLimit: -1, GenerationBuckets: 1, MemoryBudget: 2 << 20}, samples(10))
	h := createHistory(t, store, HistoryOptions{})
	var now sync.Mutex
	at := int64(0)
	next := func() int64 {
		now.Lock()
		defer now.Unlock()
		at++
		return at
	}
	deadline := time.Now().Add(time.Minute)
	enough := func() bool {
		stats := store.Stats()
		return stats.EvictedStates > 0 && stats.EvictedRows > 0 || time.Now().After(deadline) || t.Failed()
	}
	var rows sync.WaitGroup
	rows.Go(func() {
		for !enough() {
			if _, err := table.Insert(t.Context(), heavy(next(), 300)); err != nil && !errors.Is(err, ErrMemory) && !errors.Is(err, ErrTooOld) {
				t.Error(err)
			}
		}
	})
	for !enough() {
		tx := store.Begin()
		w, err := tx.History(h)
		if err != nil {
			t.Fatal(err)
		}
		from := next()
		for i := range int64(500) {
			a, err := w.Attribute(strconv.FormatInt(i%50, 10))
			if err == nil {
				err = w.Change(from, a, history.Int(from*7919+i))
			}
			if err != nil && !errors.Is(err, ErrMemory) {
				t.Fatal(err)
			}
		}
		commit(t, tx)
	}
	rows.Wait()
	stats := store.Stats()
	t.Logf("%d bytes of states evicted, %d rows", stats.EvictedStates, stats.EvictedRows)
	if stats.EvictedStates == 0 || stats.EvictedRows == 0 {
		t.Errorf("%+v", stats)
	}
}

// With a directory, no states are evicted while rows can be written into files and unloaded: neither for rows
// that come, nor at commits of states. They are when nothing else is left.
func TestHistory_RowsAreUnloadedFirst(t *testing.T) {
	effort.Long(t)
	if effort.Race {
		t.Skip("one goroutine inserts and maintains")
	}
	const budget = 4 << 20
	opts := inDir(crashfs.New(crashfs.Options{}))
	opts.MemoryBudget, opts.LogBytes, opts.GranuleRows, opts.BucketRows, opts.GenerationBuckets = budget, 64<<20, 0, 0, 1 // only the need of memory writes files
	store, table := open(t, opts, samples(100))
	h := createHistory(t, store, HistoryOptions{})
	writeStates(t, store, h, 0, 500, 100)
	states := store.Stats().HistoryBytes
	inserted, filed := 0, false
	for i := range int64(300) {
		b := heavy(2010+10*i, 500)
		inserted += b.Rows
		insert(t, table, b)
		if i%10 == 0 {
			tx := store.Begin()
			change(t, writerOf(t, tx, h), 2010+10*i, "a1", history.Int(i))
			commit(t, tx)
		}
		if err := store.Maintain(t.Context()); err != nil { // so that granules are small
			t.Fatal(err)
		}
		stats := store.Stats()
		filed = filed || stats.Files > 0
		if stats.EvictedStates > 0 || stats.Bytes() > budget {
			t.Fatalf("after insert %d: %+v", i, stats)
		}
	}
	stats := store.Stats()
	t.Logf("%d bytes of states of a budget of %d, %d rows, %d in files alone", states, budget, inserted, stats.ColdRows)
	if !filed || stats.ColdRows == 0 || stats.Rows != int64(inserted) || states < budget/64 {
		t.Errorf("%+v", stats)
	}
	writeStates(t, store, h, 10_000, 30_000, 100)
	if stats := store.Stats(); stats.EvictedStates == 0 || stats.Bytes() > budget {
		t.Errorf("%+v", stats)
	}
}
