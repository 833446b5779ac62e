package source

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server/internal/fault"
)

// TestHeld_Expired takes memory back from snapshots that are held: a question of a commit is then an error, and one
// of the newest has an answer.
func TestHeld_Expired(t *testing.T) {
	store, err := columnstore.Open(columnstore.Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	calls := 0
	expire := func(*heldSnapshot) error {
		calls++
		return fmt.Errorf("amid it: %w", columnstore.ErrSnapshotExpired)
	}
	h := held{now: time.Now}
	commit := uint64(0)
	if err := h.use(store, false, 0, func(s *heldSnapshot) error { commit = uint64(s.Commit()); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := h.use(store, true, commit, expire); fault.CauseOf(err).Status != http.StatusGone || calls != 1 || len(h.all) != 0 {
		t.Errorf("%v after %d calls", err, calls)
	}
	if err := h.use(store, false, 0, expire); fault.CauseOf(err).Status != http.StatusServiceUnavailable || calls != 3 || len(h.all) != 0 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// TestHeld_Forget forgets snapshots after each commit, beside readers that take them: no older one is held afterwards.
func TestHeld_Forget(t *testing.T) {
	store, err := columnstore.Open(columnstore.Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := held{now: time.Now}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := h.use(store, false, 0, func(*heldSnapshot) error { return nil }); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 20_000 {
		tx := store.Begin()
		commit, err := tx.Commit()
		if err != nil {
			t.Fatal(err)
		}
		h.keep(0)
		h.mu.Lock()
		for _, s := range h.all {
			if uint64(s.Commit()) < uint64(commit) {
				t.Errorf("commit %d is held after commit %d", s.Commit(), commit)
			}
		}
		h.mu.Unlock()
	}
	close(done)
	readers.Wait()
	h.keep(0)
}
