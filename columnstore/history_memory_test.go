package columnstore

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
)

// Retention drops intervals older than the retention before the history's end. Earlier
// snapshots keep them.
func TestHistory_Retention(t *testing.T) {
	const keep, step, steps = 10_000, 500, 200
	store, _ := open(t, Options{Manual: true, Retention: keep}, samples(0))
	h := createHistory(t, store, HistoryOptions{Start: -1})
	var held []*history.View
	var bytes []int64
	for i := range int64(steps) {
		tx := store.Begin()
		w := writerOf(t, tx, h)
		for at := i * step; at < (i+1)*step; at++ {
			change(t, w, at, fmt.Sprint("a", at%3), history.Int(at))
		}
		commit(t, tx)
		view := viewOf(t, store, h)
		if i%20 == 0 {
			held = append(held, view)
		}
		bytes = append(bytes, store.Stats().HistoryBytes)
		// In steps of a sixteenth; and an interval reaches back up to three instants.
		if behind := view.End() - view.Start(); behind > keep+keep/16+step+3 || i*step > 2*keep && behind < keep {
			t.Fatalf("after %d the history goes back %d, of %d that are kept", view.End(), behind, keep)
		}
		for at := view.Start() + 3; at <= view.End(); at += 97 {
			if got := stateText(view, fmt.Sprint("a", at%3), at); got != fmt.Sprint(at) {
				t.Fatalf("at %d of [%d, %d]: %s", at, view.Start(), view.End(), got)
			}
		}
		if got := stateText(view, "a0", view.Start()-1); got != "no instant" {
			t.Fatalf("before the start of the history: %s", got)
		}
	}
	for i, view := range held {
		for at := view.Start() + 3; at <= view.End(); at += 89 {
			if got := stateText(view, fmt.Sprint("a", at%3), at); got != fmt.Sprint(at) {
				t.Fatalf("held view %d of [%d, %d] at %d: %s", i, view.Start(), view.End(), at, got)
			}
		}
	}
	if half, end := slices.Max(bytes[:steps/2]), slices.Max(bytes[steps/2:]); end > half*5/4 {
		t.Errorf("the history had up to %d bytes at first, and %d then", half, end)
	}
}

// The account of histories equals their heap, within a tenth and 64 KiB.
func TestHistory_Bytes(t *testing.T) {
	effort.Slow(t)
	if effort.Race {
		t.Skip("the race detector has a heap of its own")
	}
	fill := func(attributes int, value func(i int64) history.Value) func(t *testing.T, store *Store, h *History) {
		return func(t *testing.T, store *Store, h *History) {
			for at := int64(0); at < 300_000; {
				tx := store.Begin()
				w := writerOf(t, tx, h)
				for range 10_000 {
					change(t, w, at, names[int(at*at+at/7)%attributes], value(at))
					at++
				}
				commit(t, tx)
			}
		}
	}
	small := func(i int64) history.Value { return history.Int(i % 5) }
	some := fill(100, small)
	for _, test := range []struct {
		name      string
		retention time.Duration
		write     func(t *testing.T, store *Store, h *History)
	}{
		{"few attributes", 0, some},
		{"many attributes", 0, fill(20_000, small)},
		{"values that differ", 0, fill(100, func(i int64) history.Value { return history.Int(i * 7919 % 1000_003) })},
		{"texts", 0, fill(1000, func(i int64) history.Value { return history.String(names[i*31%5000]) })},
		{"retention", 20_000, some},
		{"closed", 0, func(t *testing.T, store *Store, h *History) {
			some(t, store, h)
			tx := store.Begin()
			if err := writerOf(t, tx, h).Close(1 << 40); err != nil {
				t.Fatal(err)
			}
			commit(t, tx)
		}},
		{"aborted", 0, func(t *testing.T, store *Store, h *History) {
			some(t, store, h)
			tx := store.Begin()
			w := writerOf(t, tx, h)
			for i := range int64(100_000) {
				change(t, w, 1<<30+i, names[i%15_000], history.Int(i))
			}
			tx.Abort()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			store, _ := open(t, Options{Manual: true, Retention: test.retention}, samples(0))
			h := createHistory(t, store, HistoryOptions{})
			before, counted := heap(), store.Stats().HistoryBytes
			test.write(t, store, h)
			want, got := heap()-before, store.Stats().HistoryBytes-counted
			t.Logf("%d bytes on the heap, %d by account: %+.1f %%", want, got, deviation(got, want))
			if off := got - want; max(off, -off) > want/10+64<<10 {
				t.Errorf("%d bytes on the heap, %d by account", want, got)
			}
			if pending := store.Stats().PendingBytes; pending != 0 {
				t.Errorf("%d bytes are pending", pending)
			}
			runtime.KeepAlive(store)
		})
	}
}

