package parca

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/schema"
)

// ErrRecord is returned for an Arrow record that does not have Parca's form: a column is missing, or has
// another type.
var ErrRecord = errors.New("invalid record of samples")

// ErrStore is returned by Open for a store whose samples table has another schema.
var ErrStore = errors.New("the store has another table of samples")

// Table is Parca's table of samples in a store. It takes the records that Parca's ProfileColumnStore makes,
// as its Ingester or as the table behind one, and a Querier answers from it. It is safe for concurrent use and
// lives as long as the store, which the caller closes.
type Table struct {
	store *columnstore.Store
	table *columnstore.Table
}

// Open returns the table of samples in a store. It creates the table if there is none. The errors are
// ErrStore, and any from columnstore.Store.CreateTable.
func Open(store *columnstore.Store) (*Table, error) {
	want, err := schema.New(Definition())
	if err != nil {
		return nil, err
	}
	table := store.Table(TableName)
	if table == nil {
		if table, err = store.CreateTable(TableName, Definition()); err != nil {
			return nil, err
		}
	}
	if !equalColumns(want, table.Schema()) {
		return nil, fmt.Errorf("%w: %q", ErrStore, TableName)
	}
	return &Table{store: store, table: table}, nil
}

// equalColumns reports whether two schemas have the same columns in the same order, the same columns in their
// series, and the same width of buckets.
func equalColumns(a, b *schema.Schema) bool {
	x, y := a.Columns(), b.Columns()
	if len(x) != len(y) || a.BucketWidth() != b.BucketWidth() {
		return false
	}
	for i := range x {
		if x[i] != y[i] || a.IsSeries(i) != b.IsSeries(i) {
			return false
		}
	}
	return true
}

// Ingest inserts a record of samples in one transaction: later queries see all of its rows, or after an error
// none of them. The caller keeps the record. The errors are ErrRecord and any from columnstore.Table.Insert.
func (t *Table) Ingest(ctx context.Context, rec arrow.RecordBatch) error {
	_, err := t.InsertRecord(ctx, rec)
	return err
}

// InsertRecord is Ingest that also returns the commit's id, or 0 for a record without rows.
func (t *Table) InsertRecord(ctx context.Context, rec arrow.RecordBatch) (tx uint64, err error) {
	if rec.NumRows() == 0 {
		return 0, nil
	}
	batch, err := batchOf(rec)
	if err != nil {
		return 0, err
	}
	id, err := t.table.Insert(ctx, batch)
	return uint64(id), err
}
