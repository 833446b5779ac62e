package columnstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/txn"
)

// A store with a directory never drops a row for the memory budget. It unloads buckets whose rows are in
// files. If these are too few, it writes files first.

// coolTo is the share of the budget, in sixteenths, to which rows and dictionaries are unloaded after
// files were written, because the cache needs room.
const coolTo = 10

// unloadable returns the buckets whose rows are both in memory and in files, by table and time.
func (s *Store) unloadable(root *catalog.Database) (out []victim) {
	for _, t := range s.tablesInOrder() {
		state, files := root.Table(t.ordinal), t.files.Load()
		if state == nil || files == nil {
			continue
		}
		for key, b := range state.Buckets.All() {
			if cold := cold.CanUnload(state, b, files, t.generationOf(b.Start)); cold != nil {
				out = append(out, victim{table: t, state: state, start: b.Start, key: key, cold: cold})
			}
		}
	}
	return out
}

// unload publishes a root without the in-memory rows in a bucket, and without dictionaries that only
// these rows needed, unless the bucket has changed meanwhile.
func (s *Store) unload(v victim) {
	t := v.table
	s.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) {
		state := current.State.Table(t.ordinal)
		b, ok := state.Buckets.Get(v.key)
		if !ok {
			return next, false
		}
		if cold := cold.CanUnload(state, b, t.files.Load(), v.cold.Generation); cold == nil || cold.File != v.cold.File {
			return next, false
		}
		edit := state.Edit(t.ordinal)
		defer edit.Release()
		edit.Unload(v.key, v.cold)
		next.State = current.State
		t.finish(edit, current.Version+1, &next)
		next.Garbage = append(next.Garbage, t.stored.Demote(next.State.Table(t.ordinal), v.cold.Generation, t.ranges)...)
		return next, true
	})
}

// cool unloads after a flush: first each bucket whose file replaced an older file that the root still
// uses, then the oldest buckets until memory is below coolTo.
func (s *Store) cool() {
	for _, v := range s.unloadable(s.roots.Root().State) {
		b, ok := v.state.Buckets.Get(v.key)
		if ok && b.Cold != nil || s.memory.budget > 0 && s.usedBesideCache() > s.share(coolTo) {
			s.unload(v)
		}
	}
	if s.memory.budget == 0 {
		return
	}
	for _, t := range s.tablesInOrder() {
		for _, g := range t.generations.All() { // generations that were in use when their last bucket was unloaded
			if s.usedBesideCache() <= s.share(coolTo) {
				return
			}
			s.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) {
				next.State = current.State
				if state := current.State.Table(t.ordinal); state != nil {
					next.Garbage = t.stored.Demote(state, g.Number, t.ranges)
				}
				return next, len(next.Garbage) > 0
			})
		}
	}
}

// fileForRoom writes rows that only the log has into files, so that they can be unloaded. It reports
// whether it wrote any, and the error of the disk.
func (s *Store) fileForRoom() (done bool, err error) {
	fl := &s.flusher
	if !s.lockFlush() {
		return false, nil
	}
	defer fl.flushing.Unlock()
	if fl.logged.Load() == 0 {
		return false, nil
	}
	if err := s.flushWhole(context.Background()); err != nil {
		return false, fmt.Errorf("write files: %w", err)
	}
	return true, nil
}

// sparesStates reports whether states of histories must not be evicted yet, because many rows are only in
// the log: files would let them be unloaded.
func (s *Store) sparesStates() bool { return s.log != nil && s.flusher.logged.Load() > s.share(1)/2 }

// reserve reserves bytes and makes room for them: it unloads rows, then writes files and unloads more,
// then evicts states. The caller gives the bytes back with release. The error is ErrMemory if too little
// room can be made; then nothing is reserved. The caller holds no lock.
func (s *Store) reserve(bytes int64, in incoming) error {
	in.sparing = s.sparesStates()
	err := s.reserveNow(bytes, in)
	for tries := 0; err != nil && s.log != nil && !in.later && tries < 3; tries++ { // other inserts fill the log meanwhile
		done, failed := s.fileForRoom()
		switch {
		case failed != nil && (!in.sparing || !errors.Is(failed, ErrMemory)):
			return errors.Join(err, failed)
		case !done && !in.sparing:
			return err
		}
		in.sparing = in.sparing && done && tries == 0 && s.sparesStates()
		err = s.reserveNow(bytes, in)
	}
	return err
}
