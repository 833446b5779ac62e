package profile

import (
	"context"
	"slices"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile/symbols"
)

// sums aggregates rows of a query by columns that include the stack, if the query has a path of
// functions. It leaves the groups whose stack is under that path.
func (db *DB) sums(ctx context.Context, snap *columnstore.Snapshot, q Query, opts columnstore.AggregateOptions) (*columnstore.Groups, error) {
	groups, err := db.table.Aggregate(ctx, snap, opts)
	if err != nil || len(q.Under) == 0 {
		return groups, err
	}
	stacks := groups.Column(ColumnStacktrace)
	w := q.symbols(stacks).Walk()
	var under []int
	for row, code := range stacks.Codes {
		if beginsWith(w.Locations(code), q.Under) {
			under = append(under, row)
		}
	}
	for i := range groups.Columns {
		c := &groups.Columns[i]
		c.Codes, c.Values.Valid = picked(c.Codes, under), picked(c.Values.Valid, under)
		c.Values.Int64s, c.Values.Uint64s = picked(c.Values.Int64s, under), picked(c.Values.Uint64s, under)
		c.Values.Strings, c.Values.UUIDs = picked(c.Values.Strings, under), picked(c.Values.UUIDs, under)
	}
	groups.Sums, groups.Counts = picked(groups.Sums, under), picked(groups.Counts, under)
	return groups, nil
}

// picked leaves the values at some places, which ascend. It is nil if values is.
func picked[T any](values []T, places []int) []T {
	if values == nil {
		return nil
	}
	for to, from := range places {
		values[to] = values[from]
	}
	return values[:len(places)]
}

// beginsWith reports whether the outermost functions of a stack have the names of a path.
func beginsWith(stack []*symbols.Symbol, path []string) bool {
	for _, y := range slices.Backward(stack) {
		for k := y.Frames() - 1; k >= 0 && len(path) > 0; k-- {
			if y.Name(k) != path[0] {
				return false
			}
			path = path[1:]
		}
	}
	return len(path) == 0
}

// isNamed returns a condition on the record of a location: one of its functions has the name.
func isNamed(name string) func(record []byte) bool {
	return func(record []byte) bool {
		return slices.ContainsFunc(symbols.AppendNames(nil, record), func(n []byte) bool { return string(n) == name })
	}
}
