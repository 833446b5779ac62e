package columnstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/internal/files"
)

// insertAt inserts a row for each time in its own transaction.
func insertAt(t *testing.T, table *Table, times ...int64) {
	t.Helper()
	for _, at := range times {
		if _, err := table.Insert(t.Context(), heavy(at, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

func seal(t *testing.T, table *Table, before int64) []Unit {
	t.Helper()
	units, err := table.Seal(t.Context(), before)
	if err != nil {
		t.Fatal(err)
	}
	return units
}

func TestSeal_Errors(t *testing.T) {
	store, table := open(t, Options{PastLimit: -1, FutureLimit: -1, Manual: true}, samples(10))
	insertAt(t, table, 1, 25)
	before := snapshot(t, store)
	defer before.Close()
	seal(t, table, 20)
	after := snapshot(t, store)
	defer after.Close()
	for _, of := range []struct {
		snap *Snapshot
		id   uint64
		want error
	}{{before, 1, ErrUnit}, {after, 2, ErrUnit}, {after, 1, nil}, {before, 0, nil}} {
		if _, err := table.RecordSchema(of.snap, ScanOptions{Buckets: []uint64{0, of.id}}); !errors.Is(err, of.want) {
			t.Errorf("unit %d: %v, want %v", of.id, err, of.want)
		}
	}
	plain, err := store.CreateTable("plain", samples(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plain.Seal(t.Context(), 1); !errors.Is(err, ErrTable) {
		t.Errorf("a table without ranges: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := table.Seal(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	store.Close()
	if _, err := table.Drop(t.Context(), []uint64{1}); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// Rows of units that nobody dropped as such are counted when retention, DropBefore or the memory budget drops them.
func TestSeal_Lost(t *testing.T) {
	opts := Options{PastLimit: -1, FutureLimit: -1, Manual: true}
	lost := func(opts Options, drop func(*Store, *Table)) int64 {
		store, table := open(t, opts, samples(10))
		insertAt(t, table, 1, 2, 11, 12, 13, 21)
		seal(t, table, 20)
		insertAt(t, table, 3)
		if _, err := table.Drop(t.Context(), []uint64{2}); err != nil {
			t.Fatal(err)
		}
		drop(store, table)
		return store.Stats().LostUnitRows
	}
	if got := lost(opts, func(_ *Store, table *Table) {
		if _, err := table.DropBefore(t.Context(), 20); err != nil {
			t.Fatal(err)
		}
	}); got != 2 {
		t.Errorf("DropBefore: %d rows, want 2", got)
	}
	opts.Retention = 20 * time.Nanosecond
	if got := lost(opts, func(_ *Store, table *Table) { insertAt(t, table, 100) }); got != 2 {
		t.Errorf("retention: %d rows, want 2", got)
	}
	opts.Retention, opts.MemoryBudget = 0, 1<<20
	if got := lost(opts, func(store *Store, table *Table) {
		for at := int64(30); store.Stats().EvictedRows == 0; at += 10 {
			if _, err := table.Insert(t.Context(), heavy(at, 500)); err != nil {
				t.Fatal(err)
			}
		}
	}); got != 2 {
		t.Errorf("eviction: %d rows, want 2", got)
	}
}

// TestSeal_Entries repeats entries that no store writes.
func TestSeal_Entries(t *testing.T) {
	store, table := open(t, Options{Manual: true}, samples(10))
	plain, err := store.CreateTable("plain", samples(0))
	if err != nil {
		t.Fatal(err)
	}
	tables := []files.TableFiles{{Name: "samples", Definition: samples(10)}, {Name: "plain", Definition: samples(0)}}
	r := entries.NewWalk(&files.Manifest{Tables: tables}, &recovery{store: store, tables: []*Table{table, plain}, edits: make([]*catalog.TableEdit, 2)})
	of := catalog.UnitsChange{Seal: []catalog.UnitPlace{{Start: 20, ID: 1}}, Drop: []catalog.UnitPlace{{Start: 30, ID: 2}}}
	for name, body := range map[string][]byte{
		"a table that is not there":   entries.UnitsEntry(2, of),
		"a table without time ranges": entries.UnitsEntry(1, of),
		"an empty body":               nil,
	} {
		if err := r.Visit(disk.Entry{Kind: entries.EntryUnits, Commit: 9, Body: body}); !errors.Is(err, entries.ErrEntry) {
			t.Errorf("%s: %v, want %v", name, err, entries.ErrEntry)
		}
	}
	if err := r.Visit(disk.Entry{Kind: entries.EntryUnits, Commit: 9, Body: entries.UnitsEntry(0, of)}); err != nil { // of a floor that is known
		t.Errorf("units that are not there: %v", err)
	}
}
