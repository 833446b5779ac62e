package tree

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/granarydb/granary/columnstore"
)

// Cost is a function's cost, by side, in the unit of the stacks. Flat and Cum are as in profile.Function.
type Cost struct {
	// Frame is the function. File is the first of the function's files in alphabetical order. Line and
	// Mapping are the least in the function's frames in that file, and Inlined is not set.
	Frame
	Flat, Cum [2]int64
}

// Top returns the functions of the stacks of one side, or of two: before and after. A stack in which a
// function recurs counts once, and functions with the same name in several files are one. The order is
// that of profile.Stacks.Top, and with two sides by change. Then functions whose Flat and Cum are equal on
// both sides are omitted. most bounds the accounted bytes; 0 or less means no bound. The slice belongs to
// the caller.
//
// The error is columnstore.ErrQueryMemory or ctx.Err(). Top costs as much as profile.Stacks.Numbered,
// and 5 ns for each frame.
func Top[S StackList](ctx context.Context, most int64, sides ...S) ([]Cost, error) {
	t := top{index: map[string]int{}}
	bytes := int64(0)
	for side, stacks := range sides {
		bytes += stackBytes * int64(stacks.Len())
		var functions []int       // index in costs, by number of a frame
		known := map[uint32]int{} // index in costs, by number of a function in the stacks
		for b := range batches(ctx, stacks, false) {
			for i := range b.seen {
				functions = append(functions, t.see(&b.seen[i], known))
			}
			for i, value := range b.values {
				if t.stacks++; t.stacks%stacksAtOnce == 0 {
					runtime.Gosched()
					if err := ctx.Err(); err != nil {
						return nil, err
					}
				}
				if t.add(side, functions, b.frames(i), value); most > 0 && bytes+t.bytes > most {
					return nil, fmt.Errorf("%w: stopped at %d functions", columnstore.ErrQueryMemory, len(t.costs))
				}
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(sides) > 1 {
		t.costs = slices.DeleteFunc(t.costs, func(c Cost) bool { return c.Flat[0] == c.Flat[1] && c.Cum[0] == c.Cum[1] })
	}
	slices.SortFunc(t.costs, func(a, b Cost) int {
		change := func(v [2]int64) uint64 {
			if len(sides) > 1 {
				return size(v[1] - v[0])
			}
			return size(v[0])
		}
		return cmp.Or(cmp.Compare(change(b.Flat), change(a.Flat)), cmp.Compare(change(b.Cum), change(a.Cum)), cmp.Compare(a.Function, b.Function))
	})
	return t.costs, nil
}

// top sums the values of stacks by function.
type top struct {
	costs  []Cost
	lastIn []int          // number of the last stack that counted, by function
	index  map[string]int // index in costs, by name
	stacks int
	bytes  int64 // of the functions
}

// add adds a stack's value, leaf first.
func (t *top) add(side int, functions []int, numbers []uint32, value int64) {
	for depth, number := range numbers {
		i := functions[number]
		c := &t.costs[i]
		if depth == 0 {
			c.Flat[side] += value
		}
		if t.lastIn[i] != t.stacks {
			t.lastIn[i] = t.stacks
			c.Cum[side] += value
		}
	}
}

// see returns the function of a frame, and adds it to known.
func (t *top) see(f *seenFrame, known map[uint32]int) int {
	i, seen := known[f.function]
	if !seen {
		i = t.function(f.Function)
		known[f.function] = i
	}
	c := &t.costs[i]
	switch {
	case f.File == c.File:
		least(&c.Frame, &f.Frame)
	case c.File == "" || f.File != "" && f.File < c.File:
		c.Frame = Frame{Function: f.Function, File: f.File}
		least(&c.Frame, &f.Frame)
	}
	return i
}

// function returns a function's index in costs.
func (t *top) function(name string) int {
	i, known := t.index[name]
	if !known {
		i = len(t.costs)
		t.index[name] = i
		t.bytes += frameBytes + int64(len(name))
		t.costs, t.lastIn = append(t.costs, Cost{Frame: Frame{Function: name}}), append(t.lastIn, 0)
	}
	return i
}
