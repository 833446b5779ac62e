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
	budget    int64        // 0: none
	dicts     atomic.Int64 // dictionaries of generations that tables have
	histories atomic.Int64 // interval histories, as of the last transaction on each
	pending   atomic.Int64 // parts of open transactions, inserts and rewrites under way
	making    sync.Mutex   // one makes room at a time
}

// used returns the bytes that the store holds by its own account. What was
// dropped, but is held by snapshots that have been closed since the last sweep,
// is still in it.
func (s *Store) used() int64 {
	return s.log.Root().State.bytes + s.memory.dicts.Load() + s.memory.histories.Load() + s.memory.pending.Load() + s.log.Held()
}

// Of 16 parts of the budget: from helpAt on, inserts help with maintenance; from
// evictAt on, the oldest buckets are evicted, and what is left is for those who read
// what is evicted; heldAt is what snapshots that stay open may hold of it.
const (
	helpAt  = 14
	evictAt = 15
	heldAt  = 8
)

func (s *Store) share(of16 int64) int64 { return s.memory.budget / 16 * of16 }

// reserve adds bytes to what is pending, and makes room for them. They are given
// back with release. ErrMemory means that nothing was reserved.
func (s *Store) reserve(bytes int64, in incoming) error {
	s.memory.pending.Add(bytes)
	if s.memory.budget == 0 || s.used() <= s.share(evictAt) {
		return nil
	}
	// One at a time, so that nobody makes room for those who wait.
	s.release(bytes)
	s.memory.making.Lock()
	defer s.memory.making.Unlock()
	s.memory.pending.Add(bytes)
	if s.used() <= s.share(evictAt) || s.canFit(in) && s.makeRoom(in) {
		return nil
	}
	s.release(bytes)
	return fmt.Errorf("%w: %d bytes are wanted, %d of %d are used, and too little can be evicted", ErrMemory, bytes, s.used(), s.memory.budget)
}

// canFit says whether it helps to evict: whether what must stay, and what is
// pending, is within the budget. What snapshots hold is taken to go.
func (s *Store) canFit(in incoming) bool {
	root := s.log.Root().State
	left := root.bytes + s.memory.pending.Load() + s.memory.dicts.Load() + s.memory.histories.Load()
	keep := map[*Table]int64{} // start of the first time range that stays
	for _, v := range s.evictable(in) {
		bytes, _ := v.bytes(math.MaxUint64)
		left -= bytes
		keep[v.table] = v.table.schema.BucketEnd(v.start)
	}
	for t, start := range keep {
		left -= t.generationsBefore(t.firstKept(root, start, in))
	}
	return left <= s.memory.budget
}

// firstKept returns the start of the first time range from start on that has rows, or
// that rows come for.
func (t *Table) firstKept(root *root, start int64, in incoming) int64 {
	key, _ := t.schema.BucketBounds(start)
	for bound, b := range root.table(t.ordinal).buckets.Overlapping(key, "") {
		if bound >= key {
			return t.schema.BucketStart(b.start)
		}
	}
	if in.table == t {
		return max(start, in.start)
	}
	return start
}

// makeRoom evicts, and expires snapshots if it must; it returns false if what is
// used stays above the budget.
//
// A snapshot that is older than the newest two buckets is there to stay: what it
// holds is not freed by evicting it, so newer buckets go too; if that would have it
// hold half of the budget, it expires. Younger ones will soon be closed: they do not
// count when it is decided what to evict, and expire only if that cannot wait.
func (s *Store) makeRoom(in incoming) bool {
	for {
		turned := s.log.Root().State.turned[0]
		staying, newest, _ := s.log.HeldBefore(turned)
		total := s.used()
		withoutYoung := total - s.log.Held() + staying
		if withoutYoung > s.share(evictAt) {
			if v, ok := s.victim(in, newest); ok {
				if staying+v.held <= s.share(heldAt) || !s.log.Expire(0, turned) {
					s.drop(v, in)
				}
				continue
			}
		}
		switch {
		case total <= s.memory.budget:
			return true
		case withoutYoung > s.memory.budget && s.log.Expire(0, turned):
		case s.log.Expire(turned, math.MaxUint64):
		case !s.evictUnread(in):
			return false
		}
	}
}

