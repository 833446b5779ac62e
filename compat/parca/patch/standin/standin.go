// Package standin has the calls to FrostDB and to Parca's querier that Parca's own tests make, with Granary
// behind them. patch.run changes the imports of these tests and nothing else in them, so that they ask a
// [parca.Querier] over a store in memory. Nothing else imports it.
package standin

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-kit/log"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/parca-dev/parca/pkg/symbolizer"
	"go.opentelemetry.io/otel/trace"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/parca"
)

// ColumnStore stands for frostdb.ColumnStore.
type ColumnStore struct{ store *columnstore.Store }

// New opens a store in memory that takes any time in the past, because the tests have times in 1970.
func New() (*ColumnStore, error) {
	store, err := columnstore.Open(columnstore.Options{PastLimit: -1})
	return &ColumnStore{store}, err
}

// Close closes the store.
func (c *ColumnStore) Close() error { return c.store.Close() }

// DB stands for frostdb.DB.
type DB struct {
	store *columnstore.Store
	table *parca.Table
}

// DB returns the store's database. A store has one, whatever its name.
func (c *ColumnStore) DB(context.Context, string) (*DB, error) { return &DB{store: c.store}, nil }

// NewTableConfig stands for FrostDB's: Granary's table has its own definition.
func NewTableConfig(any) struct{} { return struct{}{} }

// Table stands for frostdb.Table.
type Table struct {
	*parca.Table
	store *columnstore.Store
}

// Table returns the table of samples. A store has one, whatever its name. The error is one of parca.Open.
func (d *DB) Table(string, struct{}) (*Table, error) {
	var err error
	d.table, err = parca.Open(d.store)
	return &Table{Table: d.table, store: d.store}, err
}

// EnsureCompaction compacts the store.
func (t *Table) EnsureCompaction() error { return t.store.Compact(context.Background()) }

// TableProvider returns the table.
func (d *DB) TableProvider() *parca.Table { return d.table }

// NewEngine returns the table: a querier needs no engine.
func NewEngine(_ memory.Allocator, t *parca.Table) *parca.Table { return t }

// NewQuerier stands for parcacol.NewQuerier.
func NewQuerier(_ log.Logger, _ trace.Tracer, t *parca.Table, _ string, symbols symbolizer.SymbolizationClient, demangler profile.Demangler, _ memory.Allocator) *parca.Querier {
	return parca.NewQuerier(t, symbols, demangler)
}
