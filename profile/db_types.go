package profile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/granarydb/granary/columnstore"
)

// Types returns the types that have rows in a snapshot, in the order in which their profiles
// list them, and then the types that profiles list and that have no rows. It reads no rows and
// costs O(series x buckets). Errors are those of columnstore.Table.Series.
func (db *DB) Types(ctx context.Context, snap *columnstore.Snapshot) ([]Type, error) {
	columns := []string{ColumnSampleType, ColumnSampleUnit, ColumnPeriodType, ColumnPeriodUnit}
	tuples, err := db.table.SeriesTuples(ctx, snap, columns, columnstore.Expr{})
	if err != nil {
		return nil, err
	}
	kinds, err := db.kinds(snap)
	if err != nil {
		return nil, err
	}
	var known, types typeSet
	for _, k := range kinds {
		known.add(k.Types...)
	}
	for _, t := range tuples {
		types.add(Type{t[0], t[1], t[2], t[3]})
	}
	rank := func(t Type) int {
		if i, ok := known.index[t]; ok {
			return i
		}
		return len(known.types) // inserted as an Arrow record
	}
	slices.SortStableFunc(types.types, func(a, b Type) int { return rank(a) - rank(b) })
	types.add(known.types...)
	return types.types, nil
}

// FindType resolves the name of a type as people write it: its sample type ("cpu"), with the
// unit ("cpu:nanoseconds"), or in the form of Type.String. The empty name stands for the
// default type of the profile that was inserted first, among profiles whose default type has a
// name, or among all if none has. Profiles with the same types have one default type, that of
// the first profile that names one, as in a merge by pprof. Errors wrap ErrUnknownType or
// ErrAmbiguousType and list the choices.
func (db *DB) FindType(ctx context.Context, snap *columnstore.Snapshot, name string) (Type, error) {
	kinds, err := db.kinds(snap)
	if err != nil {
		return Type{}, err
	}
	if name == "" && len(kinds) > 0 {
		named := slices.IndexFunc(kinds, func(k kind) bool { return k.shown(kinds).Sample != "" })
		return kinds[max(0, named)].shown(kinds), nil
	}
	types, err := db.Types(ctx, snap)
	if err != nil {
		return Type{}, err
	}
	var found []Type
	for _, t := range types {
		if name == t.Sample || name == t.Sample+":"+t.SampleUnit || name == t.String() {
			found = append(found, t)
		}
	}
	switch {
	case len(found) == 0:
		return Type{}, fmt.Errorf("%w %q, known types: %s", ErrUnknownType, name, names(types, Type.sampleName))
	case len(found) > 1:
		return Type{}, fmt.Errorf("%w %q, choose one of: %s", ErrAmbiguousType, name, names(found, Type.String))
	}
	return found[0], nil
}

// DefaultType returns the type to show for a query that names none: the first default type of
// the stored profiles, in the order of their insertion, of which the query selects rows. Types
// with names precede those without. Profiles with the same types have one default type, as in
// FindType, even if the query selects only some of them. If the query selects rows of no
// default type, it is the type that FindType returns for the empty name.
func (db *DB) DefaultType(ctx context.Context, snap *columnstore.Snapshot, q Query) (Type, error) {
	kinds, err := db.kinds(snap)
	if err != nil {
		return Type{}, err
	}
	present, err := db.presentTypes(ctx, snap, q)
	if err != nil {
		return Type{}, err
	}
	for _, named := range []bool{true, false} {
		for _, k := range kinds {
			if t := k.shown(kinds); slices.Contains(present, t) && (t.Sample != "") == named {
				return t, nil
			}
		}
	}
	return db.FindType(ctx, snap, "")
}

// presentTypes returns the types of the rows that a query selects. If types are given, it
// considers only these.
func (db *DB) presentTypes(ctx context.Context, snap *columnstore.Snapshot, q Query, only ...Type) ([]Type, error) {
	groups, err := db.table.Aggregate(ctx, snap, columnstore.AggregateOptions{
		By:    []string{ColumnSampleType, ColumnSampleUnit, ColumnPeriodType, ColumnPeriodUnit},
		Where: q.Expr(only...), MaxBytes: q.MaxBytes,
	})
	if err != nil {
		return nil, err
	}
	present := make([]Type, len(groups.Counts))
	for i := range present {
		present[i] = Type{
			groups.Columns[0].Values.Strings[i], groups.Columns[1].Values.Strings[i],
			groups.Columns[2].Values.Strings[i], groups.Columns[3].Values.Strings[i],
		}
	}
	return present, nil
}

// kinds returns the kinds of the profiles of a snapshot, including profiles without rows, in
// the order of their first commit. It skips notes of the table that are not kinds.
func (db *DB) kinds(snap *columnstore.Snapshot) ([]kind, error) {
	notes, err := db.table.Notes(snap)
	if err != nil {
		return nil, err
	}
	kinds := make([]kind, 0, len(notes))
	for _, text := range notes {
		var k kind
		if json.Unmarshal([]byte(text), &k) == nil && k.Default >= 0 && k.Default < len(k.Types) {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}
