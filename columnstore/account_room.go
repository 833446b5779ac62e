package columnstore

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/txn"
)

// reserveNow is reserve without writing files.
func (a *account) reserveNow(bytes int64, in incoming) error {
	if a.refuses() {
		return fmt.Errorf("%w: refused by a test", ErrMemory)
	}
	a.pending.Add(bytes)
	if a.budget.Load() == 0 || a.used() <= a.share(evictAt) {
		return nil
	}
	// One goroutine at a time makes room (account). Bytes of waiting goroutines do not count.
	a.release(bytes)
	a.making.Lock()
	defer a.making.Unlock()
	a.pending.Add(bytes)
	if a.used() <= a.share(evictAt) || a.canFit(in) && a.makeRoom(in) {
		return nil
	}
	a.release(bytes)
	return fmt.Errorf("%w: %d bytes are wanted, %d of %d are used, and too little can be evicted", ErrMemory, bytes, a.used(), a.budget.Load())
}

// reserveAtOnce reserves bytes unless that exceeds the budget. It makes no room and takes no lock,
// because its callers hold the commit lock.
func (a *account) reserveAtOnce(bytes int64) bool {
	if a.refuses() {
		return false
	}
	if a.pending.Add(bytes); a.budget.Load() > 0 && a.used() > a.budget.Load() {
		a.release(bytes)
		return false
	}
	return true
}

// canFit reports whether eviction can suffice: whether the bytes that cannot be evicted, and the pending
// bytes, fit into the budget. Memory that only snapshots hold can always go.
func (a *account) canFit(in incoming) bool {
	root := a.store.roots.Root().State
	left := root.Bytes + a.log.Load() + a.pending.Load() + a.dicts.Load() + a.histories.Load()
	keep := map[*Table]int64{} // start of the first time range that stays
	for _, v := range a.evictable(in) {
		bytes, _ := v.bytes(math.MaxUint64)
		left -= bytes
		keep[v.table] = v.table.schema.BucketEnd(v.start) // for a bucket too: at most the dictionaries before it can go
	}
	for t, start := range keep {
		left -= t.generationsBefore(t.firstKept(root, start, in))
	}
	for _, h := range a.evictableStates(in) {
		left -= h.bytes
	}
	return left <= a.budget.Load()
}

// makeRoom evicts time ranges and states, and expires snapshots if necessary. It returns false if the
// store stays above the budget.
//
// A snapshot that is older than the newest two buckets is expected to stay. Eviction does not free the
// memory that it holds, so newer ranges are evicted too. If the snapshot would then hold more than
// pinnedAt, it expires first. A read in progress holds its memory a little longer. Until it ends, its
// rows are evicted only if an insert exceeds the budget, because their eviction frees little.
//
// A younger snapshot is expected to close soon. Its memory does not count in the decision to evict, and
// it expires only if the memory is needed at once.
func (a *account) makeRoom(in incoming) bool {
	var waited time.Duration
	for {
		if over := a.used() - a.share(evictAt); over > 0 && a.store.cache.Shrink(over) {
			continue
		}
		turned := a.store.roots.Root().State.Turned[0]
		staying, newest, _ := a.store.roots.PinnedBefore(turned)
		total, pinned := a.used(), a.store.roots.Pinned()
		withoutYoung := total - pinned + staying
		if withoutYoung > a.share(evictAt) {
			v, ok := a.victim(in, newest, a.share(pinnedAt)-staying)
			if ok && staying+v.pinned > a.share(pinnedAt) {
				if a.store.roots.Expire(0, turned) {
					continue
				}
				full := withoutYoung > a.budget.Load()
				if full && v.pinned > 0 && !in.later && a.awaitReads(pinned, &waited) {
					continue
				}
				if ok = v.pinned == 0 || full && !in.later; !ok && full {
					return false
				}
			}
			if ok {
				a.drop(v, in)
				continue
			}
		}
		switch {
		case total <= a.budget.Load():
			return true
		case withoutYoung > a.budget.Load() && a.store.roots.Expire(0, turned):
		case a.store.roots.Expire(turned, math.MaxUint64):
		case a.awaitReads(pinned, &waited):
		case !a.evictUnread(in):
			return false
		}
	}
}

