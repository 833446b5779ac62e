package page

import (
	"context"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/fault"
)

// FlameAnswer is the answer to GET /api/v1/flame: a tree, or the callers and callees of a function.
type FlameAnswer struct {
	Head
	Type
	Tree    *FlameColumns `json:"tree,omitempty"`
	Callers *FlameColumns `json:"callers,omitempty"`
	Callees *FlameColumns `json:"callees,omitempty"`
	// Shares describes the groups of the nodes, if the query asks for shares: the samples of all states with
	// a node's path.
	Shares []ShareGroup `json:"shares,omitempty"`
}

// FlameColumns are a tree's nodes.
type FlameColumns struct{ tree.NodeColumns }

// flameOf answers GET /api/v1/flame.
func flameOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	most, err := q.number("max_nodes", 16_384, q.page.Read.MaxNodes)
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
		return nil, fault.Invalid("parameters inv and function: choose one")
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
	out := &FlameAnswer{Type: of, Shares: shares.groups}
	places := map[tree.Direction]**FlameColumns{tree.FromRoot: &out.Tree}
	switch {
	case isInverted:
		places = map[tree.Direction]**FlameColumns{tree.FromLeaf: &out.Tree}
	case function != "":
		places = map[tree.Direction]**FlameColumns{tree.Callers: &out.Callers, tree.Callees: &out.Callees}
	}
	for direction, place := range places {
		calls := tree.New(direction, function, q.page.Read.QueryBytes/int64(len(places)))
		if err := addSides(ctx, calls, sides); err != nil {
			return nil, err
		}
		if err := shares.addTo(ctx, calls); err != nil {
			return nil, err
		}
		*place = &FlameColumns{*calls.Nodes(max(most, 1)).Columns(len(sides))}
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
