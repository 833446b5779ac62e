package page

import (
	"cmp"
	"context"
	"slices"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/fault"
)

// FlameAnswer is the answer to GET /api/v1/flame: a tree, or the callers and callees of a function.
type FlameAnswer struct {
	Head
	Type
	Tree    *tree.NodeColumns `json:"tree,omitempty"`
	Callers *tree.NodeColumns `json:"callers,omitempty"`
	Callees *tree.NodeColumns `json:"callees,omitempty"`
	// Shares describes the groups of the nodes, if the query asks for shares: the samples of all states with
	// a node's path.
	Shares []ShareGroup `json:"shares,omitempty"`
}

// flameOf answers GET /api/v1/flame.
func flameOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	most := q.nodes()
	isInverted, withShares, function := q.flag("inv"), q.flag("shares"), q.of.Get("function")
	lens, group := q.lens(), q.of.Get("group")
	lens.FromLeaf = isInverted && group != ""
	q.checkGroup(group, function)
	if function != "" && isInverted {
		q.refuse(fault.Invalid("parameters inv and function: choose one"))
	}
	p, sides, of, err := q.stacks(ctx)
	if err != nil {
		return nil, err
	}
	if err := of.found(ctx, &p, lens, sides); err != nil {
		return nil, err
	}
	var shares stateShares
	if withShares {
		if shares, err = q.shares(ctx, &p); err != nil {
			return nil, err
		}
	}
	out := &FlameAnswer{Type: of, Shares: shares.groups}
	places := map[tree.Direction]**tree.NodeColumns{tree.FromRoot: &out.Tree}
	switch {
	case isInverted:
		places = map[tree.Direction]**tree.NodeColumns{tree.FromLeaf: &out.Tree}
	case function != "":
		places = map[tree.Direction]**tree.NodeColumns{tree.Callers: &out.Callers, tree.Callees: &out.Callees}
	}
	for direction, place := range places {
		calls := tree.New(direction, function, q.page.Read.QueryBytes/int64(len(places)))
		if group != "" {
			err = q.addGroups(ctx, calls, &p, lens, group)
		} else {
			err = addSides(ctx, calls, read(lens, sides))
		}
		if err != nil {
			return nil, err
		}
		if err := shares.addTo(ctx, calls, lens); err != nil {
			return nil, err
		}
		*place = calls.Nodes(max(most, 1)).Columns(len(sides))
	}
	return out, nil
}

func addSides(ctx context.Context, calls *tree.Calls, sides []tree.StackList) error {
	for i, s := range sides {
		if err := calls.Add(ctx, i, s); err != nil {
			return err
		}
	}
	return nil
}

// MostShares bounds an answer's groups. The last group has all other states.
const MostShares = 8

// ShareGroup is a group of a tree's nodes: a state, the samples without a state for a reason, or the
// others.
type ShareGroup struct {
	// Status is "known", the reason why the samples have no state, or "others".
	Status string `json:"status"`
	State  string `json:"state,omitempty"` // as in StateText
	Kind   string `json:"kind,omitempty"`
	Total  int64  `json:"total"`
	// Others is the number of groups in the last group.
	Others int `json:"others,omitempty"`
}

// stateShares has the samples of all states, by group. The zero value has none.
type stateShares struct {
	groups []ShareGroup
	stacks [][]*profile.Stacks // by group
}

// shares returns the samples of all states that a query chooses, but ignores its choice of a state. Values
// are sums.
func (q *pageQuestion) shares(ctx context.Context, p *pageSides) (out stateShares, err error) {
	if len(p.queries) > 1 {
		return out, fault.Invalid("parameter shares: a difference has none")
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
		if all, err = q.at.DB.MergeByState(ctx, q.at.Snap, p.typ, query, s.States); err != nil {
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
		if i < MostShares-1 || len(all) == MostShares {
			group := ShareGroup{Status: g.Status.String(), Total: g.Stacks.Total}
			if g.Status == profile.StateKnown {
				group.State, group.Kind = StateName(g.State), g.State.Kind().String()
			}
			out.groups, out.stacks = append(out.groups, group), append(out.stacks, []*profile.Stacks{g.Stacks})
			continue
		}
		if i == MostShares-1 {
			out.groups, out.stacks = append(out.groups, ShareGroup{Status: "others"}), append(out.stacks, nil)
		}
		last := &out.groups[MostShares-1]
		last.Total, last.Others = last.Total+g.Stacks.Total, last.Others+1
		out.stacks[MostShares-1] = append(out.stacks[MostShares-1], g.Stacks)
	}
	return out
}

// addTo adds the groups to a tree.
func (s *stateShares) addTo(ctx context.Context, calls *tree.Calls, r tree.Lens) error {
	for group, all := range s.stacks {
		for _, stacks := range all {
			if err := calls.AddGroup(ctx, group, r.Of(stacks)); err != nil {
				return err
			}
		}
	}
	return nil
}