// evictUnread evicts what no read under way holds, when all snapshots have expired
// and reads of them stand still. It returns false if there is nothing.
func (s *Store) evictUnread(in incoming) bool {
	_, newest, _ := s.log.HeldBefore(math.MaxUint64)
	v, ok := s.victim(in, newest)
	if ok {
		s.drop(v, in)
	}
	return ok
}

func (s *Store) release(bytes int64) { s.memory.pending.Add(-bytes) }

// incoming is what room is made for: rows of a time range of a table, or, without a
// table, work of the store's own.
type incoming struct {
	table *Table
	start int64
}

// victim is a time range that can be evicted, with all before it in its table.
type victim struct {
	table *Table
	state *tableState
	start int64
	held  int64 // bytes that eviction would not free: staying snapshots have them
}

// victim returns the oldest time range that can be evicted, and that snapshots of
// version newest and before do not hold all of.
func (s *Store) victim(in incoming, newest txn.Version) (victim, bool) {
	var held int64
	for _, v := range s.evictable(in) {
		bytes, kept := v.bytes(newest)
		held += kept
		if bytes > kept {
			v.held = held
			return v, true
		}
	}
	return victim{}, false
}

// evictable returns the time ranges that may go, oldest first: all but the newest of
// each table. That one may go too if rows of a newer one come, or a generation of
// dictionaries as large as the budget would stop the store for good.
func (s *Store) evictable(in incoming) []victim {
	var out []victim
	root := s.log.Root().State
	for _, t := range s.tablesInOrder() {
		state := root.table(t.ordinal)
		if t.schema.BucketColumn() < 0 || state == nil {
			continue
		}
		newest := t.schema.BucketStart(state.newest)
		for _, b := range state.buckets.All() {
			start := t.schema.BucketStart(b.start)
			if n := len(out); n > 0 && out[n-1].table == t && out[n-1].start == start {
				continue // another bucket of the same time range
			}
			// Before the floor there is nothing; if there were, this would not end.
			if start >= state.floor && (start < newest || t == in.table && start < in.start) {
				out = append(out, victim{table: t, state: state, start: start})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b victim) int { return cmp.Compare(a.start, b.start) })
	return out
}

// bytes returns the bytes of the range's rows, and how many of them the roots up to
// the given version have too.
func (v victim) bytes(newest txn.Version) (bytes, kept int64) {
	for _, g := range v.state.granules.Overlapping(v.table.rangeBounds(v.start)) {
		for _, s := range g.Slices() {
			bytes += int64(s.Size())
			if txn.Version(s.Part.Since()) <= newest {
				kept += int64(s.Size())
			}
		}
	}
	return bytes, kept
}

// drop publishes a root without the range, and those of its table before it. The
// floor rises to the generation of the first range that stays: those before it have
// no rows, and their dictionaries go.
func (s *Store) drop(v victim, in incoming) {
	t := v.table
	s.log.Rewrite(func(current *txn.Root[*root]) (txn.Next[*root], bool) {
		edit := current.State.table(t.ordinal).edit(t)
		defer edit.release()
		end := t.schema.BucketEnd(v.start)
		floor := max(end, t.generationStart(t.firstKept(current.State, end, in)))
		edit.state.evicted += edit.dropBefore(floor)
		next := txn.Next[*root]{State: current.State}
		edit.done(current.Version+1, &next)
		return next, true
	})
}

// isTight says whether inserts should help with maintenance.
func (s *Store) isTight() bool {
	return s.memory.budget > 0 && s.used() > s.share(helpAt)
}
