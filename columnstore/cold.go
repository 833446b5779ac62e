package columnstore

import (
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/internal/files"
)

// newStored returns the reader of the table's cold rows, with the table's dictionaries.
func (t *Table) newStored() *cold.Files {
	s := t.store
	rows := &cold.Files{Name: t.name, Schema: t.schema, Cache: s.cache, Log: t.logDicts, Dir: func() *files.Dir { return s.flusher.dir }}
	rows.Dicts = dictionaries.New(dictionaries.Owner{
		New: func() *granule.Generation {
			g := granule.NewGeneration(t.source.Seed)
			g.Lists.Verify(s.opts.VerifyLists)
			g.MostStrings = int(s.opts.stringBytes)
			return g
		},
		Read: func(from files.GenerationFiles, into *granule.Generation) error {
			return s.flusher.dir.ReadDicts(t.schema, from, into)
		},
		Cached: rows.Cached,
		Forget: rows.Forget,
		Reserve: func(bytes int64) (func(), error) {
			if s.log == nil { // Open makes room behind the log
				return func() {}, nil
			}
			return func() { s.memory.release(bytes) }, s.memory.reserve(bytes, incoming{table: t})
		},
		Account: func(bytes int64) { s.memory.dicts.Add(bytes) },
	})
	return rows
}

// mostCached bounds the cache of a store without a memory budget.
const mostCached = 256 << 20

// hasRoom reports whether the cache may grow by bytes.
func (a *account) hasRoom(bytes int64) bool {
	return a.budget.Load() > 0 && a.used()+bytes <= a.share(evictAt) || a.budget.Load() == 0 && a.store.cache.Bytes()+bytes <= mostCached
}
