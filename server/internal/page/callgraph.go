package page

import (
	"context"

	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/callgraph"
	"github.com/granarydb/granary/server/internal/fault"
)

// CallGraphAnswer is the answer to GET /api/v1/callgraph.
type CallGraphAnswer struct {
	Head
	Type
	// Functions are those with the greatest values, the greatest first. Calls are the calls between them.
	Functions []GraphFunction `json:"functions"`
	Calls     []GraphCall     `json:"calls"`
}

// GraphFunction is a function with its cost. A stack counts once in Cum.
type GraphFunction struct {
	Name string `json:"name"`
	Flat int64  `json:"flat"`
	Cum  int64  `json:"cum"`
}

// GraphCall is the value of the stacks in which a function calls another. Caller and Callee are indexes of functions. Through is
// true if each of its calls goes through functions that the graph lacks.
type GraphCall struct {
	Caller  int   `json:"caller"`
	Callee  int   `json:"callee"`
	Value   int64 `json:"value"`
	Through bool  `json:"through,omitempty"`
}

// MostGraphNodes bounds the functions of a call graph: more are no picture.
const MostGraphNodes = 200

// callGraphOf answers GET /api/v1/callgraph.
func callGraphOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	most, lens := q.number("nodes", 40, min(MostGraphNodes, q.page.Read.MaxNodes)), q.lens()
	p, sides, of, err := q.stacks(ctx)
	if err != nil {
		return nil, err
	}
	if len(sides) > 1 {
		return nil, fault.Invalid("a call graph has no side before: ask without bq, bfrom and bto")
	}
	if err := of.found(ctx, &p, lens, sides); err != nil {
		return nil, err
	}
	calls := tree.New(tree.FromRoot, "", q.page.Read.QueryBytes)
	if err := addSides(ctx, calls, read(lens, sides)); err != nil {
		return nil, err
	}
	calls.DropNegatives()
	g := callgraph.Of(calls.Nodes(0), max(most, 1))
	out := &CallGraphAnswer{Type: of, Functions: []GraphFunction{}, Calls: []GraphCall{}}
	for _, f := range g.Functions {
		out.Functions = append(out.Functions, GraphFunction(f))
	}
	for _, pair := range g.Sorted() {
		out.Calls = append(out.Calls, GraphCall{pair.Caller, pair.Callee, g.Calls[pair].Value, g.Calls[pair].IsLong})
	}
	return out, nil
}
