package tree

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/granarydb/granary/columnstore"
)

// LineCost is the cost of a line of a function, by side, in the unit of the stacks.
type LineCost struct {
	File string // empty if unknown
	Line int64  // 0 if unknown
	// Self is the value of the stacks that end in the line, and Total that of the stacks with the line.
	Self, Total [2]int64
}

// Lines returns the lines of the function called name, in the stacks of one side, or of two: before and after. A stack in
// which a line recurs counts once in its Total, so the totals of a recursive function can add up to more than the function's. The
// order is by file and line. most bounds the accounted bytes; 0 or less means no bound. The slice belongs to the caller.
//
// The error is columnstore.ErrQueryMemory or ctx.Err(). Lines costs as much as Top.
func Lines[S StackList](ctx context.Context, name string, most int64, sides ...S) ([]LineCost, error) {
	t := lineSums{index: map[lineKey]int{}}
	bytes := int64(0)
	for side, stacks := range sides {
		bytes += stackBytes * int64(stacks.Len())
		var lines []int // index in costs, by number of a frame; -1 for another function
		for b := range batches(ctx, stacks, false) {
			for i := range b.seen {
				lines = append(lines, t.see(name, &b.seen[i].Frame))
			}
			for i, value := range b.values {
				if t.stacks++; t.stacks%stacksAtOnce == 0 {
					runtime.Gosched()
					if err := ctx.Err(); err != nil {
						return nil, err
					}
				}
				if t.add(side, lines, b.frames(i), value); most > 0 && bytes+t.bytes > most {
					return nil, fmt.Errorf("%w: stopped at %d lines", columnstore.ErrQueryMemory, len(t.costs))
				}
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(t.costs, func(a, b LineCost) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return t.costs, nil
}

type lineKey struct {
	file string
	line int64
}

// lineSums sums the values of stacks by line of a function.
type lineSums struct {
	costs  []LineCost
	lastIn []int // number of the last stack that counted, by line
	index  map[lineKey]int
	stacks int
	bytes  int64
}

// see returns the index of a frame's line in costs, or -1 for a frame of another function.
func (t *lineSums) see(name string, f *Frame) int {
	if f.Function != name {
		return -1
	}
	key := lineKey{f.File, f.Line}
	i, known := t.index[key]
	if !known {
		i = len(t.costs)
		t.index[key] = i
		t.bytes += frameBytes + int64(len(f.File))
		t.costs, t.lastIn = append(t.costs, LineCost{File: f.File, Line: f.Line}), append(t.lastIn, 0)
	}
	return i
}

// add adds a stack's value, leaf first.
func (t *lineSums) add(side int, lines []int, numbers []uint32, value int64) {
	for depth, number := range numbers {
		i := lines[number]
		if i < 0 {
			continue
		}
		if depth == 0 {
			t.costs[i].Self[side] += value
		}
		if t.lastIn[i] != t.stacks {
			t.lastIn[i] = t.stacks
			t.costs[i].Total[side] += value
		}
	}
}
