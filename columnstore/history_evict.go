package columnstore

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/txn"
)

// oldStates is a history with states that can be evicted.
type oldStates struct {
	history *History
	bytes   int64 // of all of them, at most
	oldest  int64 // none of them ends before
}

// evictableStates returns the histories with states that can be evicted, those with the oldest
// states first. A history keeps its latest states, and those of the newest time bucket of all
// tables, the rows that come included, unless room is made for its own. The states of a history that a transaction writes can
// go at the commit alone.
func (s *Store) evictableStates(in incoming) (out []oldStates) {
	if in.sparing {
		return nil
	}
	newest := s.newestStates(in)
	for _, h := range s.Histories() {
		if h.busy.Load() && h != in.history {
			continue
		}
		if bytes, oldest := h.states.Droppable(); bytes > 0 && oldest < newest {
			out = append(out, oldStates{h, bytes, oldest})
		}
	}
	slices.SortStableFunc(out, func(a, b oldStates) int { return cmp.Compare(a.oldest, b.oldest) })
	return out
}

// newestStates returns the instant from which on states stay.
func (s *Store) newestStates(in incoming) int64 {
	newest := s.roots.Root().State.Newest
	if in.table != nil && in.table.schema.BucketColumn() >= 0 {
		newest = max(newest, in.start)
	}
	if newest == math.MinInt64 || in.urgent {
		return math.MaxInt64
	}
	return newest
}

// statesBefore returns the first of some histories as a victim: its states that ended before the
// end of the oldest time range that can be evicted, if there are any. A snapshot that is expected
// to stay holds them all, so that their eviction frees nothing. They are no victim unless they
// are larger than the room that such snapshots have left: then the snapshot expires first.
func (s *Store) statesBefore(end int64, histories []oldStates, in incoming, newest txn.Version, room int64) (victim, bool) {
	for _, old := range histories {
		if old.oldest >= end {
			break
		}
		v := victim{history: old.history, before: min(end, s.newestStates(in))}
		if newest == 0 {
			return v, true
		}
		if v.pinned = old.bytes; v.pinned > room {
			return v, true
		}
	}
	return victim{}, false
}

// Histories returns the histories of the store in the order of their creation.
func (s *Store) Histories() []*History {
	s.tables.Lock()
	defer s.tables.Unlock()
	return slices.SortedFunc(maps.Values(s.tables.histories), func(a, b *History) int { return a.ordinal - b.ordinal })
}

// evict drops an eighth of a history, of the states that ended before an instant. It does nothing
// if a transaction has the writer.
func (h *History) evict(before int64) {
	if !h.busy.CompareAndSwap(false, true) {
		return
	}
	tx, err := h.states.BeginDrop()
	if err != nil { // not reached: who has h.busy has the writer
		h.busy.Store(false)
		return
	}
	w := historyWrite{history: h, tx: tx}
	defer w.end()
	if !w.dropOldest(before) {
		return
	}
	tx.Prepare()
	h.store.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) {
		next.State = current.State
		return next, w.publish(&next) == nil
	})
}

// dropOldest has the commit drop an eighth of the history, of the states that ended before an
// instant. It reports whether there is anything to drop.
func (w *historyWrite) dropOldest(before int64) bool {
	w.evicts = w.tx.DropBytes(max(1, w.history.counted/8), before)
	return w.evicts
}
