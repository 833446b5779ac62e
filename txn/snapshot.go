package txn

import (
	"errors"
	"sync/atomic"
)

// ErrSnapshotClosed says that a snapshot was used after its Close.
var ErrSnapshotClosed = errors.New("snapshot is closed")

// Snapshot is a handle on one root. It is safe for concurrent use. The zero
// Snapshot is closed; it is a value so that its owner can hold it without an
// allocation of its own.
type Snapshot[R any] struct {
	root   atomic.Pointer[Root[R]]
	commit ID
}

// Take makes s a handle on the current root of l: one atomic load. It is
// called once, before s is shared.
func (s *Snapshot[R]) Take(l *Log[R]) {
	root := l.root.Load()
	s.commit = root.Commit
	s.root.Store(root)
}

// Commit returns the id of the last commit that the snapshot sees.
func (s *Snapshot[R]) Commit() ID { return s.commit }

// State returns the state of the root, or ErrSnapshotClosed.
func (s *Snapshot[R]) State() (state R, err error) {
	root := s.root.Load()
	if root == nil {
		return state, ErrSnapshotClosed
	}
	return root.State, nil
}

// Close lets go of the root, so that what only it holds can be freed. It may
// be called more than once. Work that has asked for the state before goes on.
func (s *Snapshot[R]) Close() { s.root.Store(nil) }
