package columnstore

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/index"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// bounds returns the keys that rows of the times [lo, hi) can have.
func (t *Table) bounds(lo, hi int64) (from, to string) {
	if t.schema.BucketColumn() < 0 {
		return "", ""
	}
	from, _ = t.schema.BucketBounds(t.schema.BucketStart(lo))
	if hi != math.MaxInt64 {
		_, to = t.schema.BucketBounds(t.schema.BucketStart(max(hi, math.MinInt64+1) - 1))
	}
	return from, to
}

// overlapping yields the entries of an index that can have rows for which e
// holds; by time, the only thing that bounds keys from the front.
func overlapping[V any](t *Table, v *index.Version[V], e Expr) iter.Seq[V] {
	from, to := t.bounds(timeBounds(t.schema, e))
	return func(yield func(V) bool) {
		for _, value := range v.Overlapping(from, to) {
			if !yield(value) {
				return
			}
		}
	}
}

// concrete resolves names of columns and families to concrete names, in the
// order given, those of a family sorted. nil stands for all of the schema.
func (t *Table) concrete(state *tableState, names []string) ([]schema.Concrete, error) {
	if names == nil {
		for _, c := range t.schema.Columns() {
			names = append(names, c.Name)
		}
	}
	var out []schema.Concrete
	for _, name := range names {
		if family, ok := t.schema.Family(name); ok {
			for _, column := range state.family(name) {
				out = append(out, schema.Concrete{Column: family, Name: column})
			}
			continue
		}
		column, ok := t.schema.Resolve(name)
		if !ok {
			return nil, fmt.Errorf("%w: no column %q", ErrQuery, name)
		}
		out = append(out, schema.Concrete{Column: column, Name: name})
	}
	return out, nil
}

// family returns the concrete columns of a dynamic one that have a value.
func (s *tableState) family(name string) []string {
	var out []string
	if s == nil {
		return nil
	}
	for _, b := range s.buckets.All() {
		for column := range b.columns {
			if strings.HasPrefix(column, name+".") {
				out = append(out, column)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Columns returns the concrete names of the table's columns in a snapshot, in
// schema order: fixed ones, and dynamic ones that a committed row has a value
// in. O(columns). Errors are ErrSnapshotClosed and ErrSnapshotExpired.
func (t *Table) Columns(snap *Snapshot) ([]string, error) {
	state, err := snap.table(t)
	if err != nil {
		return nil, err
	}
	columns, err := t.concrete(state, nil)
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names, err
}

// Notes returns the notes of the table in a snapshot, in the order in which
// they were committed (Tx.Note). It must not be changed. Errors are those of Columns.
func (t *Table) Notes(snap *Snapshot) ([]string, error) {
	state, err := snap.table(t)
	if err != nil || state == nil {
		return nil, err
	}
	return state.notes, nil
}

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

// Series returns the distinct series that have committed rows in time buckets
// that meet [from, to) (Unix nanoseconds; to = math.MaxInt64 has no end),
// sorted by key. No row is read: O(series x buckets). Errors are ErrSnapshotClosed,
// ErrSnapshotExpired and that of ctx.
func (t *Table) Series(ctx context.Context, snap *Snapshot, from, to int64) ([]Series, error) {
	state, use, err := snap.read(t)
	if err != nil {
		return nil, err
	}
	defer use.Done()
	if state == nil {
		return nil, nil
	}
	distinct := map[string]bool{}
	lo, hi := t.bounds(from, to)
	for _, b := range state.buckets.Overlapping(lo, hi) {
		if err := cmp.Or(ctx.Err(), use.Err()); err != nil {
			return nil, err
		}
		if _, end := t.schema.BucketBounds(b.start); end != "" && end <= lo {
			continue // the last bucket before a gap, which the range is in
		}
		b.series.all(func(code uint32) { distinct[string(b.gen.Series.Value(code))] = true })
	}
	keys := make([]string, 0, len(distinct))
	for key := range distinct {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	out := make([]Series, len(keys))
	for i, key := range keys {
		if out[i], err = t.schema.ReadTuple([]byte(key)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// chosen yields the slices of a read that have rows for which where holds, with
// the rows. Granules come in key order; with ordered, so do the rows.
func (t *Table) chosen(ctx context.Context, use txn.Use[*root], where Expr, ordered bool) iter.Seq2[selection, error] {
	return func(yield func(selection, error) bool) {
		f, err := bind(t.schema, where)
		if err != nil {
			yield(selection{}, err)
			return
		}
		state := use.State.table(t.ordinal)
		if state == nil {
			return
		}
		for g := range overlapping(t, state.granules, where) {
			t.store.opts.Yield("read/granule")
			if err := cmp.Or(ctx.Err(), use.Err()); err != nil {
				yield(selection{}, err)
				return
			}
			if ordered && g.FreshParts() > 0 { // a base part alone is sorted
				g = granule.Rewrite(t.schema, g, granule.Limit{Rows: math.MaxInt})[0]
			}
			for _, slice := range g.Slices() {
				m := f.eval(slice)
				if n := m.count(slice.Rows()); n > 0 && !yield(selection{slice, m, n}, nil) {
					return
				}
			}
		}
	}
}

// selection is chosen rows of one slice.
type selection struct {
	granule.Slice
	mask mask
	rows int // how many are chosen
}

// keep moves what belongs to the chosen rows of a slice to the front of buf,
// which has an element a row, and returns it.
func keep[T any](m mask, buf []T) []T {
	if m.bits == nil {
		return buf
	}
	n := 0
	for i, chosen := range m.bits {
		if chosen {
			buf[n] = buf[i]
			n++
		}
	}
	return buf[:n]
}
