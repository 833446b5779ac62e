package columnstore

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
)

// newText returns a text that was not written before.
func newText(i int64) history.Value {
	return history.String(fmt.Sprintf("request %08x is served", i))
}

// Texts go with the last interval that has them: a million new ones under a retention of a
// thousand instants. A snapshot and a view that are held keep theirs.
func TestHistory_TextsAreDropped(t *testing.T) {
	effort.Alone(t)
	const keep, step, steps, most = 1000, 500, 400, 512 << 10
	store, _ := open(t, Options{Manual: true, Retention: keep}, samples(0))
	h := createHistory(t, store, HistoryOptions{})
	var held []*history.View
	largest := int64(0)
	for i := range int64(steps) {
		tx := store.Begin()
		w := writerOf(t, tx, h)
		for at := i * step; at < (i+1)*step; at++ {
			change(t, w, at, fmt.Sprint("a", at%3), newText(at))
		}
		if i == 0 {
			change(t, w, 1, "quiet", history.String("from the first on"))
		}
		commit(t, tx)
		view := viewOf(t, store, h)
		if i%40 == 0 {
			held = append(held, view)
		}
		for at := max(view.Start(), view.End()-keep) + 3; at <= view.End(); at += 97 {
			if got, want := stateText(view, fmt.Sprint("a", at%3), at), newText(at).String(); got != want {
				t.Fatalf("at %d of [%d, %d]: %s, want %s", at, view.Start(), view.End(), got, want)
			}
		}
		if got := stateText(view, "quiet", view.End()); got != `"from the first on"` {
			t.Fatalf("the quiet attribute at %d: %s", view.End(), got)
		}
		largest = max(largest, store.Stats().HistoryBytes)
	}
	for _, view := range held {
		for at := view.Start() + 3; at <= view.End(); at += 7 {
			if got, want := stateText(view, fmt.Sprint("a", at%3), at), newText(at).String(); got != want {
				t.Fatalf("an old view at %d of [%d, %d]: %s, want %s", at, view.Start(), view.End(), got, want)
			}
		}
	}
	t.Logf("at most %d bytes", largest)
	if largest > most {
		t.Errorf("%d texts, of which %d are kept, take up to %d bytes, want at most %d", steps*step, keep, largest, most)
	}
}

// With a memory budget, new texts need no more than their room: old ones go, so neither they
// nor rows are refused.
func TestHistory_TextsInBudget(t *testing.T) {
	effort.Long(t)
	const budget = 4 << 20
	before := heap()
	store, table := open(t, Options{Manual: true, MemoryBudget: budget, FutureLimit: -1}, samples(100))
	h := createHistory(t, store, HistoryOptions{})
	refused, refusedRows, peak := 0, 0, int64(0)
	long := strings.Repeat(" and so on", 8)
	for i := range int64(1000) {
		tx := store.Begin()
		w := writerOf(t, tx, h)
		for at := i * 100; at < (i+1)*100; at++ {
			a, err := w.Attribute(fmt.Sprint("a", at%5))
			if err == nil {
				err = w.Change(at, a, history.String(fmt.Sprint(at, long)))
			}
			if errors.Is(err, ErrMemory) {
				refused++
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		commit(t, tx)
		if _, err := table.Insert(t.Context(), oneRow(i)); errors.Is(err, ErrMemory) {
			refusedRows++
		} else if err != nil {
			t.Fatal(err)
		}
		if stats := store.Stats(); stats.Bytes() > budget || stats.PendingBytes != 0 {
			t.Fatalf("after transaction %d: %+v", i, stats)
		}
		if i%10 == 0 && !effort.Race {
			peak = max(peak, heap()-before)
		}
	}
	view := viewOf(t, store, h)
	t.Logf("refused: %d transactions, %d rows; at most %d bytes on the heap; kept from %d to %d", refused, refusedRows, peak, view.Start(), view.End())
	if refused > 0 || refusedRows > 0 || view.End()-view.Start() < 15_000 || peak > budget+budget/10 {
		t.Errorf("refused: %d transactions, %d rows; at most %d bytes on the heap; kept from %d to %d", refused, refusedRows, peak, view.Start(), view.End())
	}
	runtime.KeepAlive(store)
}

// Texts of aborted transactions leave nothing behind.
func TestHistory_AbortedTexts(t *testing.T) {
	effort.Alone(t)
	store, _ := open(t, Options{Manual: true, MemoryBudget: 1 << 20}, samples(0))
	h := createHistory(t, store, HistoryOptions{})
	tx := store.Begin()
	change(t, writerOf(t, tx, h), 1, "a", history.String("committed"))
	commit(t, tx)
	before, size := heap(), store.Stats().HistoryBytes
	for i := range effort.Less(int64(100_000), 10) {
		tx := store.Begin()
		w := writerOf(t, tx, h)
		for k := range int64(10) {
			if err := w.Change(10+k, 0, newText(10*i+k)); err != nil {
				t.Fatalf("transaction %d: %v", i, err)
			}
		}
		tx.Abort()
		if stats := store.Stats(); stats.HistoryBytes > size+64<<10 || stats.PendingBytes != 0 {
			t.Fatalf("after %d transactions: %d bytes, %d before; pending %d", i, stats.HistoryBytes, size, stats.PendingBytes)
		}
	}
	if grown := heap() - before; grown > 128<<10 && !effort.Race {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if got := stateText(viewOf(t, store, h), "a", 1); got != `"committed"` {
		t.Errorf("the committed state is %s", got)
	}
	runtime.KeepAlive(store)
}
