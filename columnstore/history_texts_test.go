package columnstore

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/granarydb/granary/history"
)

// newText returns a text that was not written before.
func newText(i int64) history.Value {
	return history.String(fmt.Sprintf("request %08x is served", i))
}

// Texts of aborted transactions leave nothing behind.
func TestHistory_AbortedTexts(t *testing.T) {
	store, _ := open(t, Options{Manual: true, MemoryBudget: 1 << 20}, samples(0))
	h := createHistory(t, store, HistoryOptions{})
	tx := store.Begin()
	change(t, writerOf(t, tx, h), 1, "a", history.String("committed"))
	commit(t, tx)
	before, size := heap(), store.Stats().HistoryBytes
	for i := range int64(100_000) {
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
	if grown := heap() - before; grown > 128<<10 && !raceEnabled {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if got := stateText(viewOf(t, store, h), "a", 1); got != `"committed"` {
		t.Errorf("the committed state is %s", got)
	}
	runtime.KeepAlive(store)
}
