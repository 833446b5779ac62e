package source

import (
	"errors"
	"sync"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server/internal/fault"
)

// How many snapshots are held for later questions of a page, and for how long.
const (
	HeldSnapshots = 8
	HeldTime      = 30 * time.Second
)

// held keeps the snapshots of the last answers, so that all panels of a page can be of one commit. Without
// requests they stay longer: the store takes their memory back if it needs it. It is safe for concurrent use.
type held struct {
	now func() time.Time

	mu     sync.Mutex
	all    []*heldSnapshot // the oldest first
	serial uint64          // of the last one
}

// heldSnapshot is closed when it is neither held nor in use.
type heldSnapshot struct {
	*columnstore.Snapshot
	serial uint64
	taken  time.Time
	uses   int
	left   bool // it is held no more
}

// use calls f with the snapshot of a commit, or of the newest one if named is not set. f is called once more, as
// Store.View does, unless a commit is named.
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

// take returns a snapshot for one use.
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

// leave ends a use. An expired snapshot is not held any more.
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
