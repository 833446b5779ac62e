package peers

import (
	"bytes"
	"context"
	"regexp"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/google/uuid"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// Granary is this store. Questions go to package columnstore, because package profile does work that other
// stores do not do, such as looking symbols up.
type Granary struct {
	Store *columnstore.Store
	Table *columnstore.Table
	// Snap is the snapshot that is asked. Nil asks the newest one.
	Snap *columnstore.Snapshot
}

func openManualGranary() (Store, error) {
	g, err := OpenGranary(columnstore.Options{Manual: true, FutureLimit: -1})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// OpenGranary opens this store with a table for profiles.
func OpenGranary(opts columnstore.Options) (*Granary, error) {
	store, err := columnstore.Open(opts)
	if err != nil {
		return nil, err
	}
	table, err := store.CreateTable("profiles", profile.Schema(profile.DefaultBucket))
	if err != nil {
		store.Close()
		return nil, err
	}
	return &Granary{Store: store, Table: table}, nil
}

// Insert implements Store.
func (g *Granary) Insert(b schema.Batch) error {
	_, err := g.Table.Insert(context.Background(), b)
	return err
}

// Maintain implements Store.
func (g *Granary) Maintain() error { return g.Store.Maintain(context.Background()) }

// Rest implements Store.
func (g *Granary) Rest() error { return nil } // it is manual

// Settle implements Store.
func (g *Granary) Settle() error { return g.Store.Compact(context.Background()) }

// Close implements Store.
func (g *Granary) Close() error {
	g.Store.Close()
	return nil
}

// Condition turns terms into a condition for the store.
func Condition(where []Term) columnstore.Expr {
	var all []columnstore.Expr
	for _, t := range where {
		switch {
		case t.Pattern != nil:
			all = append(all, columnstore.Match(t.Column, t.Pattern))
		case t.Column == profile.ColumnTimestamp:
			all = append(all, columnstore.Equal(t.Column, t.Number))
		case t.Column == profile.ColumnTraceID:
			all = append(all, columnstore.Equal(t.Column, t.ID))
		default:
			all = append(all, columnstore.Equal(t.Column, t.Text))
		}
	}
	return columnstore.And(all...)
}

// View calls f with the snapshot that is asked.
func (g *Granary) View(f func(ctx context.Context, snap *columnstore.Snapshot) error) error {
	ctx := context.Background()
	if g.Snap != nil {
		return f(ctx, g.Snap)
	}
	return g.Store.View(ctx, func(snap *columnstore.Snapshot) error { return f(ctx, snap) })
}

func (g *Granary) aggregate(by string, where columnstore.Expr) (groups *columnstore.Groups, err error) {
	err = g.View(func(ctx context.Context, snap *columnstore.Snapshot) error {
		groups, err = g.Table.Aggregate(ctx, snap, columnstore.AggregateOptions{Sum: profile.ColumnValue, By: []string{by}, Where: where})
		return err
	})
	return groups, err
}

// Merge implements Store.
func (g *Granary) Merge(where []Term, each func(stack []byte, sum int64)) error {
	return g.Stacks(Condition(where), each)
}

// Search implements Searcher. It matches the pattern against the functions in the locations' records.
func (g *Granary) Search(pattern *regexp.Regexp, each func(stack []byte, sum int64)) error {
	return g.Stacks(HasFunction(pattern), each)
}

// HasFunction holds for rows whose stack has a function with a matching name.
func HasFunction(pattern *regexp.Regexp) columnstore.Expr {
	matches := FunctionMatcher(pattern)
	return columnstore.HasElement(profile.ColumnStacktrace, func(_ uuid.UUID, record []byte) bool { return matches(record) })
}

// FunctionMatcher returns a function that matches the function name in a record. As in package profile, it
// tries the pattern once for each name that has the pattern's literal prefix.
func FunctionMatcher(pattern *regexp.Regexp) func(record []byte) bool {
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

// Stacks sums values by stack, as Merge does, for the rows that match where.
func (g *Granary) Stacks(where columnstore.Expr, each func(stack []byte, sum int64)) error {
	groups, err := g.aggregate(profile.ColumnStacktrace, where)
	if err != nil || each == nil {
		return err
	}
	column := groups.Column(profile.ColumnStacktrace)
	var ids []uuid.UUID
	var stack []byte
	for i, sum := range groups.Sums {
		ids = column.Lists.UUIDs(ids[:0], column.Codes[i])
		stack = StackBytes(stack[:0], ids)
		each(stack, sum)
	}
	return nil
}

// Series implements Store.
func (g *Granary) Series(where []Term, each func(at, sum int64)) error {
	groups, err := g.aggregate(profile.ColumnTimestamp, Condition(where))
	if err != nil || each == nil {
		return err
	}
	for i, at := range groups.Column(profile.ColumnTimestamp).Values.Int64s {
		each(at, groups.Sums[i])
	}
	return nil
}

// Totals implements Store.
func (g *Granary) Totals(column string, each func(value string, rows, sum int64)) error {
	groups, err := g.aggregate(column, columnstore.Expr{})
	if err != nil || each == nil {
		return err
	}
	for i, value := range groups.Column(column).Values.Strings {
		each(value, groups.Counts[i], groups.Sums[i])
	}
	return nil
}

// Pick implements Store.
func (g *Granary) Pick(where []Term, columns []string, each func(schema.Batch)) (rows int64, err error) {
	err = g.View(func(ctx context.Context, snap *columnstore.Snapshot) error {
		opts := columnstore.ScanOptions{Columns: columns, Where: Condition(where)}
		for rec, err := range g.Table.Scan(ctx, snap, opts) {
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

// hand releases a record. If each is set, it gets the plain values first.
func (g *Granary) hand(rec arrow.Record, each func(schema.Batch)) error {
	defer rec.Release()
	if each == nil {
		return nil
	}
	b, err := arrowconv.Batch(g.Table.Schema(), rec)
	if err != nil {
		return err
	}
	each(b)
	return nil
}

// Types implements Store.
func (g *Granary) Types() (types []Type, err error) {
	err = g.View(func(ctx context.Context, snap *columnstore.Snapshot) error {
		tuples, err := g.Table.SeriesTuples(ctx, snap, TypeColumns, columnstore.Expr{})
		for _, t := range tuples {
			types = append(types, Type(t))
		}
		return err
	})
	return types, err
}

// LabelNames implements Store. It asks the series, as a server with matchers or a time
// range must. Table.Columns is cheaper and knows of neither.
func (g *Granary) LabelNames() (names []string, err error) {
	err = g.View(func(ctx context.Context, snap *columnstore.Snapshot) error {
		columns, err := g.Table.SeriesColumns(ctx, snap, columnstore.Expr{})
		for _, name := range columns {
			if label, ok := strings.CutPrefix(name, fleet.LabelPrefix); ok {
				names = append(names, label)
			}
		}
		return err
	})
	return names, err
}

// LabelValues implements Store.
func (g *Granary) LabelValues(label string, where []Term) (values []string, err error) {
	err = g.View(func(ctx context.Context, snap *columnstore.Snapshot) error {
		values, err = g.Table.SeriesValues(ctx, snap, fleet.LabelPrefix+label, Condition(where))
		return err
	})
	return values, err
}
