package profile

import (
	"context"
	"fmt"

	"github.com/granarydb/granary/profile/tree"
)

// checkSides returns ErrMixed if the two answers have no meaningful difference.
func checkSides(before, after *Stacks) error {
	if b, a := before.Type, after.Type; b.Sample != a.Sample || b.SampleUnit != a.SampleUnit {
		return fmt.Errorf("%w: %v before, %v after", ErrMixed, b, a)
	}
	if !before.known().LeavesOutAs(after.known()) && before.Len() > 0 && after.Len() > 0 {
		return fmt.Errorf("%w: the answers leave out different frames", ErrMixed)
	}
	return nil
}

// FunctionChange is a function with its cost before and after, and the change, After minus Before.
type FunctionChange struct {
	Function
	Before FunctionCost `json:"before"`
	After  FunctionCost `json:"after"`
}

// FunctionCost is a function's cost on one side of a difference. Flat and Cum are as in Function.
type FunctionCost struct {
	Flat int64 `json:"flat"`
	Cum  int64 `json:"cum"`
}

// DiffTop returns the functions whose cost changed, in the order of Top by their changes, each with both
// sides. The slice belongs to the caller. Values are not scaled: if one answer covers a longer time, its
// sums are greater (Normalize, Scale). DiffTop costs as much as Top of both answers. A flame graph of both
// sides is drawn from after's graph with before's as its base (package render). Percentages of go tool
// pprof -diff_base divide by before's Magnitude, or by after's if that is 0.
//
// The error is ErrMixed if the sample types or units differ, or if two answers with stacks differ in
// Query.Hide or Show.
func DiffTop(before, after *Stacks) ([]FunctionChange, error) {
	if err := checkSides(before, after); err != nil {
		return nil, err
	}
	var changes []FunctionChange
	for _, c := range costs(before, after) {
		changes = append(changes, FunctionChange{
			Function{c.Function, c.Flat[1] - c.Flat[0], c.Cum[1] - c.Cum[0]},
			FunctionCost{c.Flat[0], c.Cum[0]},
			FunctionCost{c.Flat[1], c.Cum[1]},
		})
	}
	return changes, nil
}

// Function is a function's cost, in the unit of the stacks' type. Flat is the cost of the function
// itself. Cum includes everything that it calls. A stack in which it recurs counts once.
type Function struct {
	Name string `json:"name"`
	Flat int64  `json:"flat"`
	Cum  int64  `json:"cum"`
}

// Top returns the functions of all stacks, by falling absolute value of Flat, then of Cum, then by name,
// as go tool pprof -top does. Functions with the same name in several files are one. The slice belongs to
// the caller. Top costs as much as All. Package profile/tree has it with a bound on memory and a context.
func (s *Stacks) Top() []Function {
	var functions []Function
	for _, c := range costs(s) {
		functions = append(functions, Function{c.Function, c.Flat[0], c.Cum[0]})
	}
	return functions
}

// costs returns the costs of functions on one side, or on two.
func costs(sides ...*Stacks) []tree.Cost {
	all, _ := tree.Top(context.Background(), 0, sides...) // without a bound on memory and a deadline there is no error
	return all
}
