package columnstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/catalog"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/txn"
)

// CreateHistory creates an empty history. The errors are ErrClosed, ErrTable for a name that
// another history has, and history.ErrLimit.
func (s *Store) CreateHistory(name string, opts HistoryOptions) (*History, error) {
	if s.log != nil { // no user can have one yet
		return nil, fmt.Errorf("create history %q: the log has no states: %w", name, errors.ErrUnsupported)
	}
	var seed [8]byte
	if _, err := io.ReadFull(s.opts.Rand, seed[:]); err != nil {
		return nil, fmt.Errorf("create history %q: hash seed: %w", name, err)
	}
	h := &History{store: s, name: name}
	var err error
	h.states, err = history.New(history.Options{
		Start: opts.Start, MaxAttributes: opts.MaxAttributes,
		Seed: binary.LittleEndian.Uint64(seed[:]), Reserve: h.reserve,
	})
	if err != nil {
		return nil, fmt.Errorf("create history %q: %w", name, err)
	}
	s.tables.Lock()
	defer s.tables.Unlock()
	if s.closed.Load() {
		return nil, ErrClosed
	}
	if s.tables.histories[name] != nil {
		return nil, fmt.Errorf("%w: history %q exists already", ErrTable, name)
	}
	h.ordinal = len(s.tables.histories)
	s.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) {
		next.State = current.State.WithHistory(h.states.Empty())
		return next, true
	})
	s.tables.histories[name] = h
	return h, nil
}

// History returns the history with the given name, or nil if there is none.
func (s *Store) History(name string) *History {
	s.tables.Lock()
	defer s.tables.Unlock()
	return s.tables.histories[name]
}
