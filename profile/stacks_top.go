package profile

import (
	"cmp"
	"slices"

	"github.com/granarydb/granary/internal/symbols"
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
// the caller. Top costs as much as All.
func (s *Stacks) Top() []Function {
	c := topCounter{index: map[string]int{}}
	w := s.known().Walk()
	for i, code := range s.codes {
		c.stack(w.Locations(code), s.values[i])
	}
	slices.SortFunc(c.functions, Function.compare)
	return c.functions
}

// compare orders functions as Top does.
func (f Function) compare(g Function) int {
	return cmp.Or(cmp.Compare(size(g.Flat), size(f.Flat)), cmp.Compare(size(g.Cum), size(f.Cum)), cmp.Compare(f.Name, g.Name))
}

// topCounter sums the values of stacks by function.
type topCounter struct {
	functions []Function
	lastIn    []int          // number of the last stack that counted, by function
	index     map[string]int // in functions, by name
	byNumber  []int          // index+1 by number in symbols, so that a name is looked up once
	stacks    int
}

// stack adds a stack's value, leaf first.
func (c *topCounter) stack(locations []*symbols.Symbol, value int64) {
	c.stacks++
	for depth, y := range locations {
		for k, number := range y.Functions {
			i := c.function(y, k, number)
			if depth == 0 && k == 0 {
				c.functions[i].Flat += value
			}
			if c.lastIn[i] != c.stacks {
				c.lastIn[i] = c.stacks
				c.functions[i].Cum += value
			}
		}
	}
}

// function returns the index of a frame's function, and adds the function if it is new.
func (c *topCounter) function(y *symbols.Symbol, frame int, number uint32) int {
	if more := int(number) + 1 - len(c.byNumber); more > 0 {
		c.byNumber = append(c.byNumber, make([]int, more)...)
	}
	at := &c.byNumber[number]
	if *at == 0 {
		name := y.Name(frame)
		i, ok := c.index[name]
		if !ok {
			i = len(c.functions)
			c.index[name] = i
			c.functions = append(c.functions, Function{Name: name})
			c.lastIn = append(c.lastIn, 0)
		}
		*at = i + 1
	}
	return *at - 1
}
