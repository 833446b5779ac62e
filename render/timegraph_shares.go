package render

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
)

// part is the share of a state in the time of a column, 0 to 1.
type part struct {
	state int // in the states of its columns
	share float64
}

// sharedColumns is the shares of a row, by column.
type sharedColumns struct {
	states []history.Value // by number
	parts  [][]part        // of each column, by state. restState stands for states that are not kept
}

// isNull reports whether a part is that of null, which has no colour.
func (c *sharedColumns) isNull(state int) bool { return state != restState && c.states[state].IsNull() }

// The limits of columns.
const (
	// keptStates bounds the states of a row that are told apart while it is summed up, keptParts those of a column.
	keptStates = 256
	keptParts  = 12
	restState  = -1

	// foldChunk is the number of attributes that are asked at a time: their shares take memory.
	foldChunk = 256
)

// folder sums up the shares of attributes.
type folder struct {
	pyramid  *summary.Pyramid
	from, to int64
	pixels   int

	old     *summary.Shares
	states  []history.Value
	numbers map[history.Value]int
	local   []int // by state of an answer: number, or restState; -2: not known yet

	part  [][]float64 // by number, 0 is the rest, and number+1 a state: instants in parts of each column, as shares
	whole [][]int32   // by number: attributes that begin to fill columns, less those that end to
}

// of returns the shares of attributes, all of the same weight.
func (f *folder) of(attributes []history.Attribute) (*sharedColumns, error) {
	if len(attributes) == 1 {
		return f.ofOne(attributes)
	}
	f.states, f.numbers = append(f.states[:0], history.Value{}), map[history.Value]int{{}: 0}
	for i := range f.part {
		clear(f.part[i])
		clear(f.whole[i])
	}
	var err error
	n := 0
	for chunk := range slices.Chunk(attributes, foldChunk) {
		if f.old, err = f.pyramid.SharesInto(f.old, chunk, f.from, f.to, f.pixels); err != nil {
			return nil, err
		}
		n = f.old.Len()
		f.local = f.local[:0]
		for i := range f.old.States() {
			f.local = append(f.local, f.number(f.old.State(int32(i)), n))
		}
		for i := range f.old.Attributes() {
			f.add(f.old.Attribute(i), n)
		}
	}
	return f.columns(n, len(attributes)), nil
}

// ofOne is of for one attribute, of which all states are told apart.
func (f *folder) ofOne(attribute []history.Attribute) (*sharedColumns, error) {
	var err error
	if f.old, err = f.pyramid.SharesInto(f.old, attribute, f.from, f.to, f.pixels); err != nil {
		return nil, err
	}
	n, shares := f.old.Len(), f.old.Attribute(0)
	out := &sharedColumns{parts: make([][]part, n)}
	for i := range f.old.States() {
		out.states = append(out.states, f.old.State(int32(i)))
	}
	for lo := 0; lo < len(shares); {
		hi, end := lo+1, n
		for hi < len(shares) && shares[hi].First == shares[lo].First {
			hi++
		}
		if hi < len(shares) {
			end = int(shares[hi].First)
		}
		first := int(shares[lo].First)
		if hi-lo == 1 {
			whole := []part{{int(shares[lo].State), 1}}
			for c := first; c < end; c++ {
				out.parts[c] = whole
			}
		} else {
			parts := make([]part, 0, hi-lo)
			for _, s := range shares[lo:hi] {
				parts = append(parts, part{int(s.State), f.share(&s)})
			}
			slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.state, b.state) })
			out.parts[first] = most(parts)
		}
		lo = hi
	}
	return out, nil
}

// share returns the part of its pixel that a share is.
func (f *folder) share(s *summary.Share) float64 {
	first, last := f.old.Of(int(s.First))
	return float64(s.Time) / (float64(uint64(last)-uint64(first)) + 1)
}

// number returns the number of a state, which gets one if there is room.
func (f *folder) number(v history.Value, n int) int {
	number, known := f.numbers[v]
	switch {
	case known:
	case len(f.states) == keptStates:
		number = restState
	default:
		number = len(f.states)
		f.states = append(f.states, v)
	}
	f.numbers[v] = number
	for len(f.part) <= number+1 {
		f.part, f.whole = append(f.part, make([]float64, n)), append(f.whole, make([]int32, n+1))
	}
	return number
}

