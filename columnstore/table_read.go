package columnstore

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow/go/v14/arrow"

	"github.com/granarydb/granary/internal/query"
	"github.com/granarydb/granary/internal/query/filter"
)

// Scan yields the selected rows in a snapshot as Arrow records, all with the same schema
// (ScanOptions.Form). A record has at most 32,768 rows, fewer with more than 128 columns, and about 32 MB
// of strings and lists. The caller releases each record, best before it asks for the next, because Scan
// then reuses the memory. That includes the memory of strings that Arrow returned (array.String.Value,
// ValueStr). Clone strings that must outlive the record.
//
// The sequence ends after the first error: ErrQuery; ErrQueryMemory; ErrTable for another store's
// snapshot; ErrSnapshotClosed; ErrSnapshotExpired and ctx's error, which are checked before each granule;
// *DamagedError and others of reading files; or arrowconv.ErrBuild for a record that Arrow cannot hold (2
// GiB of names in 4,096 rows). The snapshot may be closed during the scan.
//
// A flat column costs about 1 ns a row, a column in runs almost nothing, and a list column about 100 ns
// for each distinct list of 20 elements, again in each record unless records share a dictionary (go test
// -bench Scan). Name only the columns that you need. Ordered adds the cost of merging. OrderBy costs 5 to
// 15 ns a selected row, and 4 us for each returned row. If OrderBy is the time bucket's column, Scan
// reads only the buckets that can have these rows.
func (t *Table) Scan(ctx context.Context, snap *Snapshot, opts ScanOptions) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		r, err := snap.read(t)
		if err == nil {
			defer r.Use.Done()
			err = query.Scan(ctx, &r, opts, func(rec arrow.Record) bool { return yield(rec, nil) })
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// RecordSchema returns the schema of the records that a Scan with the same snapshot and options yields,
// even if it yields none. The errors are ErrQuery, ErrTable for another store's snapshot,
// ErrSnapshotClosed and ErrSnapshotExpired.
func (t *Table) RecordSchema(snap *Snapshot, opts ScanOptions) (*arrow.Schema, error) {
	r, err := snap.peek(t)
	if err != nil {
		return nil, err
	}
	return query.RecordSchema(&r, opts)
}

// reading calls f with a table in the snapshot, which stays alive until f returns.
func reading[T any](t *Table, snap *Snapshot, f func(r *filter.Read) (T, error)) (answer T, err error) {
	r, err := snap.read(t)
	if err != nil {
		return answer, err
	}
	defer r.Use.Done()
	return f(&r)
}

// Aggregate groups the selected rows in a snapshot and sums them, or computes Aggregates of them. It
// works on codes: each distinct code is translated once, and no list is decoded.
//
// Grouping by columns of the series, by lists and by time costs 5 to 10 ns per selected row. Grouping by
// columns that differ row by row costs up to 70 ns (go test -bench Aggregate). Each part adds about 1 us.
// It allocates little besides the answer, because its working memory is pooled. It uses several
// processors from 500,000 selected rows on if there are 8 rows for each list. Grouped only by series and
// time, it uses several from a million rows on, unless a condition calls a function. Aggregates cost 3 ns
// a row, 2 to 4 ns more for each, and 72 bytes for each in each group.
//
// The errors are ErrQuery, ErrQueryMemory, ErrOverflow, ErrTable for another store's snapshot,
// ErrSnapshotClosed, ErrSnapshotExpired, errors from reading files, and ctx's error, which is checked
// before each granule.
func (t *Table) Aggregate(ctx context.Context, snap *Snapshot, opts AggregateOptions) (*Groups, error) {
	return reading(t, snap, func(r *filter.Read) (*Groups, error) { return query.GroupRows(ctx, r, opts) })
}

// Series returns the distinct series that can have committed rows for which where holds, sorted by key.
// It reads no row: the answer depends on series and time buckets alone. Conditions on columns of the
// series are exact. Conditions on time select the buckets that can have such rows. Any other condition is
// assumed to hold for some row, unless no row of the bucket has a value in its column.
//
// It costs about 1 us per series and generation. The errors are ErrQuery, ErrTable for another store's
// snapshot, ErrSnapshotClosed, ErrSnapshotExpired, and errors from reading files and from ctx.
func (t *Table) Series(ctx context.Context, snap *Snapshot, where Expr) ([]Series, error) {
	return reading(t, snap, func(r *filter.Read) ([]Series, error) { return query.ListSeries(ctx, r, where) })
}

// SeriesValues returns the sorted distinct values of a concrete series column, in the series that Series
// returns. Series without a value add none. The errors are as for Series. It costs about 1 ns per series
// and generation, besides the values.
func (t *Table) SeriesValues(ctx context.Context, snap *Snapshot, column string, where Expr) ([]string, error) {
	return reading(t, snap, func(r *filter.Read) ([]string, error) { return query.SeriesValues(ctx, r, column, where) })
}

// SeriesTuples returns the sorted distinct combinations of values of concrete series columns, in the
// series that Series returns. A combination has one value per column, "" if the series has none. The
// errors are as for Series. It costs about 20 ns per series and generation, besides the answer.
func (t *Table) SeriesTuples(ctx context.Context, snap *Snapshot, columns []string, where Expr) ([][]string, error) {
	return reading(t, snap, func(r *filter.Read) ([][]string, error) { return query.SeriesTuples(ctx, r, columns, where) })
}

// KnownTuples returns the combinations that SeriesTuples returns without a condition, unsorted and
// possibly repeated. It can return others too: combinations of series whose rows are evicted, or not in
// the snapshot. The caller must not change them. It costs some us for each generation, and 20 ns a series
// after new series came. The errors are as for Series.
func (t *Table) KnownTuples(snap *Snapshot, columns []string) ([][]string, error) {
	return reading(t, snap, func(r *filter.Read) ([][]string, error) { return query.KnownTuples(r, columns) })
}

// SeriesColumns returns the sorted names of the concrete columns in which a series has a value, for the
// series that Series returns. The errors are as for Series. It costs about 1 us per column and
// generation.
func (t *Table) SeriesColumns(ctx context.Context, snap *Snapshot, where Expr) ([]string, error) {
	return reading(t, snap, func(r *filter.Read) ([]string, error) { return query.SeriesColumns(ctx, r, where) })
}

// Columns returns the concrete names of the table's columns in a snapshot, in schema order: the fixed
// columns, and the dynamic columns in which a committed row has a value. It costs O(columns x buckets).
// The errors are ErrSnapshotClosed, ErrSnapshotExpired, and ErrTable for another store's snapshot.
func (t *Table) Columns(snap *Snapshot) ([]string, error) {
	r, err := snap.peek(t)
	if err != nil {
		return nil, err
	}
	return r.Names()
}

// ColumnsOf returns the sorted concrete names of a dynamic column that a row with a time in [from, to) can have a value in. to is
// inclusive if it is the greatest int64. It costs O(columns x buckets of these times). The errors are as for Columns, and ErrQuery
// for a name that is no dynamic column.
func (t *Table) ColumnsOf(snap *Snapshot, dynamic string, from, to int64) ([]string, error) {
	r, err := snap.peek(t)
	if err != nil {
		return nil, err
	}
	if _, ok := r.Schema.Family(dynamic); !ok {
		return nil, fmt.Errorf("%w: no dynamic column %q", ErrQuery, dynamic)
	}
	return r.State.FamilyOf(dynamic, from, to), nil
}

// Notes returns the table's notes in a snapshot, in commit order (Tx.Note). The caller must not change
// them. The errors are as for Columns.
func (t *Table) Notes(snap *Snapshot) ([]string, error) {
	r, err := snap.peek(t)
	if err != nil || r.State == nil {
		return nil, err
	}
	return r.State.Notes, nil
}

// Inspect yields a description of each granule of the table in a snapshot, in key order: the sparse
// index.
//
// A caller that stops early pays only for the granules received. Each part costs O(columns), and O(rows)
// for its series and for each nullable column. It is safe for concurrent use and delays no writer.
//
// An error is the last element: ErrSnapshotClosed, ErrSnapshotExpired, ErrTable for another store's
// snapshot, errors from reading files, or ctx's error. A table that is newer than the snapshot has no
// granules.
func (t *Table) Inspect(ctx context.Context, snap *Snapshot) iter.Seq2[GranuleInfo, error] {
	return func(yield func(GranuleInfo, error) bool) {
		r, err := snap.read(t)
		if err != nil {
			yield(GranuleInfo{}, err)
			return
		}
		defer r.Use.Done()
		if r.State == nil {
			return
		}
		for _, b := range r.State.Buckets.All() {
			for g, err := range t.stored.All(r.State, b) {
				if err := cmp.Or(err, ctx.Err(), r.Use.Err()); err != nil {
					yield(GranuleInfo{}, err)
					return
				}
				if !yield(query.DescribeGranule(t.schema, g), nil) {
					return
				}
			}
		}
	}
}

// peek returns a table in the snapshot for a read that does not visit rows.
func (s *Snapshot) peek(t *Table) (filter.Read, error) {
	if s.store != t.store {
		return filter.Read{}, fmt.Errorf("%w: snapshot and table %q are of different stores", ErrTable, t.name)
	}
	r, err := s.state.State()
	if err != nil {
		return filter.Read{}, err
	}
	return filter.Read{Env: &t.source, State: r.Table(t.ordinal)}, nil
}

// read returns a table in the snapshot for a longer read. The read checks Use.Err before each
// granule and calls Use.Done at its end.
func (s *Snapshot) read(t *Table) (filter.Read, error) {
	if s.store != t.store {
		return s.peek(t)
	}
	use, err := s.state.Use()
	if err != nil {
		return filter.Read{}, err
	}
	return filter.Read{Env: &t.source, State: use.State.Table(t.ordinal), Use: use}, nil
}
