package columnstore

import "context"

// Begin starts a transaction. It costs one allocation and holds nothing before the first
// Insert. After that, Commit or Abort must end it: until then its rows count in the memory
// budget.
func (s *Store) Begin() *Tx {
	tx := &Tx{store: s}
	s.roots.Start(&tx.ticket)
	return tx
}

// writable returns ErrClosed or ErrReadOnly if nothing can be written, else nil.
func (s *Store) writable() error {
	switch {
	case s.closed.Load():
		return ErrClosed
	case s.opts.ReadOnly:
		return ErrReadOnly
	}
	return nil
}

// Snapshot returns the state after the newest commit. The caller must close it, since it keeps
// its state alive. It costs a few atomic operations and one allocation. The error is
// ErrClosed.
func (s *Store) Snapshot() (*Snapshot, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	snap := &Snapshot{store: s}
	snap.state.Take(s.roots)
	return snap, nil
}

// View calls f with a snapshot and closes it afterwards. The errors are those of ctx, of
// Snapshot and of f.
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
