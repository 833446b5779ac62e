package page

import (
	"cmp"
	"context"
	"slices"

	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/fault"
)

// TopAnswer is the answer to GET /api/v1/top.
type TopAnswer struct {
	Head
	Type
	// All is the number of functions. Matching is the number of functions whose names match s and whose
	// change the query asks for.
	All      int `json:"all"`
	Matching int `json:"matching"`
	// Functions are some of the matching functions.
	Functions []TopFunction `json:"functions"`
	// Says is, with spread, what changed, as a sentence. Parts is into how many parts each side was divided.
	Says  string `json:"says,omitempty"`
	Parts []int  `json:"parts,omitempty"`
}

// TopFunction is a function with its cost for each side.
type TopFunction struct {
	Name   string  `json:"name"`
	File   string  `json:"file,omitempty"`
	Line   int64   `json:"line,omitempty"`
	Binary string  `json:"binary,omitempty"`
	Flat   []int64 `json:"flat"`
	Cum    []int64 `json:"cum"`
	// P are, with spread, the probabilities that noise alone changes Flat and Cum as much; missing if a side has one part.
	P []float64 `json:"p,omitempty"`
}

// topOf answers GET /api/v1/top.
func topOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	most, offset := q.rows(200, q.page.Read.MaxNodes)
	order, changed, lens := q.order(), q.change(), q.lens()
	p, sides, of, err := q.stacks(ctx)
	if err != nil {
		return nil, err
	}
	if changed != nil && len(sides) < 2 {
		return nil, fault.Invalid("parameter change: there is no side before: ask with bq, bfrom or bto")
	}
	if err := of.found(ctx, &p, lens, sides); err != nil {
		return nil, err
	}
	costs, err := tree.Top(ctx, q.page.Read.QueryBytes, read(lens, sides)...)
	if err != nil {
		return nil, err
	}
	out := &TopAnswer{Type: of, All: len(costs), Functions: []TopFunction{}}
	var noise *spread
	if p.spread {
		if noise, out.Says, err = q.spread(ctx, &p, &of, costs); err != nil {
			return nil, err
		}
		out.Parts = noise.parts[:]
	}
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
		f := TopFunction{Name: c.Function, File: c.File, Line: c.Line, Binary: c.Mapping, Flat: c.Flat[:len(sides):len(sides)], Cum: c.Cum[:len(sides):len(sides)]}
		if noise != nil {
			f.P = probabilities(noise.p(c.Function))
		}
		out.Functions = append(out.Functions, f)
	}
	return out, nil
}

// change returns a filter for the functions of a difference that the query asks for, or nil for all.
func (q *pageQuestion) change() func(*tree.Cost) bool {
	has := func(c *tree.Cost, side int) bool { return c.Flat[side] != 0 || c.Cum[side] != 0 }
	switch change := q.of.Get("change"); change {
	case "":
	case "new":
		return func(c *tree.Cost) bool { return !has(c, 0) }
	case "gone":
		return func(c *tree.Cost) bool { return !has(c, 1) }
	case "both":
		return func(c *tree.Cost) bool { return has(c, 0) && has(c, 1) }
	default:
		q.refuse(fault.Invalid("parameter change: want new, gone or both, not %s", fault.Quoted(change)))
	}
	return nil
}

// order returns the order of functions, or "" for flat.
func (q *pageQuestion) order() string {
	order := q.of.Get("sort")
	if !slices.Contains([]string{"", "flat", "cum", "name"}, order) {
		q.refuse(fault.Invalid("parameter sort: want flat, cum or name, not %s", fault.Quoted(order)))
	}
	return order
}

// sortCosts sorts functions, which are initially in the order of flat.
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

// distance returns the absolute value of a value, or of the change between two.
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
