package columnstore

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/txn"
)

// History is a handle on an interval history of a store (package history). It is safe for
// concurrent use and lives as long as its store. It is written within transactions
// (Tx.History), by one at a time, and read in snapshots (Snapshot.History): so samples and
// states of one system become visible together.
type History struct {
	store   *Store
	name    string
	ordinal int
	states  *history.History

	busy     atomic.Bool // a transaction has the writer; what follows is that one's
	reserved int64       // bytes that are pending
	counted  int64       // bytes in account.histories
}

// HistoryOptions configures a history.
type HistoryOptions struct {
	// Start is the first instant of the history, in Unix nanoseconds if it is to be
	// joined with samples or Options.Retention is set.
	Start int64
	// MaxAttributes bounds the number of attributes; 0 means 1<<26.
	MaxAttributes int
}

// CreateHistory makes an empty history. Errors wrap ErrTable for a name that another
// history has, and history.ErrLimit.
func (s *Store) CreateHistory(name string, opts HistoryOptions) (*History, error) {
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
	s.log.Rewrite(func(current *txn.Root[*root]) (next txn.Next[*root], ok bool) {
		r := *current.State
		r.histories = append(slices.Clip(r.histories), h.states.Empty())
		next.State = &r
		return next, true
	})
	s.tables.histories[name] = h
	return h, nil
}

// History returns the history with the given name, nil if there is none.
func (s *Store) History(name string) *History {
	s.tables.Lock()
	defer s.tables.Unlock()
	return s.tables.histories[name]
}

// Name returns the history's name.
func (h *History) Name() string { return h.name }

// History returns the state of a history in the snapshot. A view is a value of its own: it
// stays as it is when the snapshot is closed or expires, and holds what it has for as long
// as it is referred to, out of the store's account from then on. The errors are
// ErrSnapshotClosed, ErrSnapshotExpired, and ErrTable for a history of another store.
func (s *Snapshot) History(h *History) (*history.View, error) {
	if s.store != h.store {
		return nil, fmt.Errorf("%w: snapshot and history %q are of different stores", ErrTable, h.name)
	}
	r, err := s.state.State()
	if err != nil {
		return nil, err
	}
	if h.ordinal >= len(r.histories) {
		return h.states.Empty(), nil
	}
	return r.histories[h.ordinal], nil
}

// historyWrite is a history in a transaction.
type historyWrite struct {
	history *History
	tx      *history.Tx
}

// History returns the writer of a history within the transaction, the same at each call.
// It is the transaction that commits or aborts what it writes. One transaction at a time
// has it: history.ErrBusy is for the others. history.ErrClosed says that the history was
// closed; the other errors are ErrTxDone, ErrClosed and ErrTable.
//
// With a memory budget, the writer's methods may return ErrMemory; then commit, which may
// drop what is oldest, or abort.
func (tx *Tx) History(h *History) (*history.Writer, error) {
	switch {
	case tx.tx.Done():
		return nil, ErrTxDone
	case h.store != tx.store:
		return nil, fmt.Errorf("%w: transaction and history %q are of different stores", ErrTable, h.name)
	case tx.store.closed.Load():
		return nil, ErrClosed
	}
	for i := range tx.histories {
		if tx.histories[i].history == h {
			return tx.histories[i].tx.Writer, nil
		}
	}
	if !h.busy.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("history %q: %w", h.name, history.ErrBusy)
	}
	inner, err := h.states.Begin()
	if err != nil {
		h.busy.Store(false)
		return nil, fmt.Errorf("history %q: %w", h.name, err)
	}
	tx.histories = append(tx.histories, historyWrite{h, inner})
	return inner.Writer, nil
}

// reserve reserves what the history's writer is about to take.
func (h *History) reserve(bytes int64) error {
	if err := h.store.reserve(bytes, incoming{}); err != nil {
		return fmt.Errorf("history %q: %w", h.name, err)
	}
	h.reserved += bytes
	return nil
}

// trim has the history drop what is older than is kept, when the transaction commits.
func (w *historyWrite) trim() {
	s := w.history.store
	view := s.log.Root().State.histories[w.history.ordinal]
	if keep := int64(s.opts.Retention); keep > 0 && view.Instants() {
		// In steps, for each renews all lanes that lose something.
		if floor := view.End() - keep; floor < view.End() && floor-keep/16 > view.Start() {
			w.tx.DropBefore(floor)
		}
	}
	if bytes := s.memory.histories.Load(); s.isTight() && 2*bytes > s.used() {
		w.tx.DropBytes(w.history.counted / 8)
	}
}

// publish puts the view with what was written into the next root.
func (w *historyWrite) publish(next *txn.Next[*root]) error {
	view, err := w.tx.Publish()
	if err != nil {
		return err
	}
	r := *next.State
	r.histories = slices.Clone(r.histories)
	r.histories[w.history.ordinal] = view
	next.State = &r
	if dropped := w.tx.Dropped(); dropped > 0 {
		next.Garbage = append(next.Garbage, txn.Garbage{Bytes: dropped})
	}
	return nil
}

// end packs what was published, or drops what was not, and counts what the history holds.
func (w *historyWrite) end() {
	w.tx.Seal()
	w.tx.Abort() // does nothing if it was published
	h := w.history
	size := h.states.Size()
	h.store.memory.histories.Add(size - h.counted)
	h.store.release(h.reserved)
	h.counted, h.reserved = size, 0
	h.busy.Store(false)
}
