package columnstore

import (
	"fmt"
	"math"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/txn"
)

// historyWrite is a history's writer within a transaction.
type historyWrite struct {
	history *History
	tx      *history.Draft
	evicts  bool // it drops states for the memory budget
}

// History returns the transaction's writer of a history, the same at each call. The transaction commits
// or aborts its writes. One transaction at a time has the writer. Others get history.ErrBusy. The other
// errors are history.ErrClosed for a closed history, ErrTxDone, ErrClosed, and ErrTable for another
// store's history.
//
// With a memory budget, the writer's methods may return ErrMemory. The caller should then commit, which
// may drop the oldest states, or abort.
func (tx *Tx) History(h *History) (*history.Writer, error) {
	switch {
	case tx.ticket.Done():
		return nil, ErrTxDone
	case h.store != tx.store:
		return nil, fmt.Errorf("%w: transaction and history %q are of different stores", ErrTable, h.name)
	}
	if err := tx.store.writable(); err != nil {
		return nil, err
	}
	for i := range tx.histories {
		if tx.histories[i].history == h {
			return tx.histories[i].tx.Writer, nil
		}
	}
	if !h.acquire() {
		return nil, fmt.Errorf("history %q: %w", h.name, history.ErrBusy)
	}
	inner, err := h.states.Begin()
	if err != nil {
		h.busy.Store(false)
		return nil, fmt.Errorf("history %q: %w", h.name, err)
	}
	tx.histories = append(tx.histories, historyWrite{history: h, tx: inner})
	return inner.Writer, nil
}

// acquire takes the writer for a transaction. It returns false if another transaction has it.
func (h *History) acquire() bool {
	if h.busy.CompareAndSwap(false, true) {
		return true
	}
	// An eviction can hold the writer. It ends before making is unlocked.
	h.store.memory.making.Lock()
	defer h.store.memory.making.Unlock()
	return h.busy.CompareAndSwap(false, true)
}

// trim drops states that are older than the retention, or the oldest states if memory is short. It ends
// the writes.
func (w *historyWrite) trim() {
	s := w.history.store
	view := s.roots.Root().State.Histories[w.history.ordinal]
	if keep := s.retention.Load(); keep > 0 && view.Instants() {
		// Drop in steps, because each drop rewrites all lanes that lose a state.
		if floor := view.End() - keep; floor < view.End() && floor-keep/16 > view.Start() {
			w.tx.DropBefore(floor)
		}
	}
	if s.memory.isTight() {
		w.evictOwn()
	}
	w.tx.Prepare()
}

// evictOwn drops states in a history at its commit: states older than the oldest rows, or others if there
// are none and the history found no room or histories fill the store.
func (w *historyWrite) evictOwn() {
	s, h := w.history.store, w.history
	if s.memory.sparesStates() {
		if _, _ = s.flusher.fileForRoom(); !s.memory.isTight() {
			return
		}
	}
	urgent := h.refused || 2*s.memory.histories.Load() > s.memory.used()
	in := incoming{history: h, urgent: urgent}
	if v, ok := s.memory.victim(in, 0, math.MaxInt64); ok && v.history == h && (urgent || len(s.memory.evictable(in)) > 0) {
		w.dropOldest(v.before)
	}
}

// publish puts the view with the transaction's writes into the next root.
func (w *historyWrite) publish(next *txn.Next[*catalog.Database]) error {
	view, err := w.tx.Publish()
	if err != nil {
		return err
	}
	next.State = next.State.ReplaceHistory(w.history.ordinal, view)
	dropped := w.tx.Dropped()
	if w.evicts {
		w.history.store.counters.evictedStates.Add(dropped)
	}
	if dropped > 0 {
		next.Garbage = append(next.Garbage, txn.Garbage{Bytes: dropped})
	}
	return nil
}

// end packs published writes, or drops unpublished ones, and updates the history's account.
func (w *historyWrite) end() {
	w.tx.Seal()
	w.tx.Abort() // does nothing after publication
	h := w.history
	h.count()
	h.store.memory.release(h.reserved)
	h.reserved, h.refused = 0, false
	h.busy.Store(false)
}

// endHistories releases the histories to other writers.
func (tx *Tx) endHistories() {
	for i := range tx.histories {
		tx.histories[i].end()
	}
	tx.histories = nil
}