// patience is how long an insert waits, in total, for reads of expired snapshots before it evicts rows
// that they hold. Such reads end at their next granule. Eviction frees little while they run, and would
// go on until almost nothing is left.
const patience = 250 * time.Millisecond

// awaitReads waits until reads end and less than pinned bytes are pinned, and returns true. It returns
// false if no read ended in time: they stand still, like a scan whose caller takes no record. It waits
// for the same reads only once. waited is the time that the insert has waited.
func (a *account) awaitReads(pinned int64, waited *time.Duration) bool {
	for pause := 50 * time.Microsecond; ; *waited += pause {
		_, newest, _ := a.store.roots.PinnedBefore(math.MaxUint64)
		switch {
		case a.store.roots.Pinned() < pinned:
			return true
		case a.store.opts.Manual || newest == a.stalled:
			return false
		case *waited > patience:
			a.stalled = newest
			return false
		}
		pause = min(2*pause, 4*time.Millisecond)
		time.Sleep(pause)
	}
}

// evictUnread evicts a range that no read in progress holds entirely, after all snapshots have
// expired and their reads do not advance. It returns false if there is none.
func (a *account) evictUnread(in incoming) bool {
	_, newest, _ := a.store.roots.PinnedBefore(math.MaxUint64)
	v, ok := a.victim(in, newest, math.MaxInt64)
	if ok {
		a.drop(v, in)
	}
	return ok
}

func (a *account) release(bytes int64) { a.pending.Add(-bytes) }

func (a *account) refuses() bool { return a.store.opts.refuse != nil && a.store.opts.refuse() }

// victim returns the oldest time range that can be evicted and that snapshots up to version newest do not
// hold entirely, or the states in a history that ended before its end. Such snapshots may hold room more
// bytes.
func (a *account) victim(in incoming, newest txn.Version, room int64) (victim, bool) {
	root := a.store.roots.Root().State
	pinned := map[*Table]int64{}
	histories := a.evictableStates(in)
	for _, v := range a.evictable(in) {
		if v.cold == nil { // unloaded rows are not lost, but states are
			if states, ok := a.statesBefore(v.table.schema.BucketEnd(v.start), histories, in, newest, room); ok {
				return states, true
			}
		}
		bytes, kept := v.bytes(newest)
		pinned[v.table] += kept
		if bytes > kept {
			if v.pinned = pinned[v.table]; v.cold == nil {
				v.pinned += v.table.pinnedBefore(a.floorAfter(root, v, in), v.state, newest)
			}
			return v, true
		}
	}
	return a.statesBefore(math.MaxInt64, histories, in, newest, room)
}