// names are the names of attributes and texts, made before the heap is measured.
var names = func() (out []string) {
	for i := range 20_000 {
		out = append(out, fmt.Sprintf("thread %d of the process", i))
	}
	return out
}()

// A write beyond the memory budget fails without effect. Earlier writes can be committed,
// which drops the oldest intervals, and the next write succeeds. The store stays within the
// budget.
func TestHistory_MemoryBudget(t *testing.T) {
	effort.Long(t)
	const budget = 4 << 20
	before := heap()
	store, _ := open(t, Options{Manual: true, MemoryBudget: budget}, samples(0))
	h := createHistory(t, store, HistoryOptions{})
	refused, at, peak := 0, int64(0), int64(0)
	tx := store.Begin()
	w := writerOf(t, tx, h)
	for i := range 50 {
		if a, err := w.Attribute(names[i]); err != nil || int(a) != i {
			t.Fatal(a, err)
		}
	}
	commit(t, tx)
	for round := range 40 {
		tx := store.Begin()
		w := writerOf(t, tx, h)
		n := 60_000
		if round%4 == 3 { // more than fits
			n = 300_000
		}
		for range n {
			err := w.Change(at, history.Attribute(at%50), history.Int(at*7919))
			if errors.Is(err, ErrMemory) {
				refused++
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			at++
		}
		commit(t, tx)
		stats := store.Stats()
		if stats.Bytes() > budget || stats.PendingBytes != 0 {
			t.Fatalf("after the change at %d: %+v", at, stats)
		}
		if !effort.Race {
			peak = max(peak, heap()-before)
		}
		view := viewOf(t, store, h)
		for back := range int64(100) {
			if got := stateText(view, names[(at-1-back)%50], view.End()-back); view.Start() < view.End()-200 && got != fmt.Sprint((at-1-back)*7919) {
				t.Fatalf("at %d of [%d, %d]: %s", view.End()-back, view.Start(), view.End(), got)
			}
		}
	}
	view := viewOf(t, store, h)
	t.Logf("%d changes, %d times refused; kept from %d to %d, at most %d bytes on the heap of %d", at, refused, view.Start(), view.End(), peak, budget)
	if refused < 5 || view.Start() == 0 || view.End()-view.Start() < 250_000 || at < 2_000_000 {
		t.Errorf("%d changes, %d times refused, kept from %d to %d", at, refused, view.Start(), view.End())
	}
	if peak > budget+budget/10 {
		t.Errorf("up to %d bytes on the heap, of %d", peak, budget)
	}
	// A single transaction that is too large: aborted, it leaves nothing.
	held := store.Stats().HistoryBytes
	tx = store.Begin()
	w = writerOf(t, tx, h)
	var err error
	for i := int64(0); err == nil; i++ {
		err = w.Change(at+i, history.Attribute(i%50), history.Int(i))
	}
	if !errors.Is(err, ErrMemory) || store.Stats().Bytes() > budget {
		t.Errorf("%v, %d bytes", err, store.Stats().Bytes())
	}
	tx.Abort()
	if stats := store.Stats(); stats.PendingBytes != 0 || stats.HistoryBytes > held+held/10 {
		t.Errorf("after the abort: %+v, before %d", stats, held)
	}
}

// An old view of a history is freed when no root and no snapshot refers to it, although the
// table's state is still that of its time.
func TestHistory_OldViewIsFreed(t *testing.T) {
	store, table := open(t, Options{Manual: true, FutureLimit: -1}, samples(0))
	h := createHistory(t, store, HistoryOptions{})
	changeAt := func(at int64) {
		tx := store.Begin()
		change(t, writerOf(t, tx, h), at, "a", history.Int(at))
		commit(t, tx)
	}
	changeAt(1)
	insert(t, table, oneRow(1))
	view := weak.Make(viewOf(t, store, h))
	for at := range int64(5) {
		changeAt(10 + at)
	}
	if kept(view) > 0 {
		t.Error("the view of five commits ago is still referred to")
	}
}

// kept returns the number of objects that a few collections leave. Pools keep their content for one
// collection. A collection clears the weak pointers itself, so no goroutine is awaited.
func kept[T any](objects ...weak.Pointer[T]) (n int) {
	for range 10 {
		runtime.GC()
		if objects = slices.DeleteFunc(objects, func(p weak.Pointer[T]) bool { return p.Value() == nil }); len(objects) == 0 {
			break
		}
	}
	return len(objects)
}
