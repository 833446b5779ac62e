package profile

import (
	"context"
	"iter"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
)

// Scan yields the rows that a query is about, for which opts.Where holds too, as Arrow
// records: columnstore.Table.Scan with a condition more. A Query has no type, and
// Query.MaxBytes is not looked at, as a scan holds one record at a time; where
// Query.Function chooses, it does so before opts.Elements is asked for names. With
// FunctionNames as opts.Elements, stacks are the names of functions.
func (db *DB) Scan(ctx context.Context, snap *columnstore.Snapshot, q Query, opts columnstore.ScanOptions) iter.Seq2[arrow.Record, error] {
	opts.Where = columnstore.And(q.Expr(), opts.Where)
	return db.table.Scan(ctx, snap, opts)
}

// RecordSchema returns the schema of the records of a Scan with the same snapshot and
// options, of which there may be none. The errors are those of columnstore.Table.RecordSchema.
func (db *DB) RecordSchema(snap *columnstore.Snapshot, opts columnstore.ScanOptions) (*arrow.Schema, error) {
	return db.table.RecordSchema(snap, opts)
}

// FunctionNames appends the names of the functions at a location, as Frame.Function has
// them, the innermost first: one, and one for each that was inlined there. So a stack is
// names from the leaf to the root. An address without lines is "[binary]", an unknown
// location "<unknown>": each generation has its own record of a location, as in
// Query.Function. It is for columnstore.ScanOptions.Elements, and safe for concurrent use.
func FunctionNames(dst []string, _ uuid.UUID, record []byte) []string {
	for _, name := range appendNames(nil, record) {
		dst = append(dst, string(name))
	}
	return dst
}
