package render

import (
	"bytes"
	"cmp"
	_ "embed" // for the style sheet and the script
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/granarydb/granary/profile"
)

//go:embed flamegraph.css
var flameStyle string

//go:embed flamegraph.js
var flameScript string

// FlameOptions are the options of FlameGraph. The zero value is useful.
type FlameOptions struct {
	// Title is the heading and the accessible name; "Flame graph" if empty.
	Title string
	// SampleType names the measured quantity, such as "cpu" or "alloc_objects". If it is empty, the
	// picture omits it.
	SampleType string
	// Unit is the unit of all values, in the form of profile.FormatValue. If it is empty, numbers have no
	// unit.
	Unit string
	// Empty is the text of a picture without frames; "No samples" if empty.
	Empty string
	// Width is the picture's width in pixels, 600 to 20,000. If it is zero, the picture is as wide as its
	// window, or 1200 pixels wide without scripts.
	Width int
	// Base is a tree to compare the root with, or nil. The picture then shows one tree with the nodes of
	// both, coloured by change: orange-red for more than in Base, blue-green for less, grey for no change. A
	// frame's width is the sum of both sides.
	Base *profile.FlameNode
	// MinWidth is the width in pixels below which a frame is omitted with all frames below it; 0.1 if zero.
	// It must not be negative. Zooming does not bring such a frame back; a lower value shows more detail in a
	// larger file.
	MinWidth float64
}

// The geometry, in pixels. flamegraph.js repeats flameChar and flamePad.
const (
	flameHeader = 104  // above the frames: title, summary, packages, details
	flameRow    = 18   // from one level to the next
	flameFrame  = 17   // height of a frame, with one pixel of paper below it
	flameChar   = 7.25 // width of a character
	flamePad    = 4    // between a frame's edges and its text

	// flameScale is the precision along x: widths and positions are whole
	// multiples of 1/flameScale pixel, four decimals.
	flameScale = 10_000

	// flameLevels bounds the height of the picture (9,300 pixels). Collectors stop at 127 to 512 frames; only
	// runaway recursion is deeper.
	flameLevels = 512

	flameLegend = 8 // number of entries
)

// withDefaults replaces zero fields with defaults. The error names the first invalid field.
func (o FlameOptions) withDefaults() (FlameOptions, error) {
	o.Title = cmp.Or(o.Title, "Flame graph")
	o.Width = cmp.Or(o.Width, 1200)
	o.MinWidth = cmp.Or(o.MinWidth, 0.1)
	if o.Width < 600 || o.Width > maxWidth {
		return o, fmt.Errorf("render: flame graph option Width is %d, want 600 to 20000", o.Width)
	}
	if !(o.MinWidth > 0) || o.MinWidth > maxWidth { // the first condition also rejects NaN
		return o, fmt.Errorf("render: flame graph option MinWidth is %v, want 0 to 20000", o.MinWidth)
	}
	return o, nil
}

// flameGraph is an SVG file in progress.
type flameGraph struct {
	opts    FlameOptions
	root    *profile.FlameNode
	fluid   bool                              // as wide as the window
	changes map[*profile.FlameNode]nodeChange // for a difference, otherwise nil
	rows    [][]frame                         // by level, each from left to right
	out     bytes.Buffer

	// Counts of nodes that are not drawn, by reason, and of clipped frames.
	narrow, deep, empty, crowded, clipped int
}

// frame is a drawn node. Its interval of cumulative values [start, end) gives the edges lo and hi, in units
// of 1/flameScale pixel from the root's left edge.
type frame struct {
	node       *profile.FlameNode
	start, end int64
	lo, hi     int64
}

// layOut finds the frames level by level. It does not recurse, because the depth of stacks is unbounded.
func (p *flameGraph) layOut() {
	if p.root.Total <= 0 {
		return
	}
	row := []frame{p.frame(p.root, 0, p.root.Total)}
	for len(row) > 0 {
		p.rows = append(p.rows, row)
		var next []frame
		for _, parent := range row {
			next = p.layOutChildren(next, parent)
		}
		row = next
	}
}

// layOutChildren appends the frames of parent's children to row.
func (p *flameGraph) layOutChildren(row []frame, parent frame) []frame {
	at := parent.start
	minimum := int64(math.Ceil(p.opts.MinWidth * flameScale))
	for _, child := range widestFirst(parent.node.Children) {
		room := parent.end - at
		f := p.frame(child, at, at+max(0, min(child.Total, room)))
		at = f.end
		switch {
		case child.Total <= 0:
			p.empty += countNodes(child)
		case room <= 0:
			p.crowded += countNodes(child)
		case len(p.rows) == flameLevels:
			p.deep += countNodes(child)
		case f.hi-f.lo < minimum:
			p.narrow += countNodes(child)
		default:
			if child.Total > room {
				p.clipped++
			}
			row = append(row, f)
		}
	}
	return row
}

// frame returns the frame of a node with the cumulative values [start, end).
func (p *flameGraph) frame(node *profile.FlameNode, start, end int64) frame {
	return frame{node: node, start: start, end: end, lo: p.edge(start), hi: p.edge(end)}
}

// edge returns the position of the cumulative value v along x, rounded to the nearest unit. It computes in
// 128 bits, because v * width overflows 64 bits for large profiles, and floats would be rounded differently
// on different machines.
func (p *flameGraph) edge(v int64) int64 {
	total := uint64(p.root.Total)
	hi, lo := bits.Mul64(uint64(v), uint64(p.opts.Width-2*margin)*flameScale)
	lo, carry := bits.Add64(lo, total/2, 0)
	quotient, _ := bits.Div64(hi+carry, lo, total)
	return int64(quotient)
}

// widestFirst returns the nodes in drawing order, without nil nodes.
func widestFirst(nodes []*profile.FlameNode) []*profile.FlameNode {
	sorted := slices.DeleteFunc(slices.Clone(nodes), func(n *profile.FlameNode) bool { return n == nil })
	slices.SortStableFunc(sorted, func(a, b *profile.FlameNode) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.File, b.File), cmp.Compare(b.Self, a.Self))
	})
	return sorted
}

// countNodes returns the number of nodes in the tree under root, including root.
func countNodes(root *profile.FlameNode) int {
	count := 0
	walk(root, func(*profile.FlameNode) { count++ })
	return count
}

// walk visits the tree under root, parents before children. It keeps its own stack, because call depth must
// not depend on input.
func walk(root *profile.FlameNode, visit func(*profile.FlameNode)) {
	stack := []*profile.FlameNode{root}
	for len(stack) > 0 {
		node := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		visit(node)
		for _, child := range node.Children {
			if child != nil {
				stack = append(stack, child)
			}
		}
	}
}
