package columnstore

import (
	"fmt"
	"sync/atomic"
	"weak"

	"github.com/granarydb/granary/history"
)

// History is a handle on an interval history of a store (package history). It is safe for concurrent use
// and lives as long as its store. Transactions write it (Tx.History), one at a time, and snapshots read
// it (Snapshot.History). Therefore samples and states become visible together.
type History struct {
	store   *Store
	name    string
	ordinal int
	states  *history.History

	busy     atomic.Bool                // held by the transaction or eviction that has the writer and owns the fields below
	reserved int64                      // bytes in account.pending
	counted  int64                      // bytes in account.histories
	refused  bool                       // a reservation of the transaction failed
	replays  bool                       // recovery is the writer; it makes room between its batches
	most     int                        // HistoryOptions.MaxAttributes
	filed    weak.Pointer[history.View] // view that the history's file has; owned by the flusher
}

// HistoryOptions are a history's options.
type HistoryOptions struct {
	// Start is the first instant of the history. It must be in Unix nanoseconds if the history is joined
	// with samples, or if Options.Retention or Options.MemoryBudget is set, because times of states are
	// then compared with times of rows.
	Start int64
	// MaxAttributes is the greatest number of attributes. 0 means 1<<26.
	MaxAttributes int
}

// Name returns the history's name.
func (h *History) Name() string { return h.name }

// Bytes returns the history's memory, with its indexes and names. Stats.HistoryBytes includes it.
func (h *History) Bytes() int64 { return h.states.Size() }

// reserve reserves bytes for the history's writer. The error is ErrMemory.
func (h *History) reserve(bytes int64) error {
	if h.replays {
		return nil
	}
	if err := h.store.memory.reserve(bytes, incoming{}); err != nil {
		h.refused = true
		return fmt.Errorf("history %q: %w", h.name, err)
	}
	h.reserved += bytes
	return nil
}

// count updates the history's account.
func (h *History) count() {
	size := h.states.Size()
	h.store.memory.histories.Add(size - h.counted)
	h.counted = size
}
