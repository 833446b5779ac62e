package columnstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// Series is one combination of the values that lead a table's sorting key: for
// profiles, the types and labels that all rows of a profile share.
type Series []schema.Label

// Value returns the value of a concrete column, empty if the series has none.
func (s Series) Value(name string) string {
	value, _ := s.find(name)
	return value
}

func (s Series) find(name string) (value string, ok bool) {
	for _, label := range s {
		if label.Name == name {
			return label.Value, true
		}
	}
	return "", false
}

// readSeries returns the series with a code of a generation.
func readSeries(s *schema.Schema, gen *granule.Generation, code uint32) (Series, error) {
	return s.ReadTuple(gen.Series.Value(code))
}

// Series returns the distinct series, sorted by key, that can have committed rows for
// which where holds, as far as series and time buckets tell: no row is read. Conditions
// on the columns of series are exact. Those on times choose the buckets that can have such rows;
// others may hold for some row, unless no row of the bucket has a value there.
//
// About 1 us a series and generation. Errors are ErrQuery, ErrSnapshotClosed,
// ErrSnapshotExpired and that of ctx.
func (t *Table) Series(ctx context.Context, snap *Snapshot, where Expr) ([]Series, error) {
	distinct := map[string]bool{}
	err := t.eachSeries(ctx, snap, where, func(gen *granule.Generation, _ *granule.SeriesColumns, set bitset) {
		set.all(func(code uint32) { distinct[string(gen.Series.Value(code))] = true })
	})
	if err != nil {
		return nil, err
	}
	keys := slices.Sorted(maps.Keys(distinct))
	out := make([]Series, len(keys))
	for i, key := range keys {
		if out[i], err = t.schema.ReadTuple([]byte(key)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SeriesValues returns the distinct values, sorted, that the series which Series returns
// have in a concrete column of the series; those without one add nothing. It fails as
// Series does, and looks at one column: about 1 ns a series and generation, and the values.
func (t *Table) SeriesValues(ctx context.Context, snap *Snapshot, column string, where Expr) ([]string, error) {
	if err := t.checkSeries(column); err != nil {
		return nil, err
	}
	var values []string
	err := t.eachSeries(ctx, snap, where, func(_ *granule.Generation, columns *granule.SeriesColumns, set bitset) {
		of := columns.Column(column)
		for i, value := range of.Values {
			if slices.ContainsFunc(of.Series[i], set.has) {
				values = append(values, value)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(values)
	return slices.Compact(values), nil // more generations have the same
}

// SeriesTuples returns the distinct combinations of values, sorted, that the series which
// Series returns have in concrete columns of the series: one value a column, empty where
// a series has none. It fails as SeriesValues does, and looks at these columns: about 20
// ns a series and generation, and the answer.
func (t *Table) SeriesTuples(ctx context.Context, snap *Snapshot, columns []string, where Expr) ([][]string, error) {
	if err := t.checkSeries(columns...); err != nil {
		return nil, err
	}
	distinct := map[string][]string{}
	err := t.eachSeries(ctx, snap, where, func(_ *granule.Generation, all *granule.SeriesColumns, set bitset) {
		for _, tuple := range tuplesOf(all, columns, set) {
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

// checkSeries says whether all columns are of series.
func (t *Table) checkSeries(columns ...string) error {
	for _, column := range columns {
		if index, ok := t.schema.Resolve(column); !ok || !t.schema.IsSeries(index) {
			return fmt.Errorf("%w: column %q is none of series", ErrQuery, column)
		}
	}
	return nil
}

// tuplesOf returns the distinct combinations of values that some series have.
func tuplesOf(all *granule.SeriesColumns, columns []string, set bitset) [][]string {
	codes := make([][]uint32, len(columns)) // by column and series: 1 + the value, 0 for none
	for i, column := range columns {
		of := all.Column(column)
		codes[i] = make([]uint32, all.Len()+1)
		for value := range of.Values {
			for _, series := range of.Series[value] {
				codes[i][series] = uint32(value + 1)
			}
		}
	}
	var tuples [][]string
	seen := map[string]bool{}
	var key []byte
	set.all(func(series uint32) {
		key = key[:0]
		for i := range columns {
			key = binary.LittleEndian.AppendUint32(key, codes[i][series])
		}
		if seen[string(key)] {
			return
		}
		seen[string(key)] = true
		tuple := make([]string, len(columns))
		for i, column := range columns {
			if code := codes[i][series]; code > 0 {
				tuple[i] = all.Column(column).Values[code-1]
			}
		}
		tuples = append(tuples, tuple)
	})
	return tuples
}

// SeriesColumns returns the concrete columns, sorted, that the series which Series
// returns have a value in. It fails as Series does: about 1 us a column and generation.
func (t *Table) SeriesColumns(ctx context.Context, snap *Snapshot, where Expr) ([]string, error) {
	distinct := map[string]bool{}
	err := t.eachSeries(ctx, snap, where, func(_ *granule.Generation, columns *granule.SeriesColumns, set bitset) {
		columns.Each(func(name string, of granule.SeriesColumn) {
			has := func(series []uint32) bool { return slices.ContainsFunc(series, set.has) }
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

// eachSeries calls each with the sets of series that can have rows for which where holds:
// those of the buckets of a generation, which come one after the other, together.
func (t *Table) eachSeries(ctx context.Context, snap *Snapshot, where Expr, each func(*granule.Generation, *granule.SeriesColumns, bitset)) error {
	state, use, err := snap.read(t)
	if err != nil {
		return err
	}
	defer use.Done()
	c, err := newChooser(ctx, t, where)
	if err != nil {
		return err
	}
	defer c.done()
	if state == nil {
		return nil
	}
	var gen *granule.Generation
	var set, some bitset
	byBucket := c.filter.byBucket()
	for b := range t.bucketsOf(state, where) {
		if err := cmp.Or(ctx.Err(), use.Err()); err != nil {
			return err
		}
		if gen != b.gen && gen != nil {
			each(gen, c.seriesColumns(gen), set)
			set = nil
		}
		if gen != b.gen || byBucket {
			gen = b.gen
			some = c.filter.ofSeries(gen, c.seriesColumns(gen), b).some
		}
		if more := len(b.series) - len(set); more > 0 {
			set = append(set, make(bitset, more)...)
		}
		for i, word := range b.series {
			set[i] |= word & some[i]
		}
	}
	if gen != nil {
		each(gen, c.seriesColumns(gen), set)
	}
	return nil
}
