package source

import (
	"errors"
	"sync"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server/internal/fault"
)

// The number of snapshots that are held for later queries of a page, and the time.
const (
	HeldSnapshots = 8
	HeldTime      = 30 * time.Second
)

// held keeps the snapshots of the last answers, so that all panels of a page can show one commit. It drops
// expired snapshots only during later requests; until then the store can take their memory back. It is safe
// for concurrent use.
type held struct {
	now func() time.Time

	mu     sync.Mutex
	all    []*heldSnapshot // the oldest first
	serial uint64          // serial of the last snapshot
}

// heldSnapshot is closed once it is neither held nor in use.
type heldSnapshot struct {
	*columnstore.Snapshot
	serial uint64
	taken  time.Time
	uses   int
	left   bool // it is no longer held
}

// use calls f with the snapshot of a commit, or with the newest one if named is false. If the newest one
// expires while in use, use calls f once more, like Store.View.
func (h *held) use(store *columnstore.Store, named bool, commit uint64, f func(*heldSnapshot) error) error {
	for again := false; ; again = true {
		snap, err := h.take(store, named, commit)
		if err != nil {
			return err
		}
		err = f(snap)
		isExpired := errors.Is(err, columnstore.ErrSnapshotExpired)
		h.leave(snap, isExpired)
		switch {
		case isExpired && named:
			return gone(commit)
		case !isExpired || again:
			return err
		}
	}
}

// take returns a snapshot, and counts a use of it.
func (h *held) take(store *columnstore.Store, named bool, commit uint64) (*heldSnapshot, error) {
	fresh, err := store.Snapshot()
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(HeldSnapshots)
	if !named {
		commit = uint64(fresh.Commit())
	}
	for _, s := range h.all {
		if uint64(s.Commit()) == commit {
			fresh.Close()
			s.uses++
			return s, nil
		}
	}
	if named {
		fresh.Close()
		return nil, gone(commit)
	}
	h.serial++
	s := &heldSnapshot{Snapshot: fresh, serial: h.serial, taken: h.now(), uses: 1}
	h.forget(HeldSnapshots - 1)
	h.all = append(h.all, s)
	return s, nil
}

func gone(commit uint64) error {
	return fault.Gone("commit %d is held no more: ask again without commit", commit)
}

// leave ends a use. It no longer holds an expired snapshot.
func (h *held) leave(s *heldSnapshot, isExpired bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if isExpired && !s.left {
		for i := range h.all {
			if h.all[i] == s {
				h.all = append(h.all[:i:i], h.all[i+1:]...)
				break
			}
		}
		s.left = true
	}
	if s.uses--; s.left && s.uses == 0 {
		s.Close()
	}
}

// forget drops expired snapshots, and the oldest until at most `most` are held. The caller holds mu.
func (h *held) forget(most int) {
	for len(h.all) > most || len(h.all) > 0 && h.now().Sub(h.all[0].taken) >= HeldTime {
		s := h.all[0]
		h.all = h.all[1:]
		if s.left = true; s.uses == 0 {
			s.Close()
		}
	}
}

// keep drops expired snapshots, and all but the newest `most`.
func (h *held) keep(most int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(most)
}
