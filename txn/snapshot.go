package txn

import (
	"errors"
	"sync/atomic"
)

// Errors of a snapshot's use.
var (
	// ErrSnapshotClosed says that a snapshot was used after its Close.
	ErrSnapshotClosed = errors.New("snapshot is closed")
	// ErrSnapshotExpired says that memory ran out and a snapshot was the oldest
	// that was open (Log.Expire).
	ErrSnapshotExpired = errors.New("snapshot has expired")
)

// published is a root and how many snapshots are open on it. They share its
// fate: when it expires, the root is let go of under them. It is made for the first of them:
// most roots are replaced before anyone looks at them.
type published[R any] struct {
	commit  ID
	version Version
	root    atomic.Pointer[Root[R]] // nil: expired, or not read any more
	readers atomic.Int64            // open snapshots, plus use for each read under way
	expired atomic.Bool

	replaced atomic.Bool // set before the readers are looked at
}

// leave counts a reader out. The last one of a root that was replaced lets go of it.
func (p *published[R]) leave(n int64) {
	if p.readers.Add(-n) == 0 && p.replaced.Load() {
		p.root.Store(nil)
	}
}

// use is what a read adds to the count of readers.
const use = 1 << 32

// published returns what counts the readers of the root.
func (r *Root[R]) published() *published[R] {
	if p := r.read.Load(); p != nil {
		return p
	}
	p := &published[R]{commit: r.Commit, version: r.Version}
	p.root.Store(r)
	if r.read.CompareAndSwap(nil, p) {
		return p
	}
	return r.read.Load()
}

// Snapshot is a handle on one root. It is safe for concurrent use. The zero
// Snapshot is closed; it is a value so that its owner can hold it without an
// allocation of its own.
type Snapshot[R any] struct {
	at     atomic.Pointer[published[R]]
	commit ID
}

// Take makes s a handle on the current root of l: four atomic operations, and
// again for each root that is published in between; the first handle on a root takes an
// allocation. It is called once, before s is shared.
func (s *Snapshot[R]) Take(l *Log[R]) {
	for {
		root := l.current.Load()
		p := root.published()
		p.readers.Add(1)
		if l.current.Load() == root {
			// Whoever replaces the root from here on sees that it is read.
			s.commit = p.commit
			s.at.Store(p)
			return
		}
		p.leave(1)
	}
}

// Commit returns the id of the last commit that the snapshot sees.
func (s *Snapshot[R]) Commit() ID { return s.commit }

// State returns the state of the root, or ErrSnapshotClosed, or
// ErrSnapshotExpired.
func (s *Snapshot[R]) State() (state R, err error) {
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
	return state, ErrSnapshotClosed // since the first look
}

// Use returns the state for a read, which ends with Done. Until then, what the
// root holds counts as held, even if the snapshot is closed or expires meanwhile.
// The error is that of State.
func (s *Snapshot[R]) Use() (Use[R], error) {
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

// Use is a read under way.
type Use[R any] struct {
	State R
	at    *published[R]
}

// Err returns ErrSnapshotExpired if the snapshot has expired: what the read holds
// is wanted back, and it should end.
func (u Use[R]) Err() error {
	if u.at.expired.Load() {
		return ErrSnapshotExpired
	}
	return nil
}

// Done ends the read. It must be called once.
func (u Use[R]) Done() { u.at.leave(use) }

// Close lets go of the root, so that what only it holds can be freed. It may
// be called more than once. Reads under way go on.
func (s *Snapshot[R]) Close() {
	if p := s.at.Swap(nil); p != nil {
		p.leave(1)
	}
}
