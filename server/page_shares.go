package server

import (
	"cmp"
	"context"
	"slices"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

// mostShares bounds the groups of an answer: what else there is goes into the last one.
const mostShares = 8

// shareGroup is a group of the nodes of a tree: a state, the samples without one for a reason, or the others.
type shareGroup struct {
	// Status is known, the reason why the samples have no state, or "others".
	Status string `json:"status"`
	State  string `json:"state,omitempty"` // as stateText has it
	Kind   string `json:"kind,omitempty"`
	Total  int64  `json:"total"`
	// Others is how many groups are in that of the others.
	Others int `json:"others,omitempty"`
}

// stateShares are the samples of all states, by group. The zero value has none.
type stateShares struct {
	groups []shareGroup
	stacks [][]*profile.Stacks // by group
}

// shares returns the samples of all states that a question chooses but for its choice of one. Values are sums.
func (q *pageQuestion) shares(ctx context.Context, p *pageSides) (out stateShares, err error) {
	if len(p.queries) > 1 {
		return out, invalid("parameter shares: a difference has none")
	}
	var all []profile.StateStacks
	if p.states != nil {
		all = p.states.groups
	} else {
		s, err := q.states()
		if err != nil {
			return out, err
		}
		query := p.queries[0]
		query.SumGauges = true
		if all, err = q.s.db.MergeByState(ctx, q.snap, p.typ, query, s.States); err != nil {
			return out, err
		}
	}
	return newStateShares(all), nil
}

// newStateShares puts the largest groups first.
func newStateShares(all []profile.StateStacks) (out stateShares) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b profile.StateStacks) int { return cmp.Compare(b.Stacks.Magnitude, a.Stacks.Magnitude) })
	for i, g := range all {
		if i < mostShares-1 || len(all) == mostShares {
			group := shareGroup{Status: g.Status.String(), Total: g.Stacks.Total}
			if g.Status == profile.StateKnown {
				group.State, group.Kind = stateName(g.State), g.State.Kind().String()
			}
			out.groups, out.stacks = append(out.groups, group), append(out.stacks, []*profile.Stacks{g.Stacks})
			continue
		}
		if i == mostShares-1 {
			out.groups, out.stacks = append(out.groups, shareGroup{Status: "others"}), append(out.stacks, nil)
		}
		last := &out.groups[mostShares-1]
		last.Total, last.Others = last.Total+g.Stacks.Total, last.Others+1
		out.stacks[mostShares-1] = append(out.stacks[mostShares-1], g.Stacks)
	}
	return out
}

// addTo adds the groups to a tree.
func (s *stateShares) addTo(ctx context.Context, calls *tree.Calls) error {
	for group, all := range s.stacks {
		for _, stacks := range all {
			if err := calls.AddGroup(ctx, group, stacks); err != nil {
				return err
			}
		}
	}
	return nil
}
