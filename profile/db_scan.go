package profile

import (
	"context"
	"iter"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/symbols"
)

// Scan yields the rows that a query and opts.Where select, as Arrow records. It is columnstore.Table.Scan
// with one more condition. A Query selects no type, so a Scan for one type needs a condition in
// opts.Where. Query.MaxBytes is ignored, because a scan holds one record at a time. Query.Function and
// Frames select rows before opts.Elements is called. With FunctionNames as opts.Elements, stacks are
// lists of function names.
func (db *DB) Scan(ctx context.Context, snap *columnstore.Snapshot, q Query, opts columnstore.ScanOptions) iter.Seq2[arrow.Record, error] {
	opts.Where = columnstore.And(db.Resolve(snap, q).Expr(), opts.Where)
	return db.table.Scan(ctx, snap, opts)
}

// RecordSchema returns the schema of the records that a Scan with the same snapshot and options yields,
// even if it yields none. Errors are as for columnstore.Table.RecordSchema.
func (db *DB) RecordSchema(snap *columnstore.Snapshot, opts columnstore.ScanOptions) (*arrow.Schema, error) {
	return db.table.RecordSchema(snap, opts)
}

// FunctionNames makes a scan yield stacks as function names, from leaf to root, instead of location ids.
// It is a value for columnstore.ScanOptions.Elements. It appends the names at a location to dst, as in
// Frame.Function, innermost first: the function and the functions that it is inlined into. An address
// without lines gets the name of its file in square brackets, such as "[libc.so.6]", and a location
// without a record "<unknown>". It ignores the id. record is neither changed nor retained. Each
// generation has its own record of a location (Query.Function). FunctionNames is safe for concurrent use.
func FunctionNames(dst []string, _ uuid.UUID, record []byte) []string {
	for _, name := range symbols.AppendNames(nil, record, nil) {
		dst = append(dst, string(name))
	}
	return dst
}
