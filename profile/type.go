package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
)

// Errors of types.
var (
	// ErrUnknownType says that no profile has the sample type that was asked
	// for. The text names those that there are.
	ErrUnknownType = errors.New("unknown sample type")
	// ErrAmbiguousType says that a name stands for several types, whose
	// values cannot be added up.
	ErrAmbiguousType = errors.New("ambiguous sample type")
)

// Types returns the types that have rows in a snapshot, in the order in which
// their profiles list them, and then those of profiles that had no rows. No
// row is read. O(series x buckets). Errors are those of columnstore.Table.Series.
func (db *DB) Types(ctx context.Context, snap *columnstore.Snapshot) ([]Type, error) {
	columns := []string{ColumnSampleType, ColumnSampleUnit, ColumnPeriodType, ColumnPeriodUnit}
	tuples, err := db.table.SeriesTuples(ctx, snap, columns, columnstore.Expr{})
	if err != nil {
		return nil, err
	}
	kinds, err := db.Kinds(snap)
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
		return len(known.types) // came as an Arrow record
	}
	slices.SortStableFunc(types.types, func(a, b Type) int { return rank(a) - rank(b) })
	types.add(known.types...)
	return types.types, nil
}

func typeOf(s columnstore.Series) Type {
	return Type{s.Value(ColumnSampleType), s.Value(ColumnSampleUnit), s.Value(ColumnPeriodType), s.Value(ColumnPeriodUnit)}
}

// typeSet is distinct types in the order in which they were added.
type typeSet struct {
	types []Type
	index map[Type]int
}

func (s *typeSet) add(types ...Type) {
	if s.index == nil {
		s.index = map[Type]int{}
	}
	for _, t := range types {
		if _, ok := s.index[t]; !ok {
			s.index[t] = len(s.types)
			s.types = append(s.types, t)
		}
	}
}

// FindType resolves what a person calls a type: its sample type ("cpu"), with
// the unit ("cpu:nanoseconds"), or as Type.String writes it. The empty name
// stands for the type that the first profile inserted shows first, of those
// whose types have names. Errors wrap ErrUnknownType or ErrAmbiguousType and
// name the choices.
func (db *DB) FindType(ctx context.Context, snap *columnstore.Snapshot, name string) (Type, error) {
	kinds, err := db.Kinds(snap)
	if err != nil {
		return Type{}, err
	}
	if name == "" && len(kinds) > 0 {
		named := slices.IndexFunc(kinds, func(k Kind) bool { return k.Types[k.Default].Sample != "" })
		k := kinds[max(0, named)]
		return k.Types[k.Default], nil
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
		return Type{}, fmt.Errorf("%w %q, there is: %s", ErrUnknownType, name, names(types, Type.sampleName))
	case len(found) > 1:
		return Type{}, fmt.Errorf("%w %q, choose one of: %s", ErrAmbiguousType, name, names(found, Type.String))
	}
	return found[0], nil
}

// DefaultType returns what to show of the profiles of a query when nobody said:
// the type that the first of them shows first and has rows of. If none has rows
// it is that of FindType's empty name.
func (db *DB) DefaultType(ctx context.Context, snap *columnstore.Snapshot, q Query) (Type, error) {
	kinds, err := db.Kinds(snap)
	if err != nil {
		return Type{}, err
	}
	present, err := db.presentTypes(ctx, snap, q)
	if err != nil {
		return Type{}, err
	}
	for _, named := range []bool{true, false} {
		for _, k := range kinds {
			if t := k.Types[k.Default]; slices.Contains(present, t) && (t.Sample != "") == named {
				return t, nil
			}
		}
	}
	return db.FindType(ctx, snap, "")
}

// presentTypes returns the types of the rows of a query, of the given ones if there are
// any.
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

// sampleName is the name of a type in a list, where one is missing too.
func (t Type) sampleName() string {
	if t.Sample == "" {
		return "'' (unnamed)"
	}
	return t.Sample
}

func names(types []Type, name func(Type) string) string {
	var out []string
	for _, t := range types {
		if n := name(t); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
