package query

import (
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/query/filter"
)

// A sum by list alone has many rows per group. Conditions on list elements are therefore evaluated once
// for each group, at the end. The rows are summed without these conditions, and no row mask is computed.

// havingBytes bounds the query's allocations for a list: in a hash table, in the tables that it outgrew,
// in an array, again in a union of several generations, and in the answer.
const havingBytes = 128

// having takes the conditions on the only By column from the chooser, if that is a list column. keep
// applies them. It takes none if the lists without a matching element might exceed the query's memory.
// One goroutine evaluates all groups, because the conditions call functions of the caller.
func (a *aggregator) having(c *filter.Chooser, state *catalog.TableState, where filter.Expr) []filter.ElementCondition {
	if a.list < 0 || len(a.by) > 1 {
		return nil
	}
	lists := 0
	var last *catalog.BucketState
	for _, b := range c.Buckets(state, where) {
		switch {
		case b.Cold != nil:
			return nil // its lists are not known yet
		case b.Gen != nil && (last == nil || b.Gen != last.Gen):
			lists += b.Gen.Lists.Len() + 1
			last = b
		}
	}
	if a.memory.left()/havingBytes < int64(lists) {
		return nil
	}
	return c.TakeElements(a.by[a.list].Concrete)
}

// keep drops the sums of lists for which a condition does not hold.
func (a *aggregator) keep(conditions []filter.ElementCondition) error {
	for _, condition := range conditions {
		for _, lists := range a.lists {
			for gen, s := range lists {
				if s == nil {
					continue
				}
				holds := condition.Of(a.gens[gen].Lists)
				if s.keep(holds); holds.Cancelled() {
					return a.memory.check()
				}
			}
		}
	}
	return nil
}
