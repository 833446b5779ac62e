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
	bytes   int64 // upper bound for all of them
	oldest  int64 // no state ends before it
}

// evictableStates returns the histories with states that can be evicted, the oldest states first. A
// history keeps its latest states. It also keeps the states of the newest time bucket of all tables and
// of in, unless room is made for the history itself. A transaction that writes a history evicts its
// states at the commit.
func (a *account) evictableStates(in incoming) (out []oldStates) {
	if in.sparing {
		return nil
	}
	newest := a.newestStates(in)
	for _, h := range a.store.Histories() {
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

// newestStates returns the instant from which on states are kept.
func (a *account) newestStates(in incoming) int64 {
	newest := a.store.roots.Root().State.Newest
	if in.table != nil && in.table.schema.BucketColumn() >= 0 {
		newest = max(newest, in.start)
	}
	if newest == math.MinInt64 || in.urgent {
		return math.MaxInt64
	}
	return newest
}

// statesBefore returns the first history with old states as a victim: its states that ended before end,
// the end of the oldest time range that can be evicted. A snapshot that is expected to stay holds all of
// them, so their eviction would free nothing. They are a victim only if they are larger than room, the
// bytes that such snapshots may still hold: then the snapshot expires first.
func (a *account) statesBefore(end int64, histories []oldStates, in incoming, newest txn.Version, room int64) (victim, bool) {
	for _, old := range histories {
		if old.oldest >= end {
			break
		}
		v := victim{history: old.history, before: min(end, a.newestStates(in))}
		if newest == 0 {
			return v, true
		}
		if v.pinned = old.bytes; v.pinned > room {
			return v, true
		}
	}
	return victim{}, false
}

// Histories returns the store's histories in creation order.
func (s *Store) Histories() []*History {
	s.tables.Lock()
	defer s.tables.Unlock()
	return slices.SortedFunc(maps.Values(s.tables.histories), func(a, b *History) int { return a.ordinal - b.ordinal })
}

// evict drops an eighth of a history: the oldest states that ended before the instant before. It does
// nothing if a transaction has the writer.
func (h *History) evict(before int64) {
	if !h.busy.CompareAndSwap(false, true) {
		return
	}
	tx, err := h.states.BeginDrop()
	if err != nil { // not reached: the holder of h.busy has the writer
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

// dropOldest lets the commit drop an eighth of the history: the oldest states that ended before the
// instant before. It returns false if there is nothing to drop.
func (w *historyWrite) dropOldest(before int64) bool {
	w.evicts = w.tx.DropBytes(max(1, w.history.counted/8), before)
	return w.evicts
}
