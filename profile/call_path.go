package profile

import (
	"context"
	"slices"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/pattern"
	"github.com/granarydb/granary/internal/symbols"
)

// keepUnder keeps only the groups whose stack is under path. It changes the groups in place. The error is ctx.Err().
func keepUnder(ctx context.Context, groups *columnstore.Groups, stacks *columnstore.GroupColumn, resolver *symbols.Resolver, path []string) error {
	w := resolver.Walk(pattern.Until(ctx))
	var under []int
	for row, code := range stacks.Codes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if beginsWith(w.Locations(code), path) {
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
	return nil
}

// picked returns the values at places, which ascend. It returns nil if values is nil.
func picked[T any](values []T, places []int) []T {
	if values == nil {
		return nil
	}
	for to, from := range places {
		values[to] = values[from]
	}
	return values[:len(places)]
}

// beginsWith reports whether the outermost functions of a stack have the names in path.
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
