package server

import (
	"cmp"
	"context"
	"slices"

	"github.com/granarydb/granary/profile/tree"
)

// topAnswer is the answer of GET /api/v1/top.
type topAnswer struct {
	pageHead
	pageType
	// All is the number of functions, and Matching that of those whose names match s, and which changed as asked for.
	All      int `json:"all"`
	Matching int `json:"matching"`
	// Functions are some of those that match.
	Functions []topFunction `json:"functions"`
}

// topFunction is a function, and what it costs by side.
type topFunction struct {
	Name   string  `json:"name"`
	File   string  `json:"file,omitempty"`
	Line   int64   `json:"line,omitempty"`
	Binary string  `json:"binary,omitempty"`
	Flat   []int64 `json:"flat"`
	Cum    []int64 `json:"cum"`
}

// topOf answers GET /api/v1/top.
func topOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	const rows = 200
	most, err := q.number("rows", rows, q.s.limits.Nodes)
	if err != nil {
		return nil, err
	}
	offset, err := q.number("offset", 0, 1<<31-1)
	if err != nil {
		return nil, err
	}
	order, err := q.order()
	if err != nil {
		return nil, err
	}
	changed, err := q.change()
	if err != nil {
		return nil, err
	}
	p, sides, of, err := q.stacks(ctx)
	if err != nil {
		return nil, err
	}
	if changed != nil && len(sides) < 2 {
		return nil, invalid("parameter change: there is no side before: ask with bq, bfrom or bto")
	}
	costs, err := tree.Top(ctx, q.s.limits.QueryBytes, sides...)
	if err != nil {
		return nil, err
	}
	out := &topAnswer{pageType: of, All: len(costs), Functions: []topFunction{}}
	if p.search != nil {
		costs = slices.DeleteFunc(costs, func(c tree.Cost) bool { return !p.search.MatchString(c.Function) })
	}
	if changed != nil {
		costs = slices.DeleteFunc(costs, func(c tree.Cost) bool { return !changed(&c) })
	}
	out.Matching = len(costs)
	sortCosts(costs, order, len(sides))
	costs = costs[min(offset, len(costs)):]
	for _, c := range costs[:min(most, len(costs))] {
		out.Functions = append(out.Functions, topFunction{c.Function, c.File, c.Line, c.Mapping, c.Flat[:len(sides):len(sides)], c.Cum[:len(sides):len(sides)]})
	}
	return out, nil
}

// change returns which functions of a difference are asked for, nil for all of them.
func (q *pageQuestion) change() (func(*tree.Cost) bool, error) {
	has := func(c *tree.Cost, side int) bool { return c.Flat[side] != 0 || c.Cum[side] != 0 }
	switch change := q.of.Get("change"); change {
	case "":
		return nil, nil
	case "new":
		return func(c *tree.Cost) bool { return !has(c, 0) }, nil
	case "gone":
		return func(c *tree.Cost) bool { return !has(c, 1) }, nil
	case "both":
		return func(c *tree.Cost) bool { return has(c, 0) && has(c, 1) }, nil
	default:
		return nil, invalid("parameter change: want new, gone or both, not %s", quoted(change))
	}
}

// order returns the order of functions, "" for that of flat.
func (q *pageQuestion) order() (string, error) {
	order := q.of.Get("sort")
	if !slices.Contains([]string{"", "flat", "cum", "name"}, order) {
		return "", invalid("parameter sort: want flat, cum or name, not %s", quoted(order))
	}
	return order, nil
}

// sortCosts sorts functions, which are in the order of flat.
func sortCosts(costs []tree.Cost, order string, sides int) {
	switch order {
	case "cum":
		slices.SortStableFunc(costs, func(a, b tree.Cost) int {
			return cmp.Compare(distance(b.Cum, sides), distance(a.Cum, sides))
		})
	case "name":
		slices.SortFunc(costs, func(a, b tree.Cost) int { return cmp.Compare(a.Function, b.Function) })
	}
}

// distance returns the size of a value, or of the change of two.
func distance(v [2]int64, sides int) uint64 {
	d := v[0]
	if sides > 1 {
		d = v[1] - v[0]
	}
	if d < 0 {
		return -uint64(d)
	}
	return uint64(d)
}
