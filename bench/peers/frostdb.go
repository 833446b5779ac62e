package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/polarsignals/frostdb"
	schemapb "github.com/polarsignals/frostdb/gen/proto/go/frostdb/schema/v1alpha1"
	"github.com/polarsignals/frostdb/index"
	"github.com/polarsignals/frostdb/query"
	"github.com/polarsignals/frostdb/query/logicalplan"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

const (
	frostTable = "profiles"
	// frostRowGroup is the number of rows in a row group, as Parca sets it.
	frostRowGroup = 8192
	// frostBacklog is the number of bytes that may wait for compaction before the writer
	// waits. FrostDB sets no limit, and its memory grows without bound.
	frostBacklog = 32 << 20
)

// FrostDB is FrostDB with one of two schemas.
type FrostDB struct {
	store      *frostdb.ColumnStore
	db         *frostdb.DB
	table      *frostdb.Table
	engine     *query.LocalEngine
	definition *schemapb.Schema
	tx         uint64 // id of the last insert
}

// openFrost opens FrostDB with options. Without storage a full block is dropped, but no block ever fills.
func openFrost(definition *schemapb.Schema, opts ...frostdb.Option) (Store, error) {
	store, err := frostdb.New(append(opts, frostdb.WithActiveMemorySize(math.MaxInt64))...)
	if err != nil {
		return nil, fmt.Errorf("open frostdb: %w", err)
	}
	f := &FrostDB{store: store, definition: definition}
	if f.db, err = store.DB(context.Background(), "bench"); err == nil {
		f.table, err = f.db.Table(frostTable, frostdb.NewTableConfig(definition, frostdb.WithRowGroupSize(frostRowGroup)))
	}
	if err != nil {
		return nil, fmt.Errorf("make a frostdb table: %w", errors.Join(err, store.Close()))
	}
	f.engine = query.NewEngine(memory.NewGoAllocator(), f.db.TableProvider())
	return f, nil
}

// Insert implements Store.
func (f *FrostDB) Insert(b schema.Batch) error {
	rec := f.record(b)
	defer rec.Release()
	tx, err := f.table.InsertRecord(context.Background(), rec)
	f.tx = tx
	return err
}

// Maintain holds the writer back while too much waits for compaction. A compaction begins only within an
// insert, so if none is under way the next insert must go ahead.
func (f *FrostDB) Maintain() error {
	if lsm := f.table.ActiveBlock().Index(); lsm.LevelSize(index.L0) > frostBacklog {
		lsm.WaitForPendingCompactions()
	}
	return nil
}

// Rest implements Store.
func (f *FrostDB) Rest() error {
	f.table.ActiveBlock().Index().WaitForPendingCompactions()
	f.db.Wait(f.tx) // until readers see it
	return nil
}

// Settle implements Store.
func (f *FrostDB) Settle() error { return f.table.EnsureCompaction() }

// Close implements Store.
func (f *FrostDB) Close() error { return f.store.Close() }

