package columnstore

import (
	"context"
	"fmt"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/txn"
)

// Snapshot is the state of the database after one commit. It gives the same answers until it is closed
// (C2) or expires: with Options.MemoryBudget, the store can take back memory that only snapshots hold. It
// is safe for concurrent use.
type Snapshot struct {
	store *Store
	state txn.Handle[*catalog.Database]
}

// Commit returns the id of the last commit that the snapshot includes, or 0 if there is none.
func (s *Snapshot) Commit() txn.ID { return s.state.Commit() }

// Close releases the state. Scans in progress continue; new ones get ErrSnapshotClosed. It is
// idempotent.
func (s *Snapshot) Close() { s.state.Close() }

// History returns a history's state in the snapshot. The view is independent of the snapshot: it does not
// change when the snapshot is closed or expires, and keeps its memory alive, outside the memory budget.
// The errors are ErrSnapshotClosed, ErrSnapshotExpired, and ErrTable for another store's history.
func (s *Snapshot) History(h *History) (*history.View, error) {
	if s.store != h.store {
		return nil, fmt.Errorf("%w: snapshot and history %q are of different stores", ErrTable, h.name)
	}
	r, err := s.state.State()
	if err != nil {
		return nil, err
	}
	if h.ordinal >= len(r.Histories) {
		return h.states.Empty(), nil
	}
	return r.Histories[h.ordinal], nil
}

// Snapshot returns the state after the newest commit. The caller must close it, because it keeps its
// state alive. It costs a few atomic operations and one allocation. The error is ErrClosed.
func (s *Store) Snapshot() (*Snapshot, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	snap := &Snapshot{store: s}
	snap.state.Take(s.roots)
	return snap, nil
}

// View calls f with a snapshot and closes it afterwards. The errors come from ctx, Snapshot and f.
func (s *Store) View(ctx context.Context, f func(*Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	snap, err := s.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	return f(snap)
}
