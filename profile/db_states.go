package profile

import (
	"cmp"
	"context"
	"slices"

	"github.com/granarydb/granary/columnstore"
)

// MergeByState is Merge by an attribute's state at each profile's time. It returns each state's stacks,
// sorted by kind and value, and then the stacks of samples with an unknown state, by reason. Each sample
// is in one of these groups. Rows and states come from the same snapshot: it has both the rows and the
// states of a transaction, or neither.
//
// A sample's time is its profile's time: the shorter the profiles are compared with the states, the more
// exact the result. An open interval is a state like any other. A history ends with the latest instant
// written for any attribute, and a later profile has StateNoInstant. A Change at the profile's time
// avoids this, in the transaction that inserts the profile, even if the value stays the same. An
// attribute written by Add is null after its last end.
//
// It costs two to three times as much as MergeBy by the path's labels: the cost of MergeBy, 10 to 20 ns a
// row, and 50 to 150 ns for each distinct pair of an attribute and a time in a granule that the previous
// granule lacks (go test -bench MergeByState). It allocates some hundred bytes for each distinct state
// and set of labels, and 28 for each stack in a group, of which 12 remain.
//
// Gauge values are added up too, as with Query.SumGauges.
//
// Errors are as for CheckKinds and columnstore.Snapshot.History, and columnstore.ErrQuery if the history
// is nil, or if the path is empty or has a brace that does not enclose a label.
func (db *DB) MergeByState(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, states States) ([]StateStacks, error) {
	j, err := newStateJoin(db, snap, states)
	if err != nil {
		return nil, err
	}
	p := db.plan(snap, q, t)
	if err := p.oneKind(ctx, p.types, nil); err != nil {
		return nil, err
	}
	groups, err := p.sums(ctx, columnstore.AggregateOptions{By: []string{ColumnStacktrace}, AsOf: j.asOf(), NoCounts: true})
	if err != nil {
		return nil, err
	}
	const stack = 12 // its code and value
	if err := p.fits(groups, stack*len(groups.Sums)); err != nil {
		return nil, err
	}
	var out []StateStacks
	numbers := groups.Columns[1].Values.Uint64s
	for number, stacks := range divide(p, groups, numbers, int(firstState)+len(j.values)) {
		if stacks == nil {
			continue
		}
		group := StateStacks{Stacks: stacks}
		if number < int(firstState) {
			group.Status = StateStatus(number)
		} else {
			group.State = j.values[number-int(firstState)]
		}
		out = append(out, group)
	}
	slices.SortFunc(out, func(a, b StateStacks) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), a.State.Compare(b.State))
	})
	return out, nil
}
