package pgo

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	pprof "github.com/google/pprof/profile"
)

// ErrLines is returned for a profile in which no function has a first line, because the compiler finds no call
// without it. Profiles of Go 1.20 and later have it.
var ErrLines = errors.New("no function has the line where it begins")

// callPlace is a place in a function, as the compiler tells them apart.
type callPlace struct {
	function    string
	start, line int64
	address     uint64 // 0 in the caller of an edge
}

// edge is a call from a place to a function.
type edge struct {
	caller callPlace
	callee string
	start  int64 // of the callee
}

// Edges adds up the weights of calls. The zero value has none. It belongs to one goroutine.
type Edges struct {
	weights map[edge]float64
}

// mostLocations is the number of locations of a stack, from the leaf on, in which the compiler sees calls: those further up
// are not made as often as they are sampled.
const mostLocations = 2

// Add adds the calls in the stacks of a profile, with the sample values of an index times scale. It costs about 100 ns
// a sample, and 200 bytes for each new call. The error is ErrLines.
func (e *Edges) Add(p *pprof.Profile, value int, scale float64) error {
	if len(p.Function) > 0 && !slices.ContainsFunc(p.Function, func(f *pprof.Function) bool { return f.StartLine != 0 }) {
		return ErrLines
	}
	if e.weights == nil {
		e.weights = map[edge]float64{}
	}
	var stack []callPlace // from the caller on
	for _, s := range p.Sample {
		stack = stack[:0]
		for _, l := range slices.Backward(s.Location[:min(mostLocations, len(s.Location))]) {
			for _, ln := range slices.Backward(l.Line) {
				if ln.Function == nil {
					ln.Function = &pprof.Function{}
				}
				stack = append(stack, callPlace{ln.Function.Name, ln.Function.StartLine, ln.Line, l.Address})
			}
			if len(l.Line) == 0 {
				stack = append(stack, callPlace{address: l.Address})
			}
		}
		e.add(stack, float64(s.Value[value])*scale)
	}
	return nil
}

// add adds the calls of a stack, each pair of places once.
func (e *Edges) add(stack []callPlace, weight float64) {
	for i := 1; i < len(stack); i++ {
		caller, callee := stack[i-1], stack[i]
		if caller == callee || caller.function == "" || callee.function == "" || isBefore(stack[:i], caller, callee) {
			continue // a place without a name is no call that the compiler could find
		}
		caller.address = 0
		e.weights[edge{caller, callee.function, callee.start}] += weight
	}
}

// isBefore reports whether a stack has a call. Stacks of two locations are short.
func isBefore(stack []callPlace, caller, callee callPlace) bool {
	for i := 1; i < len(stack); i++ {
		if stack[i-1] == caller && stack[i] == callee {
			return true
		}
	}
	return false
}

// Len returns the number of calls.
func (e *Edges) Len() int { return len(e.weights) }

// Profile returns the calls as samples of CPU time in nanoseconds, the heaviest first. Calls without weight are left out.
func (e *Edges) Profile() *pprof.Profile {
	cpu := func() *pprof.ValueType { return &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"} }
	p := &pprof.Profile{SampleType: []*pprof.ValueType{cpu()}, PeriodType: cpu(), Period: 1}
	b := callBuilder{profile: p, functions: map[callPlace]*pprof.Function{}, callers: map[callPlace]*pprof.Location{}, callees: map[callPlace]*pprof.Location{}}
	edges := slices.SortedFunc(maps.Keys(e.weights), func(a, b edge) int {
		return cmp.Or(cmp.Compare(e.weights[b], e.weights[a]), cmp.Compare(a.caller.function, b.caller.function), cmp.Compare(a.callee, b.callee), cmp.Compare(a.caller.line, b.caller.line), cmp.Compare(a.caller.start, b.caller.start), cmp.Compare(a.start, b.start))
	})
	for _, of := range edges {
		weight := int64(math.Round(e.weights[of]))
		if weight <= 0 {
			continue
		}
		callee := callPlace{function: of.callee, start: of.start, line: of.start}
		p.Sample = append(p.Sample, &pprof.Sample{Value: []int64{weight}, Location: []*pprof.Location{b.location(callee, b.callees), b.location(of.caller, b.callers)}})
	}
	return p
}

// callBuilder makes functions and locations.
type callBuilder struct {
	profile   *pprof.Profile
	functions map[callPlace]*pprof.Function // by name and first line
	// Callers and callees have addresses of their own, because the compiler takes equal places for one.
	callers, callees map[callPlace]*pprof.Location
}

func (b *callBuilder) location(f callPlace, of map[callPlace]*pprof.Location) *pprof.Location {
	if l := of[f]; l != nil {
		return l
	}
	id := uint64(len(b.profile.Location) + 1)
	l := &pprof.Location{ID: id, Address: id, Line: []pprof.Line{{Function: b.function(f), Line: f.line}}}
	of[f] = l
	b.profile.Location = append(b.profile.Location, l)
	return l
}

func (b *callBuilder) function(f callPlace) *pprof.Function {
	f.line, f.address = 0, 0
	if of := b.functions[f]; of != nil {
		return of
	}
	of := &pprof.Function{ID: uint64(len(b.profile.Function) + 1), Name: f.function, SystemName: f.function, StartLine: f.start}
	b.functions[f] = of
	b.profile.Function = append(b.profile.Function, of)
	return of
}
