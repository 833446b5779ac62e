package profile

import (
	"cmp"
	"slices"
)

// Function is what a function costs: Flat by itself, Cum with all that it
// calls. A stack in which it recurs counts once.
type Function struct {
	Name string `json:"name"`
	Flat int64  `json:"flat"`
	Cum  int64  `json:"cum"`
}

// Top returns the functions of all stacks, by falling size of Flat, then of
// Cum, then by name: the order of go tool pprof -top.
func (s *Stacks) Top() []Function {
	index := map[string]int{}
	var functions []Function
	var lastIn []int // number of the last stack that a function was counted for
	number := 0
	s.Each(func(frames []Frame, value int64) {
		number++
		for depth, f := range frames {
			i, ok := index[f.Function]
			if !ok {
				i = len(functions)
				index[f.Function] = i
				functions = append(functions, Function{Name: f.Function})
				lastIn = append(lastIn, 0)
			}
			if depth == 0 {
				functions[i].Flat += value
			}
			if lastIn[i] != number {
				lastIn[i] = number
				functions[i].Cum += value
			}
		}
	})
	slices.SortFunc(functions, func(a, b Function) int {
		return cmp.Or(cmp.Compare(size(b.Flat), size(a.Flat)), cmp.Compare(size(b.Cum), size(a.Cum)), cmp.Compare(a.Name, b.Name))
	})
	return functions
}

// size is the magnitude of a value: differences have negative ones.
func size(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}
