package formats

import (
	"context"
	"io"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

// Tree selects a tree of stacks. The zero value is the whole flame graph.
type Tree struct {
	Direction tree.Direction
	Function  string // for tree.Callers and tree.Callees
	MaxNodes  int    // 0: all
	IsMean    bool   // whether values are means, for JSON
}

// Nodes returns the tree of one profile, or of two for a difference: before and after. The error is ctx's
// error.
func (t *Tree) Nodes(ctx context.Context, sides ...*profile.Stacks) (*tree.Nodes, error) {
	calls := tree.New(t.Direction, t.Function, 0)
	for i, s := range sides {
		if err := calls.Add(ctx, i, s); err != nil {
			return nil, err
		}
	}
	return calls.Nodes(t.MaxNodes), nil
}

// WriteTree writes a tree as JSON in the form of a server's GET /api/v1/flame, without the fields about the
// server. The errors are those of Nodes and of w.
func WriteTree(ctx context.Context, w io.Writer, t Tree, sides ...*profile.Stacks) error {
	nodes, err := t.Nodes(ctx, sides...)
	if err != nil {
		return err
	}
	of := sides[0].Type
	out := struct {
		SampleType string            `json:"sample_type"`
		Unit       string            `json:"unit"`
		Mean       bool              `json:"mean"`
		Total      []int64           `json:"total"`
		Magnitude  []int64           `json:"magnitude"`
		Tree       *tree.NodeColumns `json:"tree,omitempty"`
		Callers    *tree.NodeColumns `json:"callers,omitempty"`
		Callees    *tree.NodeColumns `json:"callees,omitempty"`
	}{SampleType: of.Sample, Unit: of.SampleUnit, Mean: t.IsMean}
	for _, s := range sides {
		out.Total, out.Magnitude = append(out.Total, s.Total), append(out.Magnitude, s.Magnitude)
	}
	place := map[tree.Direction]**tree.NodeColumns{tree.Callers: &out.Callers, tree.Callees: &out.Callees}[t.Direction]
	if place == nil {
		place = &out.Tree
	}
	*place = nodes.Columns(len(sides))
	return cli.PrintJSON(w, &out)
}