// add adds the shares of one attribute.
func (f *folder) add(shares []summary.Share, n int) {
	for i := range shares {
		s := &shares[i]
		at := f.local[s.State] + 1
		alone := i == 0 || shares[i-1].First != s.First
		end := int32(n)
		if i+1 < len(shares) {
			end = shares[i+1].First
			alone = alone && end != s.First
		}
		if alone {
			f.whole[at][s.First]++
			f.whole[at][end]--
			continue
		}
		f.part[at][s.First] += f.share(s)
	}
}

// columns returns the sums.
func (f *folder) columns(n, attributes int) *sharedColumns {
	out := &sharedColumns{states: slices.Clone(f.states), parts: make([][]part, n)}
	whole := make([]int32, len(f.part))
	for c := range n {
		var parts []part
		for at := range f.part {
			whole[at] += f.whole[at][c]
			if sum := float64(whole[at]) + f.part[at][c]; sum > 0 {
				parts = append(parts, part{at - 1, sum / float64(attributes)})
			}
		}
		out.parts[c] = most(parts)
	}
	return out
}

// most keeps the largest parts of a column, in the order of states, and makes one of the others.
func most(parts []part) []part {
	if len(parts) <= keptParts {
		return parts
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(-cmp.Compare(min(a.state, 0), min(b.state, 0)), cmp.Compare(b.share, a.share), cmp.Compare(a.state, b.state))
	})
	rest := part{state: restState}
	for _, p := range parts[keptParts:] {
		rest.share += p.share
	}
	kept := parts[:keptParts]
	slices.SortFunc(kept, func(a, b part) int { return cmp.Compare(a.state, b.state) })
	return append(kept, rest)
}

// layer is the room of a state in columns, from the bottom: the class and, for columns from lo on, its upper edges in tenths of
// a pixel.
type layer struct {
	class string
	edges []int
}

// layers stacks the parts of columns [lo, hi), of a height in pixels: those of the legend at the bottom, in its order, then
// others. Null has no layer. Edges are multiples of a grain, in tenths of a pixel.
func (g *timeGraph) layers(c *sharedColumns, lo, hi, height, grain int) []layer {
	rank := map[int]int{}
	for i, v := range c.states {
		rank[i] = len(g.colors.legend) + i
		for k, l := range g.colors.legend {
			if l.value.Equal(v) {
				rank[i] = k
			}
		}
	}
	rank[restState] = math.MaxInt
	var used []int
	for _, parts := range c.parts[lo:hi] {
		for _, p := range parts {
			if !c.isNull(p.state) && !slices.Contains(used, p.state) {
				used = append(used, p.state)
			}
		}
	}
	slices.SortFunc(used, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
	sums := make([]float64, hi-lo)
	var out []layer
	for _, state := range used {
		l := layer{class: "rest", edges: make([]int, hi-lo)}
		if state != restState {
			l.class = g.colors.class(c.states[state])
		}
		for i, parts := range c.parts[lo:hi] {
			for _, p := range parts {
				if p.state == state {
					sums[i] += p.share
				}
			}
			l.edges[i] = grain * int(math.Round(10*float64(height)/float64(grain)*min(1, sums[i])))
		}
		out = append(out, l)
	}
	return out
}

// drawLayers writes the states of columns between edges along x as areas that reach to the bottom, the upper ones first, so that each covers
// what is below it. A state has no area in columns without it.
func drawLayers(out *bytes.Buffer, layers []layer, edges []int, height int) {
	for k, l := range slices.Backward(layers) {
		below := make([]int, len(l.edges))
		if k > 0 {
			below = layers[k-1].edges
		}
		var d bytes.Buffer
		for i := 0; i < len(l.edges); {
			if l.edges[i] <= below[i] {
				i++
				continue
			}
			fmt.Fprintf(&d, "M%d %d", edges[i], height)
			last := 0
			for i < len(l.edges) && l.edges[i] > below[i] {
				end := i + 1
				for end < len(l.edges) && l.edges[end] == l.edges[i] && l.edges[end] > below[end] {
					end++
				}
				fmt.Fprintf(&d, "v%sh%d", tenths(last-l.edges[i]), edges[end]-edges[i])
				last = l.edges[i]
				i = end
			}
			fmt.Fprintf(&d, "V%dz", height)
		}
		if d.Len() > 0 {
			fmt.Fprintf(out, `<path class="%s" d="%s"/>`, l.class, &d)
		}
	}
}

// tenths prints a number of tenths.
func tenths(n int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	if n%10 == 0 {
		return fmt.Sprintf("%s%d", sign, n/10)
	}
	return fmt.Sprintf("%s%d.%d", sign, n/10, n%10)
}
