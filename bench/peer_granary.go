package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/google/uuid"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// granary is this store. What it is asked goes through columnstore: package profile
// would add work that the other peers do not do, such as looking symbols up.
type granary struct {
	store *columnstore.Store
	table *columnstore.Table
	// put inserts a batch. Other ways to do it are peers of their own.
	put func(b schema.Batch) error
	// snap, if there is one, is what is asked, instead of what is there at the time.
	snap *columnstore.Snapshot
}

func openGranary() (peer, error) {
	g, err := openGranaryWith(columnstore.Options{Manual: true, FutureLimit: -1})
	if err != nil {
		return nil, err
	}
	return g, nil
}

func openGranaryWith(opts columnstore.Options) (*granary, error) {
	store, err := columnstore.Open(opts)
	if err != nil {
		return nil, err
	}
	table, err := store.CreateTable("profiles", profile.Schema(profile.DefaultBucket))
	if err != nil {
		store.Close()
		return nil, err
	}
	g := &granary{store: store, table: table}
	g.put = func(b schema.Batch) error {
		_, err := table.Insert(context.Background(), b)
		return err
	}
	return g, nil
}

func (g *granary) insert(b schema.Batch) error { return g.put(b) }
func (g *granary) maintain() error             { return g.store.Maintain(context.Background()) }
func (g *granary) rest() error                 { return nil } // it is manual
func (g *granary) settle() error               { return g.store.Compact(context.Background()) }

func (g *granary) close() error {
	g.store.Close()
	return nil
}

// expr turns terms into a condition of the store.
func expr(where []term) columnstore.Expr {
	var all []columnstore.Expr
	for _, t := range where {
		switch {
		case t.pattern != nil:
			all = append(all, columnstore.Match(t.column, t.pattern))
		case t.column == profile.ColumnTimestamp:
			all = append(all, columnstore.Equal(t.column, t.number))
		case t.column == profile.ColumnTraceID:
			all = append(all, columnstore.Equal(t.column, t.id))
		default:
			all = append(all, columnstore.Equal(t.column, t.text))
		}
	}
	return columnstore.And(all...)
}

// view calls f with the snapshot that is asked.
func (g *granary) view(f func(ctx context.Context, snap *columnstore.Snapshot) error) error {
	ctx := context.Background()
	if g.snap != nil {
		return f(ctx, g.snap)
	}
	return g.store.View(ctx, func(snap *columnstore.Snapshot) error { return f(ctx, snap) })
}

func (g *granary) aggregate(by string, where columnstore.Expr) (groups *columnstore.Groups, err error) {
	err = g.view(func(ctx context.Context, snap *columnstore.Snapshot) error {
		groups, err = g.table.Aggregate(ctx, snap, columnstore.AggregateOptions{Sum: profile.ColumnValue, By: []string{by}, Where: where})
		return err
	})
	return groups, err
}

func (g *granary) merge(where []term, each func(stack []byte, sum int64)) error {
	return g.stacks(expr(where), each)
}

// search matches the pattern with the functions of all locations, in the records that
// are kept beside them.
func (g *granary) search(pattern *regexp.Regexp, each func(stack []byte, sum int64)) error {
	return g.stacks(searched(pattern), each)
}

// searched holds for the rows whose stack has a function with a name that matches.
func searched(pattern *regexp.Regexp) columnstore.Expr {
	matches := functionMatcher(pattern)
	return columnstore.HasElement(profile.ColumnStacktrace, func(_ uuid.UUID, record []byte) bool { return matches(record) })
}

// functionMatcher tries a pattern on the names of functions in records, once on each that
// has what all matches begin with: as package profile does.
func functionMatcher(pattern *regexp.Regexp) func(record []byte) bool {
	prefix, _ := pattern.LiteralPrefix()
	begins, known := []byte(prefix), map[string]bool{}
	return func(record []byte) bool {
		function, _, _ := bytes.Cut(record, []byte{0})
		if !bytes.Contains(function, begins) {
			return false
		}
		match, ok := known[string(function)]
		if !ok {
			match = pattern.Match(function)
			known[string(function)] = match
		}
		return match
	}
}

func (g *granary) stacks(where columnstore.Expr, each func(stack []byte, sum int64)) error {
	groups, err := g.aggregate(profile.ColumnStacktrace, where)
	if err != nil || each == nil {
		return err
	}
	column := groups.Column(profile.ColumnStacktrace)
	var ids []uuid.UUID
	var stack []byte
	for i, sum := range groups.Sums {
		ids = column.Lists.UUIDs(ids[:0], column.Codes[i])
		stack = stackBytes(stack[:0], ids)
		each(stack, sum)
	}
	return nil
}

func (g *granary) series(where []term, each func(at, sum int64)) error {
	groups, err := g.aggregate(profile.ColumnTimestamp, expr(where))
	if err != nil || each == nil {
		return err
	}
	for i, at := range groups.Column(profile.ColumnTimestamp).Values.Int64s {
		each(at, groups.Sums[i])
	}
	return nil
}

func (g *granary) totals(column string, each func(value string, rows, sum int64)) error {
	groups, err := g.aggregate(column, columnstore.Expr{})
	if err != nil || each == nil {
		return err
	}
	for i, value := range groups.Column(column).Values.Strings {
		each(value, groups.Counts[i], groups.Sums[i])
	}
	return nil
}

func (g *granary) pick(where []term, columns []string, each func(schema.Batch)) (rows int64, err error) {
	err = g.view(func(ctx context.Context, snap *columnstore.Snapshot) error {
		opts := columnstore.ScanOptions{Columns: columns, Where: expr(where)}
		for rec, err := range g.table.Scan(ctx, snap, opts) {
			if err != nil {
				return err
			}
			rows += rec.NumRows()
			if err := g.hand(rec, each); err != nil {
				return err
			}
		}
		return nil
	})
	return rows, err
}

// hand releases a record, and before that turns it into plain values if they are
// wanted.
func (g *granary) hand(rec arrow.Record, each func(schema.Batch)) error {
	defer rec.Release()
	if each == nil {
		return nil
	}
	b, err := arrowconv.Batch(g.table.Schema(), rec)
	if err != nil {
		return err
	}
	each(b)
	return nil
}

func (g *granary) types() (types []profileType, err error) {
	err = g.view(func(ctx context.Context, snap *columnstore.Snapshot) error {
		tuples, err := g.table.SeriesTuples(ctx, snap, typeColumns, columnstore.Expr{})
		for _, t := range tuples {
			types = append(types, profileType(t))
		}
		return err
	})
	return types, err
}

// labelNames asks the series, as a server must that is given matchers or a time.
// Table.Columns is cheaper still, and knows of neither.
func (g *granary) labelNames() (names []string, err error) {
	err = g.view(func(ctx context.Context, snap *columnstore.Snapshot) error {
		columns, err := g.table.SeriesColumns(ctx, snap, columnstore.Expr{})
		for _, name := range columns {
			if label, ok := strings.CutPrefix(name, labelPrefix); ok {
				names = append(names, label)
			}
		}
		return err
	})
	return names, err
}

func (g *granary) labelValues(label string, where []term) (values []string, err error) {
	err = g.view(func(ctx context.Context, snap *columnstore.Snapshot) error {
		values, err = g.table.SeriesValues(ctx, snap, labelPrefix+label, expr(where))
		return err
	})
	return values, err
}
