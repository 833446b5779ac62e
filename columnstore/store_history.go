package columnstore

import (
	"encoding/binary"
	"fmt"
	"io"
	"weak"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/txn"
)

// CreateHistory creates an empty history. With a directory it is durable when CreateHistory returns. The
// errors are ErrClosed, ErrTable for a name that another history has or that is not UTF-8,
// history.ErrLimit, and errors from the disk (Tx.Commit).
func (s *Store) CreateHistory(name string, opts HistoryOptions) (*History, error) {
	e := entries.HistoryEntry{Name: name, Start: opts.Start, MaxAttributes: opts.MaxAttributes}
	s.creating.Lock() // the entry needs the ordinal before it has a place in the log
	defer s.creating.Unlock()
	e.Ordinal = len(s.Histories())
	log, err := s.prepareNew(entries.EntryHistory, name, e)
	if err != nil {
		return nil, err
	}
	defer log.Done()
	h, err := s.addHistory(e, nil, &log)
	if err != nil {
		return nil, err
	}
	return h, log.Sync()
}

// addHistory adds a history, from image unless that is nil, and its entry to the log.
func (s *Store) addHistory(e entries.HistoryEntry, image []byte, log *disk.Prepared) (*History, error) {
	var seed [8]byte
	if _, err := io.ReadFull(s.opts.Rand, seed[:]); err != nil {
		return nil, fmt.Errorf("create history %q: hash seed: %w", e.Name, err)
	}
	h := &History{store: s, name: e.Name, most: e.MaxAttributes, replays: s.opts.FS != nil && s.log == nil}
	opts := history.Options{
		Start: e.Start, MaxAttributes: e.MaxAttributes, Journal: s.opts.FS != nil,
		Seed: binary.LittleEndian.Uint64(seed[:]), Reserve: h.reserve,
	}
	var view *history.View
	var err error
	if image != nil {
		h.states, view, err = history.OpenImage(opts, image)
		h.filed = weak.Make(view)
	} else if h.states, err = history.New(opts); err == nil {
		view = h.states.Empty()
	}
	if err != nil {
		return nil, fmt.Errorf("create history %q: %w", e.Name, err)
	}
	s.tables.Lock()
	defer s.tables.Unlock()
	if s.closed.Load() {
		return nil, ErrClosed
	}
	if s.tables.histories[e.Name] != nil {
		return nil, fmt.Errorf("%w: history %q exists already", ErrTable, e.Name)
	}
	h.ordinal = len(s.tables.histories)
	s.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) {
		next.State = current.State.WithHistory(view)
		log.Append(0, 0)
		return next, true
	})
	s.tables.histories[e.Name] = h
	h.count()
	return h, nil
}

// History returns the history with the given name, or nil if there is none.
func (s *Store) History(name string) *History {
	s.tables.Lock()
	defer s.tables.Unlock()
	return s.tables.histories[name]
}
