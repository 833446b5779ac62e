package profile

import (
	"cmp"
	"slices"

	"github.com/granarydb/granary/internal/symbols"
	"github.com/granarydb/granary/profile/tree"
)

// Sandwich is a function between its callers and its callees. Values are in the unit of the stacks' type.
// A Sandwich belongs to the caller.
type Sandwich struct {
	// Function is the function's cost, as in Top.
	Function Function `json:"function"`
	// Callers are the functions that call it, and Callees the functions that it calls, by falling
	// absolute value, then by name. Calls of the function to itself are omitted.
	Callers []Call `json:"callers"`
	Callees []Call `json:"callees"`
	// Above has the paths from the function to the roots of the stacks, and Below the paths to the
	// leaves. The root of both is the function: a node's children are its callers in Above, and its
	// callees in Below. A stack in which the function recurs is divided at the outermost call, so that
	// every stack counts once, and the Totals of both roots are Function.Cum.
	Above *FlameNode `json:"above"`
	Below *FlameNode `json:"below"`
}

// Call is the value of the stacks in which a function calls another, in the unit of the
// stacks' type. A stack in which the call recurs counts once, as in go tool pprof -peek.
type Call struct {
	Name  string `json:"name"` // of the caller or the callee
	Value int64  `json:"value"`
}

// Sandwich returns the callers and callees of the function called name, as in Function.Name. Functions
// with the same name in several files are one. If no stack has the function, its cost is 0, and there are
// no callers and no callees.
//
// Sandwich costs as much as All three times, and the nodes of both graphs.
func (s *Stacks) Sandwich(name string) *Sandwich {
	b := sandwichBuilder{name: name, callers: newCalls(), callees: newCalls()}
	b.function.Name = name
	w := s.known().Walk(nil)
	for i, code := range s.codes {
		b.stack(w.Locations(code), s.values[i])
	}
	return &Sandwich{
		Function: b.function, Callers: b.callers.sorted(), Callees: b.callees.sorted(),
		Above: s.graph(tree.Callers, name, 0), Below: s.graph(tree.Callees, name, 0),
	}
}

// sandwichBuilder sums the stacks with a function.
type sandwichBuilder struct {
	name             string
	function         Function
	callers, callees *calls

	frames []string // the names of the current stack, root first
	stacks int
}

// stack adds a stack, leaf first, if it has the function.
func (b *sandwichBuilder) stack(locations []*symbols.Symbol, value int64) {
	b.frames = b.frames[:0]
	outermost := -1
	for _, y := range slices.Backward(locations) {
		for k := range slices.Backward(y.Functions) {
			f := y.Name(k)
			if outermost < 0 && f == b.name {
				outermost = len(b.frames)
			}
			b.frames = append(b.frames, f)
		}
	}
	if outermost < 0 {
		return
	}
	b.stacks++
	b.function.Cum += value
	if b.frames[len(b.frames)-1] == b.name {
		b.function.Flat += value
	}
	for i := max(outermost, 1); i < len(b.frames); i++ {
		switch caller, callee := b.frames[i-1], b.frames[i]; {
		case caller == callee:
		case callee == b.name:
			b.callers.add(caller, b.stacks, value)
		case caller == b.name:
			b.callees.add(callee, b.stacks, value)
		}
	}
}

// calls sums the values of stacks by caller or by callee.
type calls struct {
	all    []Call
	lastIn []int // number of the last stack that counted, by call
	index  map[string]int
}

func newCalls() *calls { return &calls{index: map[string]int{}} }

// add adds the value of a stack to a call, once.
func (c *calls) add(name string, stack int, value int64) {
	i, known := c.index[name]
	if !known {
		i = len(c.all)
		c.index[name] = i
		c.all = append(c.all, Call{Name: name})
		c.lastIn = append(c.lastIn, 0)
	}
	if c.lastIn[i] != stack {
		c.lastIn[i] = stack
		c.all[i].Value += value
	}
}

func (c *calls) sorted() []Call {
	slices.SortFunc(c.all, func(a, b Call) int {
		return cmp.Or(cmp.Compare(size(b.Value), size(a.Value)), cmp.Compare(a.Name, b.Name))
	})
	return c.all
}
