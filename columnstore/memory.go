package columnstore

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/txn"
)

// account keeps the account of what the store holds on the heap, and of what it
// is about to: a root's own bytes are in the root, what only snapshots hold is in
// the log.
type account struct {
	budget  int64        // 0: none
	dicts   atomic.Int64 // dictionaries of generations that tables have
	pending atomic.Int64 // parts of open transactions, inserts and rewrites under way
	making  sync.Mutex   // one makes room at a time
}

// used returns the bytes that the store holds by its own account. What was
// dropped, but is held by snapshots that have been closed since the last sweep,
// is still in it.
func (s *Store) used() int64 {
	return s.log.Root().State.bytes + s.memory.dicts.Load() + s.memory.pending.Load() + s.log.Held()
}

// reserve adds bytes to what is pending, and makes room for them. They are given
// back with release. ErrMemory means that nothing was reserved.
func (s *Store) reserve(bytes int64, in incoming) error {
	s.memory.pending.Add(bytes)
	if s.memory.budget == 0 || s.used() <= s.memory.budget {
		return nil
	}
	s.memory.making.Lock()
	defer s.memory.making.Unlock()
	s.log.Sweep()
	for s.used() > s.memory.budget {
		if !s.evict(in, 1) && !s.log.Expire() && !s.evict(in, math.MaxInt) {
			used := s.used() - bytes
			s.release(bytes)
			return fmt.Errorf("%w: %d bytes are wanted, %d of %d are used, and nothing can be evicted", ErrMemory, bytes, used, s.memory.budget)
		}
	}
	return nil
}

func (s *Store) release(bytes int64) { s.memory.pending.Add(-bytes) }

// incoming is what room is made for: rows of a bucket of a table, or, without a
// table, work of the store's own.
type incoming struct {
	table  *Table
	bucket int64
}

// evict drops a bucket: the first of the oldest n whose rows snapshots do not
// hold all of. It returns false if there is none.
func (s *Store) evict(in incoming, n int) bool {
	held, ok := s.log.Newest()
	candidates := s.evictable(in)
	for _, v := range candidates[:min(n, len(candidates))] {
		if !ok || v.frees(held) {
			s.drop(v)
			return true
		}
	}
	return false
}

// victim is a bucket that can be evicted.
type victim struct {
	table *Table
	state *tableState
	start int64
}

// evictable returns the buckets that may go, oldest first: all but the newest of
// each table. That one may go too if rows of a newer one come, or a generation of
// dictionaries as large as the budget would stop the store for good.
func (s *Store) evictable(in incoming) []victim {
	var out []victim
	root := s.log.Root().State
	for _, t := range s.tablesInOrder() {
		state := root.table(t.ordinal)
		if t.schema.BucketColumn() < 0 {
			continue
		}
		newest := t.schema.BucketStart(state.newest)
		for _, b := range state.buckets.All() {
			if b.start < newest || t == in.table && b.start < in.bucket {
				out = append(out, victim{t, state, b.start})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b victim) int { return cmp.Compare(a.start, b.start) })
	return out
}

// frees says whether something of the bucket, or of those before it, is newer
// than what snapshots hold.
func (v victim) frees(held txn.Version) bool {
	_, end := v.table.schema.BucketBounds(v.start)
	for bound, g := range v.state.granules.All() {
		if bound >= end {
			return false
		}
		for _, s := range g.Slices() {
			if txn.Version(s.Part.Since()) > held {
				return true
			}
		}
	}
	return false
}

// drop publishes a root without the bucket, and those of its table before it.
func (s *Store) drop(v victim) {
	floor := v.table.schema.BucketEnd(v.start)
	s.log.Rewrite(func(current *txn.Root[*root]) (txn.Next[*root], bool) {
		edit := current.State.table(v.table.ordinal).edit(v.table)
		rows := edit.dropBefore(floor)
		edit.state.evicted += rows
		next := txn.Next[*root]{State: current.State}
		edit.done(current.Version+1, &next)
		return next, true
	})
}

// isTight says whether inserts should help with maintenance: seven eighths of the
// budget are used.
func (s *Store) isTight() bool {
	return s.memory.budget > 0 && s.used() > s.memory.budget/8*7
}
