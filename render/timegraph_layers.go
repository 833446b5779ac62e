package render

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
)

// layer is a state's room in columns: its class and, from column lo on, its upper edges in tenths of a pixel.
// Layers are stacked from the bottom up.
type layer struct {
	class string
	edges []int
}

// layers stacks the parts of columns [lo, hi) to a height in pixels: parts in the legend at the bottom,
// in its order, then others. Null has no layer. Edges are multiples of grain, in tenths of a pixel.
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

// drawLayers writes the states of columns between edges along x as areas that reach to the bottom. It writes
// upper areas first, because each lower area then covers them. A state has no area in columns without it.
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

// tenths formats a number of tenths.
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
