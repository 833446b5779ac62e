package columnstore

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// CreateTable creates an empty table. With a directory it is durable when CreateTable returns. The errors
// are ErrClosed, schema.ErrSchema for an invalid definition, ErrTable for a name that is taken or is not
// UTF-8, and errors from Options.Rand and from the disk (Tx.Commit).
func (s *Store) CreateTable(name string, def schema.Definition) (*Table, error) {
	e := entries.TableEntry{Name: name, Ranges: s.opts.generationBuckets(def.Bucket.Width), Definition: def}
	e.Definition.Columns, e.Definition.SortingKey, e.Definition.Header = slices.Clone(def.Columns), slices.Clone(def.SortingKey), slices.Clone(def.Header)
	s.creating.Lock() // the entry needs the ordinal before it has a place in the log
	defer s.creating.Unlock()
	e.Ordinal = len(s.Tables())
	log, err := s.prepareNew(entries.EntryTable, name, e)
	if err != nil {
		return nil, err
	}
	defer log.Done()
	t, err := s.addTable(e, &log)
	if err != nil {
		return nil, err
	}
	return t, log.Sync()
}

// addTable adds a table, and its entry to the log.
func (s *Store) addTable(e entries.TableEntry, log *disk.Prepared) (*Table, error) {
	sch, err := schema.New(e.Definition)
	if err != nil {
		return nil, fmt.Errorf("create table %q: %w", e.Name, err)
	}
	var seed [8]byte
	if _, err := io.ReadFull(s.opts.Rand, seed[:]); err != nil {
		return nil, fmt.Errorf("create table %q: hash seed: %w", e.Name, err)
	}
	s.tables.Lock()
	defer s.tables.Unlock()
	if s.closed.Load() {
		return nil, ErrClosed
	}
	if s.tables.byName[e.Name] != nil {
		return nil, fmt.Errorf("%w: %q exists already", ErrTable, e.Name)
	}
	t := &Table{schema: sch, store: s, name: e.Name, ordinal: e.Ordinal, ranges: dictionaries.Ranges{Width: sch.BucketWidth(), Count: e.Ranges}, definition: e.Definition}
	t.stored = t.newStored()
	t.generations = t.stored.Dicts
	t.source = filter.Env{
		Schema: sch, Seed: binary.LittleEndian.Uint64(seed[:]), SeriesColumns: t.keepSeriesColumns, Yield: s.opts.Yield,
		Dictionaries: t.stored.Dictionaries, Cold: t.stored.Granules, FindID: t.stored.FindID,
	}
	s.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) {
		next.State = current.State.WithTable(catalog.NewTableState(sch))
		log.Append(0, 0)
		return next, true
	})
	s.tables.byName[e.Name] = t
	return t, nil
}

// Table returns the table with the given name, or nil if there is none.
func (s *Store) Table(name string) *Table {
	s.tables.Lock()
	defer s.tables.Unlock()
	return s.tables.byName[name]
}

// Tables returns all tables in the order of their creation.
func (s *Store) Tables() []*Table {
	s.tables.Lock()
	defer s.tables.Unlock()
	return slices.SortedFunc(maps.Values(s.tables.byName), func(a, b *Table) int { return a.ordinal - b.ordinal })
}
