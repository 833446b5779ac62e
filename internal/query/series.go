package query

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/schema"
)

// Series is one combination of values in the columns that lead a table's sorting key. For profiles, it is
// the type and labels that all rows of a profile share.
type Series []schema.SeriesValue

// Value returns a concrete column's value, or "" if the series has none.
func (s Series) Value(name string) string {
	value, _ := s.Find(name)
	return value
}

// Find returns a concrete column's value. ok is false if the series has none.
func (s Series) Find(name string) (value string, ok bool) {
	for _, label := range s {
		if label.Name == name {
			return label.Value, true
		}
	}
	return "", false
}

// ListSeries returns the distinct series that can have rows for which where holds, sorted by
// key. See Table.Series of package columnstore.
func ListSeries(ctx context.Context, r *filter.Read, where filter.Expr) ([]Series, error) {
	distinct := map[string]bool{}
	err := filter.EachSeries(ctx, r, where, func(gen *granule.Generation, _ *granule.SeriesColumns, set catalog.Bitset) {
		set.All(func(code uint32) { distinct[string(gen.Series.Value(code))] = true })
	})
	if err != nil {
		return nil, err
	}
	keys := slices.Sorted(maps.Keys(distinct))
	out := make([]Series, len(keys))
	for i, key := range keys {
		if out[i], err = r.Schema.ReadTuple([]byte(key)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SeriesValues returns the sorted distinct values in a column in these series. See Table.SeriesValues of
// package columnstore.
func SeriesValues(ctx context.Context, r *filter.Read, column string, where filter.Expr) ([]string, error) {
	if err := checkSeries(r, column); err != nil {
		return nil, err
	}
	var values []string
	err := filter.EachSeries(ctx, r, where, func(_ *granule.Generation, columns *granule.SeriesColumns, set catalog.Bitset) {
		of := columns.Column(column)
		for i, value := range of.Values {
			if slices.ContainsFunc(of.Series[i], set.Has) {
				values = append(values, value)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(values)
	return slices.Compact(values), nil // generations can share values
}

// SeriesTuples returns the sorted distinct combinations of values of columns in these series. See
// Table.SeriesTuples of package columnstore.
func SeriesTuples(ctx context.Context, r *filter.Read, columns []string, where filter.Expr) ([][]string, error) {
	if err := checkSeries(r, columns...); err != nil {
		return nil, err
	}
	distinct := map[string][]string{}
	err := filter.EachSeries(ctx, r, where, func(_ *granule.Generation, all *granule.SeriesColumns, set catalog.Bitset) {
		for _, tuple := range all.Tuples(columns, set.All) {
			var key []byte
			for _, value := range tuple {
				key = schema.AppendBytes(key, []byte(value))
			}
			distinct[string(key)] = tuple
		}
	})
	if err != nil {
		return nil, err
	}
	tuples := slices.Collect(maps.Values(distinct))
	slices.SortFunc(tuples, slices.Compare)
	return tuples, nil
}

// KnownTuples returns the combinations of values of columns in all series that have a code in the state's
// generations. See Table.KnownTuples of package columnstore.
func KnownTuples(r *filter.Read, columns []string) ([][]string, error) {
	if err := checkSeries(r, columns...); err != nil || r.State == nil {
		return nil, err
	}
	var tuples [][]string
	var gen *granule.Generation
	for _, b := range r.State.Buckets.All() {
		if !b.HasRows() {
			continue
		}
		its, err := r.Dictionaries(r.State, b)
		if err != nil {
			return nil, err
		}
		if its != gen {
			gen = its
			tuples = append(tuples, r.SeriesColumns(gen).AllTuples(columns)...)
		}
	}
	return tuples, nil
}

// checkSeries returns ErrQuery unless all columns belong to the series tuple.
func checkSeries(r *filter.Read, columns ...string) error {
	for _, column := range columns {
		if index, ok := r.Schema.Resolve(column); !ok || !r.Schema.IsSeries(index) {
			return fmt.Errorf("%w: column %q is not a series column", filter.ErrQuery, column)
		}
	}
	return nil
}

// SeriesColumns returns the sorted concrete columns in which these series have a value. See
// Table.SeriesColumns of package columnstore.
func SeriesColumns(ctx context.Context, r *filter.Read, where filter.Expr) ([]string, error) {
	distinct := map[string]bool{}
	err := filter.EachSeries(ctx, r, where, func(_ *granule.Generation, columns *granule.SeriesColumns, set catalog.Bitset) {
		columns.Each(func(name string, of granule.SeriesColumn) {
			has := func(series []uint32) bool { return slices.ContainsFunc(series, set.Has) }
			if !distinct[name] && slices.ContainsFunc(of.Series, has) {
				distinct[name] = true
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(distinct)), nil
}
