package server

import (
	"context"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

// flameAnswer is the answer of GET /api/v1/flame: a tree, or of a function its callers and its callees.
type flameAnswer struct {
	pageHead
	pageType
	Tree    *flameColumns `json:"tree,omitempty"`
	Callers *flameColumns `json:"callers,omitempty"`
	Callees *flameColumns `json:"callees,omitempty"`
	// Shares are what the groups of the nodes are, with shares: the samples of all states with the path of a node.
	Shares []shareGroup `json:"shares,omitempty"`
}

// flameColumns are the nodes of a tree.
type flameColumns struct{ tree.NodeColumns }

// flameOf answers GET /api/v1/flame.
func flameOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	most, err := q.number("max_nodes", 16_384, q.s.limits.Nodes)
	if err != nil {
		return nil, err
	}
	isInverted, err := q.flag("inv")
	if err != nil {
		return nil, err
	}
	withShares, err := q.flag("shares")
	if err != nil {
		return nil, err
	}
	function := q.of.Get("function")
	if function != "" && isInverted {
		return nil, invalid("parameters inv and function: choose one")
	}
	p, sides, of, err := q.stacks(ctx)
	if err != nil {
		return nil, err
	}
	var shares stateShares
	if withShares {
		if shares, err = q.shares(ctx, &p); err != nil {
			return nil, err
		}
	}
	out := &flameAnswer{pageType: of, Shares: shares.groups}
	places := map[tree.Direction]**flameColumns{tree.FromRoot: &out.Tree}
	switch {
	case isInverted:
		places = map[tree.Direction]**flameColumns{tree.FromLeaf: &out.Tree}
	case function != "":
		places = map[tree.Direction]**flameColumns{tree.Callers: &out.Callers, tree.Callees: &out.Callees}
	}
	for direction, place := range places {
		calls := tree.New(direction, function, q.s.limits.QueryBytes/int64(len(places)))
		if err := addSides(ctx, calls, sides); err != nil {
			return nil, err
		}
		if err := shares.addTo(ctx, calls); err != nil {
			return nil, err
		}
		*place = &flameColumns{*calls.Nodes(max(most, 1)).Columns(len(sides))}
	}
	return out, nil
}

func addSides(ctx context.Context, calls *tree.Calls, sides []*profile.Stacks) error {
	for i, s := range sides {
		if err := calls.Add(ctx, i, s); err != nil {
			return err
		}
	}
	return nil
}
