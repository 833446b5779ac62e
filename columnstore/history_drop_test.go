package columnstore

import (
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/crashfs"
)

// TestWriter_DropBefore drops the older half of a history: it takes less memory, a snapshot from before has all,
// later states are as they were, and after a restart too.
func TestWriter_DropBefore(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	store := openLogged(t, fs)
	h := createHistory(t, store, HistoryOptions{})
	writeStates(t, store, h, 0, 2000, 100)
	before, full := viewOf(t, store, h), h.Bytes()

	drop := func(at int64) *Tx {
		tx := store.Begin()
		writerOf(t, tx, h).DropBefore(at)
		return tx
	}
	drop(1500).Abort()
	if start := viewOf(t, store, h).Start(); start != 0 {
		t.Errorf("after an abort it starts at %d", start)
	}
	commit(t, drop(1000))
	if got := h.Bytes(); got > full*2/3 || store.Stats().HistoryBytes != got {
		t.Errorf("%d bytes, of %d before; the store counts %d", got, full, store.Stats().HistoryBytes)
	}
	if got := store.Stats().EvictedStates; got != 0 {
		t.Errorf("%d bytes count as evicted", got)
	}
	same := func(after *history.View) {
		t.Helper()
		if after.Start() != 1000 || after.End() != before.End() {
			t.Errorf("the history is from %d to %d, want from 1000 to %d", after.Start(), after.End(), before.End())
		}
		for at := int64(1000); at < 2000; at += 97 {
			if want, got := stateText(before, "a7", at), stateText(after, "a7", at); got != want {
				t.Errorf("at %d: %s, want %s", at, got, want)
			}
		}
	}
	same(viewOf(t, store, h))
	if got := stateText(before, "a7", 10); got == "" {
		t.Error("the older view has lost its states")
	}
	commit(t, drop(500))
	same(viewOf(t, store, h))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store = openLogged(t, fs)
	same(viewOf(t, store, store.History(h.Name())))
}
