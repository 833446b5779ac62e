package columnstore

import (
	"errors"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/crashfs"
)

// TestHistory_DropBefore drops the older half of a history: it takes less memory, a snapshot from before has all,
// later states are as they were, and after a restart too.
func TestHistory_DropBefore(t *testing.T) {
	fs := crashfs.New(crashfs.Options{})
	store := openLogged(t, fs)
	h := createHistory(t, store, HistoryOptions{})
	writeStates(t, store, h, 0, 2000, 100)
	before, full := viewOf(t, store, h), h.Bytes()

	tx := store.Begin()
	writerOf(t, tx, h)
	if err := h.DropBefore(1000); !errors.Is(err, history.ErrBusy) {
		t.Errorf("beside a writer: %v", err)
	}
	tx.Abort()
	if err := h.DropBefore(1000); err != nil {
		t.Fatal(err)
	}
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
	if err := h.DropBefore(500); err != nil {
		t.Fatal(err)
	}
	same(viewOf(t, store, h))

	writeStates(t, store, h, 2000, 2001, 100) // with it the drop is in the log
	before = viewOf(t, store, h)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.DropBefore(1500); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
	store = openLogged(t, fs)
	same(viewOf(t, store, store.History(h.Name())))
}
