package profile

import (
	"fmt"
	"slices"

	"github.com/granarydb/granary/internal/symbols"
)

// Diff returns the values of after minus the values of before, by stack. Values that fell are negative.
// Stacks with equal values are omitted. Two stacks are the same if their locations are, even in different
// snapshots or stores. Diff changes neither argument. The result has the type of after.
//
// It is the difference that go tool pprof -base and -diff_base show. Percentages of -base are shares of
// the result's Magnitude. Percentages of -diff_base are shares of the Magnitude of before, or of after if
// that is 0. Values are not scaled: if one answer covers a longer time, its sums are greater (Normalize,
// Scale). A flame graph of both sides is drawn from after's graph with before's as its base (package
// render).
//
// The error is ErrMixed if the sample types or units differ, or if two answers with stacks differ in
// Query.Hide or Show. Diff
// costs about 1 us per stack, and 28 bytes per stack in addition to the memory of both answers.
func Diff(before, after *Stacks) (*Stacks, error) {
	if err := checkSides(before, after); err != nil {
		return nil, err
	}
	joiner := symbols.NewJoiner(max(before.Len(), after.Len()))
	var values []int64 // by code in the joiner
	add := func(s *Stacks, sign int64) {
		if s.Len() == 0 {
			return // it hides no frames either
		}
		codeOf := joiner.Add(s.symbols)
		for i, code := range s.codes {
			at := codeOf(code)
			if int(at) == len(values) {
				values = append(values, 0)
			}
			values[at] += sign * s.values[i]
		}
	}
	add(before, -1)
	add(after, 1)
	codes := make([]uint32, len(values))
	for i := range codes {
		codes[i] = uint32(i)
	}
	return newStacks(after.Type, joiner.Joined(), codes, values), nil
}

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

// DiffTop returns the functions whose cost changed, in the order of Top: the functions in the Top of Diff
// whose Flat or Cum is not 0, each with both sides. The slice belongs to the caller. The errors are as
// for Diff. DiffTop costs as much as Top of both answers.
func DiffTop(before, after *Stacks) ([]FunctionChange, error) {
	if err := checkSides(before, after); err != nil {
		return nil, err
	}
	index := map[string]int{}
	var changes []FunctionChange
	for _, f := range before.Top() {
		index[f.Name] = len(changes)
		changes = append(changes, FunctionChange{Function{f.Name, -f.Flat, -f.Cum}, FunctionCost{f.Flat, f.Cum}, FunctionCost{}})
	}
	for _, f := range after.Top() {
		i, known := index[f.Name]
		if !known {
			i = len(changes)
			changes = append(changes, FunctionChange{Function: Function{Name: f.Name}})
		}
		c := &changes[i]
		c.After = FunctionCost{f.Flat, f.Cum}
		c.Flat, c.Cum = c.Flat+f.Flat, c.Cum+f.Cum
	}
	changes = slices.DeleteFunc(changes, func(c FunctionChange) bool { return c.Flat == 0 && c.Cum == 0 })
	slices.SortFunc(changes, func(a, b FunctionChange) int { return a.compare(b.Function) })
	return changes, nil
}