// frostExpr turns terms into a condition, nil without terms. No term is a !=, because its answers change
// with compaction where a label is missing.
func frostExpr(where []Term) logicalplan.Expr {
	var all []logicalplan.Expr
	for _, t := range where {
		column := logicalplan.Col(t.Column)
		switch {
		case t.Pattern != nil:
			all = append(all, column.RegexMatch(t.Pattern.String()))
		case t.Column == profile.ColumnTimestamp:
			all = append(all, column.Eq(logicalplan.Literal(t.Number)))
		case t.Column == profile.ColumnTraceID:
			all = append(all, logicalplan.Col(frostTrace).Eq(logicalplan.Literal(string(t.ID[:]))))
		default:
			all = append(all, column.Eq(logicalplan.Literal(t.Text)))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return logicalplan.And(all...)
}

// scan begins a query of the rows that match all terms.
func (f *FrostDB) scan(where []Term) query.Builder {
	q := f.engine.ScanTable(frostTable)
	if e := frostExpr(where); e != nil {
		q = q.Filter(e)
	}
	return q
}

// group sums values by a column. It calls each for every group with the column's array, the place in it,
// the sum and the count.
func (f *FrostDB) group(column string, where []Term, each func(keys arrow.Array, i int, sum, rows int64)) error {
	value := logicalplan.Col(profile.ColumnValue)
	sum, count := logicalplan.Sum(value), logicalplan.Count(value)
	functions := []*logicalplan.AggregationFunction{sum}
	if column != profile.ColumnStacktrace && column != profile.ColumnTimestamp {
		functions = append(functions, count)
	}
	q := f.scan(where).Aggregate(functions, []logicalplan.Expr{logicalplan.Col(column)})
	return q.Execute(context.Background(), func(_ context.Context, r arrow.Record) error {
		if each == nil {
			return nil
		}
		keys, sums, counts := frostColumn(r, column), frostColumn(r, sum.Name()), frostColumn(r, count.Name())
		for i := range int(r.NumRows()) {
			var rows int64
			if counts != nil {
				rows = counts.(*array.Int64).Value(i)
			}
			each(keys, i, sums.(*array.Int64).Value(i), rows)
		}
		return nil
	})
}

// frostColumn returns a record's column by name, nil if it is missing.
func frostColumn(r arrow.Record, name string) arrow.Array {
	for i, field := range r.Schema().Fields() {
		if field.Name == name {
			return r.Column(i)
		}
	}
	return nil
}

// Merge implements Store.
func (f *FrostDB) Merge(where []Term, each func(stack []byte, sum int64)) error {
	if each == nil {
		return f.group(profile.ColumnStacktrace, where, nil)
	}
	var stack []byte
	return f.group(profile.ColumnStacktrace, where, func(keys arrow.Array, i int, sum, _ int64) {
		stack = frostStack(stack[:0], keys, i)
		each(stack, sum)
	})
}

// Series implements Store.
func (f *FrostDB) Series(where []Term, each func(at, sum int64)) error {
	if each == nil {
		return f.group(profile.ColumnTimestamp, where, nil)
	}
	return f.group(profile.ColumnTimestamp, where, func(keys arrow.Array, i int, sum, _ int64) {
		each(keys.(*array.Int64).Value(i), sum)
	})
}

// Totals implements Store.
func (f *FrostDB) Totals(column string, each func(value string, rows, sum int64)) error {
	if each == nil {
		return f.group(column, nil, nil)
	}
	return f.group(column, nil, func(keys arrow.Array, i int, sum, rows int64) {
		each(string(frostBytes(keys, i)), rows, sum)
	})
}

// Pick implements Store.
func (f *FrostDB) Pick(where []Term, columns []string, each func(schema.Batch)) (rows int64, err error) {
	var project []logicalplan.Expr
	for _, column := range columns {
		project = append(project, logicalplan.Col(column))
	}
	if columns == nil {
		// Without a projection, a filter yields only its own columns.
		for _, c := range f.definition.Columns {
			if c.Dynamic {
				project = append(project, logicalplan.DynCol(c.Name))
			} else {
				project = append(project, logicalplan.Col(c.Name))
			}
		}
	}
	err = f.scan(where).Project(project...).Execute(context.Background(), func(_ context.Context, r arrow.Record) error {
		rows += r.NumRows()
		if each != nil {
			each(frostBatch(r))
		}
		return nil
	})
	return rows, err
}

// LabelNames implements Store.
func (f *FrostDB) LabelNames() (names []string, err error) {
	q := f.engine.ScanSchema(frostTable).
		Distinct(logicalplan.Col("name")).
		Filter(logicalplan.Col("name").RegexMatch("^" + regexp.QuoteMeta(fleet.LabelPrefix)))
	err = q.Execute(context.Background(), func(_ context.Context, r arrow.Record) error {
		for i := range int(r.NumRows()) {
			names = append(names, strings.TrimPrefix(r.Column(0).(*array.String).Value(i), fleet.LabelPrefix))
		}
		return nil
	})
	return names, err
}

// Types implements Store.
func (f *FrostDB) Types() (types []Type, err error) {
	var columns []logicalplan.Expr
	for _, name := range TypeColumns {
		columns = append(columns, logicalplan.Col(name))
	}
	q := f.engine.ScanTable(frostTable).Distinct(columns...)
	err = q.Execute(context.Background(), func(_ context.Context, r arrow.Record) error {
		for row := range int(r.NumRows()) {
			var kind Type
			for i, name := range TypeColumns {
				kind[i] = string(frostBytes(frostColumn(r, name), row))
			}
			types = append(types, kind)
		}
		return nil
	})
	return types, err
}

// LabelValues implements Store.
func (f *FrostDB) LabelValues(label string, where []Term) (values []string, err error) {
	q := f.scan(where).Distinct(logicalplan.Col(fleet.LabelPrefix + label))
	err = q.Execute(context.Background(), func(_ context.Context, r arrow.Record) error {
		for i := range int(r.NumRows()) {
			if value := frostBytes(r.Column(0), i); len(value) > 0 {
				values = append(values, string(value))
			}
		}
		return nil
	})
	return values, err
}
