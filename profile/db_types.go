package profile

import (
	"context"
	"slices"

	"github.com/granarydb/granary/columnstore"
)

// Types returns the types with rows in a snapshot, in the order in which their profiles list them, and
// then the listed types without rows. It reads no row and costs O(series x buckets). Errors are as for
// columnstore.Table.Series.
func (db *DB) Types(ctx context.Context, snap *columnstore.Snapshot) ([]Type, error) {
	tuples, err := db.table.SeriesTuples(ctx, snap, typeColumns, columnstore.Expr{})
	if err != nil {
		return nil, err
	}
	lists, err := db.typeLists(snap)
	if err != nil {
		return nil, err
	}
	var known, types typeSet
	for _, l := range lists.all {
		known.add(l.Types...)
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

// FindType resolves the name of a type as people write it: its sample type ("cpu"), with the unit
// ("cpu:nanoseconds"), or in the form of Type.String. A name without a period stands for all types with the sample type and unit,
// and if there are several, the result has AnyPeriod. The empty name stands for the default type of the
// first inserted profile, among profiles with a named default type, or among all if none has. Profiles
// with the same types have one default type, from the first profile that names one, as in a merge by
// pprof. Errors wrap ErrUnknownType or ErrAmbiguousType and list the choices.
func (db *DB) FindType(ctx context.Context, snap *columnstore.Snapshot, name string) (Type, error) {
	return db.FindTypeIn(ctx, snap, Query{}, name)
}

// FindTypeIn is FindType for the profiles of a query's selector and times. Of types with the name and several units, it returns
// the one that these profiles have, because a name that is clear for one service must stay so beside another's types. If they
// have none, it returns the first, whose answer is empty. If they have several, the error has selectors that tell them apart. It
// costs as much as Series with Query.Exact where a name has several units, and no more than FindType elsewhere.
func (db *DB) FindTypeIn(ctx context.Context, snap *columnstore.Snapshot, q Query, name string) (Type, error) {
	lists, err := db.typeLists(snap)
	if err != nil {
		return Type{}, err
	}
	if all := lists.all; name == "" && len(all) > 0 {
		named := slices.IndexFunc(all, func(l typeList) bool { return l.shown(all).Sample != "" })
		var known typeSet
		for _, types := range lists.sets {
			known.add(types...)
		}
		return joinedWith(all[max(0, named)].shown(all), known.types), nil
	}
	types, err := db.Types(ctx, snap)
	if err != nil {
		return Type{}, err
	}
	return TypeCalled(types, name, func() ([]Source, error) {
		return db.Series(ctx, snap, Query{Selector: q.Selector, From: q.From, To: q.To, MaxBytes: q.MaxBytes, Exact: true})
	})
}

// joinedWith returns the type that JoinTypes makes of t beside types.
func joinedWith(t Type, types []Type) Type {
	return JoinTypes(append([]Type{t}, types...))[0]
}

// DefaultType returns the type to show for a query that names none: the first default type, in the order
// of insertion, of which the query selects rows, with AnyPeriod if it selects such of several periods. Named default types come first. Profiles with the same
// types have one default type, as in FindType, even if the query selects only some of them. If the query
// selects rows of no default type, the result is that of FindType for the empty name.
func (db *DB) DefaultType(ctx context.Context, snap *columnstore.Snapshot, q Query) (Type, error) {
	lists, err := db.typeLists(snap)
	if err != nil {
		return Type{}, err
	}
	present, err := db.plan(ctx, snap, q).presentTypes(ctx)
	if err != nil {
		return Type{}, err
	}
	for _, named := range []bool{true, false} {
		for _, l := range lists.all {
			if t := l.shown(lists.all); slices.Contains(present, t) && (t.Sample != "") == named {
				return joinedWith(t, present), nil
			}
		}
	}
	return db.FindType(ctx, snap, "")
}

// presentTypes returns the types of the chosen rows.
func (p *plan) presentTypes(ctx context.Context) ([]Type, error) {
	groups, err := p.read(ctx, p.chosen, columnstore.AggregateOptions{By: typeColumns})
	if err != nil {
		return nil, err
	}
	present := make([]Type, len(groups.Counts))
	for i := range present {
		present[i] = typeAt(groups.Columns, i)
	}
	return present, nil
}
