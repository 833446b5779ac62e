package txn

import (
	"errors"
	"sync/atomic"
)

// Errors of snapshots.
var (
	// ErrSnapshotClosed is returned when a snapshot is used after its Close.
	ErrSnapshotClosed = errors.New("snapshot is closed")
	// ErrSnapshotExpired is returned when a snapshot is used after Publisher.Expire took back
	// its root: it was the oldest open snapshot when memory ran out.
	ErrSnapshotExpired = errors.New("snapshot has expired")
)

// rootReaders is a root with the number of its open snapshots. The snapshots share it: expiry
// clears the root for all of them. It is allocated for the first snapshot, because most roots
// are replaced before any snapshot is taken.
type rootReaders[R any] struct {
	commit  ID
	version Version
	root    atomic.Pointer[Root[R]] // nil once expired, or once replaced and unread
	readers atomic.Int64            // open snapshots, plus use for each read in progress
	expired atomic.Bool

	replaced atomic.Bool // set before readers is checked
}

// leave removes n from the count of readers. The last reader of a replaced root clears it.
func (p *rootReaders[R]) leave(n int64) {
	if p.readers.Add(-n) == 0 {
		p.clear()
	}
}

// clear clears the root if it is replaced and has no reader. It checks replaced first, because a current
// root can get a reader after it had none. A reader of a replaced root starts over.
func (p *rootReaders[R]) clear() {
	if p.replaced.Load() && p.readers.Load() == 0 {
		p.root.Store(nil)
	}
}

// use is a read's weight in the count of readers. Snapshots weigh 1.
const use = 1 << 32

// readersOf returns the root's reader count. It allocates it on the first call.
func (r *Root[R]) readersOf() *rootReaders[R] {
	if p := r.read.Load(); p != nil {
		return p
	}
	p := &rootReaders[R]{commit: r.Commit, version: r.Version}
	p.root.Store(r)
	if r.read.CompareAndSwap(nil, p) {
		return p
	}
	return r.read.Load()
}

// Handle holds one root. It is safe for concurrent use after Take. The zero Handle is closed.
// It is a value, so an owner can embed it without another allocation.
type Handle[R any] struct {
	at     atomic.Pointer[rootReaders[R]]
	commit ID
}

// Take makes s a handle on the current root. It costs four atomic operations, repeated for each root
// published meanwhile; the first handle on a root also allocates. Take is called once, before s is shared.
func (s *Handle[R]) Take(publisher *Publisher[R]) {
	for {
		root := publisher.current.Load()
		p := root.readersOf()
		p.readers.Add(1)
		if publisher.current.Load() == root {
			// A publisher that replaces the root from here on sees this reader.
			s.commit = p.commit
			s.at.Store(p)
			return
		}
		p.leave(1)
	}
}

// Commit returns the id of the last commit in the snapshot.
func (s *Handle[R]) Commit() ID { return s.commit }

// State returns the root's state. The error is ErrSnapshotClosed or ErrSnapshotExpired.
func (s *Handle[R]) State() (state R, err error) {
	p := s.at.Load()
	if p == nil {
		return state, ErrSnapshotClosed
	}
	root := p.root.Load()
	switch {
	case root != nil:
		return root.State, nil
	case p.expired.Load():
		return state, ErrSnapshotExpired
	}
	return state, ErrSnapshotClosed // closed since the load of at
}

// Use returns the state for a read, which ends with Done. Until then the root's contents count as pinned,
// even if the snapshot is closed or expires meanwhile. It returns the same errors as State.
func (s *Handle[R]) Use() (Use[R], error) {
	p := s.at.Load()
	if p == nil {
		return Use[R]{}, ErrSnapshotClosed
	}
	p.readers.Add(use)
	root := p.root.Load()
	if root != nil {
		return Use[R]{root.State, p}, nil
	}
	p.leave(use)
	if p.expired.Load() {
		return Use[R]{}, ErrSnapshotExpired
	}
	return Use[R]{}, ErrSnapshotClosed
}

// Use is a read in progress.
type Use[R any] struct {
	State R
	at    *rootReaders[R]
}

// Err returns ErrSnapshotExpired if the snapshot has expired. The read should then end: its
// memory is needed.
func (u Use[R]) Err() error {
	if u.at.expired.Load() {
		return ErrSnapshotExpired
	}
	return nil
}

// Done ends the read. It must be called exactly once.
func (u Use[R]) Done() { u.at.leave(use) }

// Close releases the root, so that memory pinned only by this snapshot can be freed. It is
// idempotent. Reads in progress continue.
func (s *Handle[R]) Close() {
	if p := s.at.Swap(nil); p != nil {
		p.leave(1)
	}
}
