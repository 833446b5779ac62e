package profile

import (
	"context"

	"github.com/granarydb/granary/profile/tree"
)

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
