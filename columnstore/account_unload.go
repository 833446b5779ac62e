package columnstore

import (
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
func (a *account) unloadable(root *catalog.Database) (out []victim) {
	for _, t := range a.store.Tables() {
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
func (a *account) unload(v victim) {
	t := v.table
	a.store.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) {
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
// uses, then the oldest buckets until memory is below coolTo. Close needs no memory.
func (a *account) cool() {
	short := func() bool {
		return a.budget.Load() > 0 && !a.store.closed.Load() && a.usedBesideCache() > a.share(coolTo)
	}
	for _, v := range a.unloadable(a.store.roots.Root().State) {
		b, ok := v.state.Buckets.Get(v.key)
		if ok && b.Cold != nil || short() {
			a.unload(v)
		}
	}
	for _, t := range a.store.Tables() {
		for _, g := range t.generations.All() { // generations that were in use when their last bucket was unloaded
			if !short() {
				return
			}
			a.store.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) {
				next.State = current.State
				if state := current.State.Table(t.ordinal); state != nil {
					next.Garbage = t.stored.Demote(state, g.Number, t.ranges)
				}
				return next, len(next.Garbage) > 0
			})
		}
	}
}
