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
}

// flameColumns are tree.Nodes as columns of JSON. Totals are not sent: they are the self values of a node and of
// all below it.
type flameColumns struct {
	// Names, Files, Lines and Binaries are of functions: the first is that of the root, and the second of nodes that
	// stand for others. Files and Binaries are numbers in Texts.
	Names    []string `json:"names"`
	Files    []int    `json:"files"`
	Lines    []int64  `json:"lines"`
	Binaries []int    `json:"binaries"`
	Texts    []string `json:"texts"`
	// Depth, Function and Self are of nodes in preorder, Self by side.
	Depth    []int32   `json:"depth"`
	Function []uint32  `json:"function"`
	Self     [][]int64 `json:"self"`
	// Others are pairs: a node that stands for others, and how many.
	Others [][2]int `json:"others"`
	// All is the number of nodes without the root, had none been left out.
	All int `json:"all"`
}

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
	function := q.of.Get("function")
	if function != "" && isInverted {
		return nil, invalid("parameters inv and function: choose one")
	}
	_, sides, of, err := q.stacks(ctx)
	if err != nil {
		return nil, err
	}
	out := &flameAnswer{pageType: of}
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
		*place = newFlameColumns(calls.Nodes(max(most, 1)), len(sides))
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

// newFlameColumns returns the columns of a tree with one side or two.
func newFlameColumns(n *tree.Nodes, sides int) *flameColumns {
	out := &flameColumns{Texts: []string{""}, Depth: n.Depth, Function: n.Frame, Others: [][2]int{}, All: n.All}
	numbers := map[string]int{"": 0}
	number := func(text string) int {
		i, known := numbers[text]
		if !known {
			i = len(out.Texts)
			numbers[text], out.Texts = i, append(out.Texts, text)
		}
		return i
	}
	for _, f := range n.Frames {
		out.Names, out.Lines = append(out.Names, f.Function), append(out.Lines, f.Line)
		out.Files, out.Binaries = append(out.Files, number(f.File)), append(out.Binaries, number(f.Mapping))
	}
	for side := range sides {
		out.Self = append(out.Self, n.Self[side])
	}
	for _, o := range n.Others {
		out.Others = append(out.Others, [2]int{o.At, o.Nodes})
	}
	return out
}