// evictable returns the time ranges that can be evicted, oldest first: all but the newest range of each
// table. The newest can be evicted too if rows in a later range come, because a generation of
// dictionaries as large as the budget would otherwise stop the store for good. With a directory,
// evictable returns the buckets that can be unloaded.
func (a *account) evictable(in incoming) []victim {
	var out []victim
	root := a.store.roots.Root().State
	if a.store.opts.FS != nil {
		out = a.unloadable(root)
		slices.SortStableFunc(out, func(a, b victim) int { return cmp.Compare(a.start, b.start) })
		return out
	}
	for _, t := range a.store.Tables() {
		state := root.Table(t.ordinal)
		if t.schema.BucketColumn() < 0 || state == nil {
			continue
		}
		newest := t.schema.BucketStart(state.Newest)
		for _, b := range state.Buckets.All() {
			start := t.schema.BucketStart(b.Start)
			if n := len(out); n > 0 && out[n-1].table == t && out[n-1].start == start {
				continue // another bucket of the same time range
			}
			// A range below the floor has gone already. Evicting it would free nothing and loop for ever.
			if start >= state.Floor && (start < newest || t == in.table && start < in.start) {
				out = append(out, victim{table: t, state: state, start: start})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b victim) int { return cmp.Compare(a.start, b.start) })
	return out
}

// floorAfter returns the floor that the eviction of a time range sets: the range's end, or the start of
// the next generation with rows if its own generation has no more. Dictionaries below the floor are
// dropped.
func (a *account) floorAfter(root *catalog.Database, v victim, in incoming) int64 {
	end := v.table.schema.BucketEnd(v.start)
	return max(end, v.table.ranges.Start(v.table.firstKept(root, end, in)))
}

// drop publishes a root without the victim: without its time range and earlier ranges of the table, its
// old states, or the in-memory rows in its bucket.
func (a *account) drop(v victim, in incoming) {
	switch {
	case v.history != nil:
		v.history.evict(v.before)
		return
	case v.cold != nil:
		a.unload(v)
		return
	}
	t := v.table
	a.store.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (txn.Next[*catalog.Database], bool) {
		edit := current.State.Table(t.ordinal).Edit(t.ordinal)
		defer edit.Release()
		edit.Evict(a.floorAfter(current.State, v, in))
		next := txn.Next[*catalog.Database]{State: current.State}
		t.finish(edit, current.Version+1, &next)
		return next, true
	})
}

// reserveNeed reserves the bytes that need returns: a cheap upper bound, or, if the bound does
// not fit, the exact number after looking up every value.
func (a *account) reserveNeed(need func(lookUp bool) int, in incoming) (int64, error) {
	if a.budget.Load() == 0 {
		return 0, nil
	}
	bytes := int64(need(false))
	if a.usedBesideCache()+bytes > a.share(evictAt) {
		bytes = int64(need(true))
	}
	return bytes, a.reserve(bytes, in)
}

// used returns the bytes that the store accounts for. They can include memory of snapshots that were
// closed since the last sweep.
func (a *account) used() int64 { return a.usedBesideCache() + a.store.cache.Bytes() }

// usedBesideCache is used without the cache, because the cache makes room for everything else.
func (a *account) usedBesideCache() int64 {
	return a.store.roots.Root().State.Bytes + a.log.Load() + a.dicts.Load() + a.histories.Load() + a.pending.Load() + a.store.roots.Pinned()
}

func (a *account) share(of16 int64) int64 { return a.budget.Load() / 16 * of16 }

// isTight reports whether inserts should help with maintenance.
func (a *account) isTight() bool {
	return a.budget.Load() > 0 && a.usedBesideCache() > a.share(helpAt)
}

// Sixteenths of the budget. From helpAt on, inserts help with maintenance. From evictAt on, the oldest
// ranges are evicted. The rest is left for readers of evicted data. Snapshots that stay open may hold up
// to pinnedAt, because a leaked snapshot must not cost more.
const (
	helpAt   = 14
	evictAt  = 15
	pinnedAt = 4
)

// reserve reserves bytes and makes room for them: it unloads rows, then writes files and unloads more,
// then evicts states. The caller gives the bytes back with release. The error is ErrMemory if too little
// room can be made; then nothing is reserved. The caller holds no lock.
func (a *account) reserve(bytes int64, in incoming) error {
	in.sparing = a.sparesStates()
	err := a.reserveNow(bytes, in)
	for tries := 0; err != nil && a.store.log != nil && !in.later && tries < 3; tries++ { // other inserts fill the log meanwhile
		done, failed := a.store.flusher.fileForRoom()
		switch {
		case failed != nil && (!in.sparing || !errors.Is(failed, ErrMemory)):
			return errors.Join(err, failed)
		case !done && !in.sparing:
			return err
		}
		in.sparing = in.sparing && done && tries == 0 && a.sparesStates()
		err = a.reserveNow(bytes, in)
	}
	return err
}

// sparesStates reports whether states of histories must not be evicted yet, because many rows are only in
// the log: files would let them be unloaded.
func (a *account) sparesStates() bool {
	return a.store.log != nil && a.store.flusher.logged.Load() > a.share(1)/2
}
