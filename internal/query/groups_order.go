package query

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/query/order"
)

// groupOrder compares groups by their numbers: by its first function, then by the second, and so on.
type groupOrder []func(x, y int32) int

// checkOrder returns ErrQuery unless the groups have an order's columns.
func (a *aggregator) checkOrder(by []order.By, limit int) error {
	if limit < 0 || limit > 0 && len(by) == 0 {
		return fmt.Errorf("%w: limit %d: want at least 0, and an order of the groups", filter.ErrQuery, limit)
	}
	named := &Groups{}
	for _, c := range a.by {
		named.Columns = append(named.Columns, GroupColumn{Name: c.Name, Values: encoding.Vector{Type: c.typ}})
	}
	for i := range a.measures {
		named.Aggregates = append(named.Aggregates, GroupColumn{Name: a.measures[i].String()})
	}
	if a.measures == nil {
		named.Sums = []int64{}
	}
	if !a.noCounts {
		named.Counts = []int64{}
	}
	for _, o := range by {
		if c := named.find(o.Column); c == nil || c.Values.Type == encoding.UUIDList {
			return fmt.Errorf("%w: order by %q: want a column of the groups without lists", filter.ErrQuery, o.Column)
		}
	}
	return nil
}

// find returns the column with the name that Record gives it, or nil.
func (g *Groups) find(name string) *GroupColumn {
	switch c := g.Column(name); {
	case c != nil:
		return c
	case name == "sum" && g.Sums != nil:
		return &GroupColumn{Values: encoding.Int64s(g.Sums...)}
	case name == "count" && g.Counts != nil:
		return &GroupColumn{Values: encoding.Int64s(g.Counts...)}
	}
	return nil
}

// first keeps the first limit groups of an order, or all if limit is 0. Groups that are equal in the
// order are ordered by their columns, lists by their ids.
func (g *Groups) first(by []order.By, limit int, memory *queryMemory) error {
	var columns groupOrder
	for _, o := range by {
		columns = append(columns, g.find(o.Column).order(o.Descending))
	}
	for i := range g.Columns {
		columns = append(columns, g.Columns[i].order(false))
	}
	n := len(g.Sums)
	if len(g.Aggregates) > 0 {
		n = g.Aggregates[0].Values.Len()
	}
	if limit == 0 || limit > n {
		limit = n
	}
	const group = 4 + 8 + 8
	if err := memory.take(int64(limit * (group + valueSize*(len(g.Columns)+len(g.Aggregates))))); err != nil {
		return err
	}
	chosen := order.NewFirst(limit, columns.compare)
	for i := range int32(n) {
		if i%checkEvery == 0 {
			if err := memory.check(); err != nil {
				return err
			}
		}
		switch {
		case !chosen.IsFull():
			chosen.Push(i)
		case columns.compare(&i, chosen.Last()) < 0:
			*chosen.Last() = i
			chosen.Sink()
		}
	}
	groups := chosen.Sorted()
	for _, columns := range [][]GroupColumn{g.Columns, g.Aggregates} {
		for i := range columns {
			columns[i].choose(groups)
		}
	}
	g.Sums, g.Counts = chosenOf(g.Sums, groups), chosenOf(g.Counts, groups)
	return nil
}

func (o groupOrder) compare(x, y *int32) int {
	for _, compare := range o {
		if c := compare(*x, *y); c != 0 {
			return c
		}
	}
	return 0
}

// order returns the order of groups by the column, nulls first. If descending is true, it is reversed.
func (c *GroupColumn) order(descending bool) func(x, y int32) int {
	v, values := &c.Values, c.valueOrder()
	return func(x, y int32) int {
		first := 0
		switch nullX, nullY := v.Null(int(x)), v.Null(int(y)); {
		case nullX != nullY:
			first = int(encoding.FromBool(nullY)) - int(encoding.FromBool(nullX))
		case !nullX:
			first = values(x, y)
		}
		if descending {
			return -first
		}
		return first
	}
}

// valueOrder returns the order of groups by values that are not null.
func (c *GroupColumn) valueOrder() func(x, y int32) int {
	v := &c.Values
	switch v.Type {
	case encoding.Int64:
		return func(x, y int32) int { return cmp.Compare(v.Int64s[x], v.Int64s[y]) }
	case encoding.Uint64:
		return func(x, y int32) int { return cmp.Compare(v.Uint64s[x], v.Uint64s[y]) }
	case encoding.Float64:
		return func(x, y int32) int { return cmp.Compare(order.Float(v.Float64s[x]), order.Float(v.Float64s[y])) }
	case encoding.Bool:
		return func(x, y int32) int {
			return int(encoding.FromBool(v.Bools[x])) - int(encoding.FromBool(v.Bools[y]))
		}
	case encoding.String:
		return func(x, y int32) int { return cmp.Compare(v.Strings[x], v.Strings[y]) }
	case encoding.UUID:
		return func(x, y int32) int { return bytes.Compare(v.UUIDs[x][:], v.UUIDs[y][:]) }
	}
	return c.listOrder
}

// listOrder compares lists by their ids.
func (c *GroupColumn) listOrder(x, y int32) int {
	if c.Codes[x] == c.Codes[y] {
		return 0
	}
	a, b := c.Lists.List(nil, c.Codes[x]), c.Lists.List(nil, c.Codes[y])
	for i := range min(len(a), len(b)) {
		idA, idB := c.Lists.Element(a[i]), c.Lists.Element(b[i])
		if first := bytes.Compare(idA[:], idB[:]); first != 0 {
			return first
		}
	}
	return cmp.Compare(len(a), len(b))
}
