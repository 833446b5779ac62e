package profile

import (
	"context"
	"iter"
	"regexp"
	"slices"
	"sort"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/pattern"
	"github.com/granarydb/granary/internal/symbols"
	"github.com/granarydb/granary/profile/tree"
)

// Stacks has sums of profiles by stack. It is immutable and safe for concurrent use. It stays valid when
// its snapshot is closed, and keeps the dictionaries of its stacks in memory. The zero Stacks has no
// stacks and no type.
type Stacks struct {
	// Type is the type of the values.
	Type Type
	// Total is the sum of all values, with their signs, in Type.SampleUnit. Like all sums here, it wraps
	// around on overflow.
	Total int64
	// Magnitude is the sum of the absolute values of the stacks. It is a base for percentages. go tool
	// pprof counts samples with the same stack and different labels separately, so its base is greater if
	// the values of such samples cancel out here.
	Magnitude int64

	codes   []uint32 // codes of the stacks, ascending
	values  []int64  // values of the stacks, none 0
	symbols *symbols.Resolver
}

// newStacks returns stacks with codes and values. It takes over both slices.
func newStacks(t Type, resolver *symbols.Resolver, codes []uint32, values []int64) *Stacks {
	s := &Stacks{Type: t, symbols: resolver}
	if !slices.IsSorted(codes) {
		sort.Sort(byCode{codes, values})
	}
	s.codes, s.values = codes[:0], values[:0]
	for i := 0; i < len(codes); {
		code, value := codes[i], values[i]
		for i++; i < len(codes) && codes[i] == code; i++ {
			value += values[i] // the same stack, with the label of the profile and of the sample
		}
		s.add(code, value)
	}
	return s
}

// add adds a stack whose code is greater than all earlier codes, unless its value is 0. It is called only
// while s is built.
func (s *Stacks) add(code uint32, value int64) {
	if value == 0 {
		return
	}
	s.codes, s.values = append(s.codes, code), append(s.values, value)
	s.Total += value
	s.Magnitude += int64(size(value))
}

// byCode sorts codes and values in place.
type byCode struct {
	codes  []uint32
	values []int64
}

func (b byCode) Len() int           { return len(b.codes) }
func (b byCode) Less(i, j int) bool { return b.codes[i] < b.codes[j] }
func (b byCode) Swap(i, j int) {
	b.codes[i], b.codes[j] = b.codes[j], b.codes[i]
	b.values[i], b.values[j] = b.values[j], b.values[i]
}

// known returns the symbols of the locations. They are empty for the zero Stacks.
func (s *Stacks) known() *symbols.Resolver {
	if s.symbols == nil {
		return symbols.New(dict.ListView{}, nil, nil, nil, nil)
	}
	return s.symbols
}

// Len returns the number of distinct stacks with a value other than zero.
func (s *Stacks) Len() int { return len(s.codes) }

// All yields each stack's frames, leaf first, and its value, which is never zero. The frames are valid
// only until the next stack. Stacks are roughly in the order in which the store first saw them.
//
// A stack costs about 10 ns a frame. The first use of a location costs 1 us.
func (s *Stacks) All() iter.Seq2[[]Frame, int64] {
	return func(yield func([]Frame, int64) bool) {
		var known, frames []Frame
		see := func(f Frame, _ uint32) { known = append(known, f) }
		s.Numbered(context.Background(), see, func(numbers []uint32, _ int, value int64) bool {
			frames = frames[:0]
			for _, n := range numbers {
				frames = append(frames, known[n])
			}
			return yield(frames, value)
		})
	}
}

// Numbered calls each for the stacks in the order of All until it returns false, with the numbers of
// their frames, leaf first. The last `shared` frames, at the root, are known to equal the last frames in
// the previous stack; more frames can be equal. The numbers are valid during the call.
//
// Frames have numbers from 0 up. see gets each frame, in the order of the numbers, before the first stack
// with it. Two numbers can have equal frames. see also gets the number of the frame's function: frames
// with equal Function and File have the same. A program that works with numbers looks at a name once, and
// not in each stack.
//
// Numbered ends early when ctx is done. The last stacks can then have the wrong frames, so the caller looks at ctx.
//
// It costs about 2 ns for each frame that a stack does not share with the previous stack. The first use
// of a location costs 1 us.
func (s *Stacks) Numbered(ctx context.Context, see func(f Frame, function uint32), each func(frames []uint32, shared int, value int64) bool) {
	w := s.known().Walk(pattern.Until(ctx))
	seen := func(f symbols.FrameText, function uint32) { see(Frame(f), function) }
	for i, code := range s.codes {
		if frames, shared := w.Numbers(code, seen); ctx.Err() != nil || !each(frames, shared, s.values[i]) {
			return
		}
	}
}

// size returns the absolute value of v. Values can be negative.
func size(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// symbols returns an answer's symbols. Locations lack the frames that the query hides.
func (p *plan) symbols(stacks *columnstore.GroupColumn) *symbols.Resolver {
	return symbols.New(stacks.Lists, stacks.Codes, p.q.Hide, p.q.Show, p.db.namer)
}

// Search returns the stacks that have a function with a matching name in any frame, as in Frame. The
// pattern is not anchored; nil matches all. The error is ctx.Err().
//
// The pattern is matched once for each distinct name, and records are decoded only as far as names need.
// If the stacks are used for nothing else, Query.Function gives the same result and filters before
// anything is summed.
func (s *Stacks) Search(ctx context.Context, re *regexp.Regexp) (*Stacks, error) {
	if re == nil {
		return s, nil
	}
	out := &Stacks{Type: s.Type, symbols: s.known()}
	out.symbols.Search(re, s.codes, pattern.Until(ctx), func(i int) { out.add(s.codes[i], s.values[i]) })
	return out, ctx.Err()
}

// FlameNode is a function in a flame graph: Name, File, Self, Total and Children. A node and its
// ancestors are a call path.
type FlameNode = tree.FlameNode

// FlameGraphOptions limits a flame graph's size. The zero value means no limit.
type FlameGraphOptions struct {
	// MaxNodes is the maximum number of functions in the graph. The root and nodes named
	// "other" do not count. 0 or less means no limit.
	MaxNodes int
}

// FlameGraph returns the stacks as a tree of functions, callers above callees. Children are in order of
// first stack.
//
// If there are more than MaxNodes functions, the functions with the greatest absolute Total are kept,
// together with their ancestors. If a function does not fit with its ancestors, lesser functions take its
// place. The dropped children of a node are summed in its last child, named "other", so that every Total
// is still Self plus the children's Totals.
//
// The tree belongs to the caller. FlameGraph is a view of a tree from package profile/tree, which bounds
// its memory and takes a context. It costs as much as All, and 50 to 150 bytes for each distinct call
// path while it runs.
func (s *Stacks) FlameGraph(opts FlameGraphOptions) *FlameNode {
	return s.graph(tree.FromRoot, "", opts.MaxNodes)
}

// graph returns a tree of the stacks with at most `most` functions.
func (s *Stacks) graph(d tree.Direction, function string, most int) *FlameNode {
	calls := tree.New(d, function, 0)
	_ = calls.Add(context.Background(), 0, s) // without a bound on memory and a deadline there is no error
	return calls.Nodes(most).FlameGraph(0)
}
