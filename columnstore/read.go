package columnstore

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/granarydb/granary/schema"
)

// bounds returns the keys that rows of the times [lo, hi) can have: a bucket that was cut
// off can still get rows up to the end of its time range, so all of that before lo count.
func (t *Table) bounds(lo, hi int64) (from, to string) {
	if t.schema.BucketColumn() < 0 {
		return "", ""
	}
	from, _ = t.schema.BucketBounds(t.schema.BucketStart(lo))
	if hi != math.MaxInt64 {
		to, _ = t.schema.BucketBounds(hi) // no bucket has times before its start
	}
	return from, to
}

// bucketsOf yields the buckets that can have rows for which where holds, by time.
func (t *Table) bucketsOf(state *tableState, where Expr) iter.Seq[*bucket] {
	lo, hi := timeBounds(t.schema, where)
	first := t.schema.BucketStart(lo)
	from, to := t.bounds(lo, hi)
	return func(yield func(*bucket) bool) {
		for _, b := range state.buckets.Overlapping(from, to) {
			if b.start < first || b.latest < lo {
				continue // the last bucket before a gap, which the times are in, or one that was cut before
			}
			if !yield(b) {
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
	if s == nil {
		return nil
	}
	distinct := map[string]bool{}
	for _, b := range s.buckets.All() {
		for column := range b.columns {
			if !distinct[column] && strings.HasPrefix(column, name+".") {
				distinct[column] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(distinct))
}

// Columns returns the concrete names of the table's columns in a snapshot, in
// schema order: fixed ones, and dynamic ones that a committed row has a value
// in. O(columns x buckets). Errors are ErrSnapshotClosed and ErrSnapshotExpired.
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
