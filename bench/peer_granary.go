package main

import (
	"context"
	"math"
	"slices"
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
}

func openGranary() (peer, error) {
	store, err := columnstore.Open(columnstore.Options{Manual: true, FutureLimit: -1})
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
		default:
			all = append(all, columnstore.Equal(t.column, t.text))
		}
	}
	return columnstore.And(all...)
}

// view calls f with a snapshot of what is there now.
func (g *granary) view(f func(ctx context.Context, snap *columnstore.Snapshot) error) error {
	ctx := context.Background()
	return g.store.View(ctx, func(snap *columnstore.Snapshot) error { return f(ctx, snap) })
}

func (g *granary) aggregate(by string, where []term) (groups *columnstore.Groups, err error) {
	err = g.view(func(ctx context.Context, snap *columnstore.Snapshot) error {
		groups, err = g.table.Aggregate(ctx, snap, columnstore.AggregateOptions{Sum: profile.ColumnValue, By: []string{by}, Where: expr(where)})
		return err
	})
	return groups, err
}

func (g *granary) merge(where []term, each func(stack []byte, sum int64)) error {
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
	groups, err := g.aggregate(profile.ColumnTimestamp, where)
	if err != nil || each == nil {
		return err
	}
	for i, at := range groups.Column(profile.ColumnTimestamp).Values.Int64s {
		each(at, groups.Sums[i])
	}
	return nil
}

func (g *granary) totals(column string, each func(value string, rows, sum int64)) error {
	groups, err := g.aggregate(column, nil)
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

func (g *granary) labelNames() (names []string, err error) {
	err = g.view(func(_ context.Context, snap *columnstore.Snapshot) error {
		columns, err := g.table.Columns(snap)
		for _, name := range columns {
			if label, ok := strings.CutPrefix(name, labelPrefix); ok {
				names = append(names, label)
			}
		}
		return err
	})
	return names, err
}

func (g *granary) labelValues(label string) (values []string, err error) {
	err = g.view(func(ctx context.Context, snap *columnstore.Snapshot) error {
		series, err := g.table.Series(ctx, snap, math.MinInt64, math.MaxInt64)
		for _, s := range series {
			if value := s.Value(labelPrefix + label); value != "" {
				values = append(values, value)
			}
		}
		return err
	})
	slices.Sort(values)
	return slices.Compact(values), err
}
