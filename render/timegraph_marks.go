package render

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/granarydb/granary/history"
)

// TimeArrow points at an attribute at an instant, from another one: such as a wake-up.
type TimeArrow struct {
	At   int64
	From history.Attribute // history.Top for none
}

const (
	// timeArrows bounds the arrows of a picture, about 60 bytes each.
	timeArrows = 2000
	// timeArrowGap is the least number of pixels between two arrows from one row to another.
	timeArrowGap = 8
	// timeMark is the height of a mark.
	timeMark = 4
)

// graphMarks are the arrows and marks of a picture.
type graphMarks struct {
	arrows []graphArrow
	left   int     // arrows that are not drawn
	pixels [][]int // of marks, by row, ascending
	count  int     // of instants that are marked
}

// graphArrow is an arrow in the picture. Its ends are offsets from the top of the rows.
type graphArrow struct {
	x, from, to int
	isShort     bool // it comes from no row
}

// findMarks finds the arrows between rows and the marks in them. Folded rows have none.
func (g *timeGraph) findMarks() (m graphMarks, err error) {
	if g.isFolded() {
		return m, nil
	}
	middles, y := map[history.Attribute]int{}, 0
	for i := range g.rows {
		middles[g.rows[i].attribute] = y + g.rows[i].height()/2
		y += g.rows[i].height() + timePaper
	}
	m.pixels = make([][]int, len(g.rows))
	for i := range g.rows {
		if err := g.err(); err != nil {
			return m, err
		}
		a := g.rows[i].attribute
		if g.opts.Marks != nil {
			m.pixels[i] = m.mark(g, g.opts.Marks(a))
		}
		if g.opts.Arrows == nil {
			continue
		}
		if all := g.opts.Arrows(a); all != nil {
			if err := m.point(g, middles, a, all); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

// mark counts instants of a row that are in the range, and returns their pixels.
func (m *graphMarks) mark(g *timeGraph, instants []int64) (pixels []int) {
	for _, at := range instants {
		if at < g.from || at > g.to {
			continue
		}
		m.count++
		if x := g.pixelOf(at); len(pixels) == 0 || x > pixels[len(pixels)-1] {
			pixels = append(pixels, x)
		}
	}
	return pixels
}

// point adds the arrows to a row. Of those from one row that would touch it takes the first.
func (m *graphMarks) point(g *timeGraph, middles map[history.Attribute]int, to history.Attribute, all iter.Seq2[TimeArrow, error]) error {
	free := map[history.Attribute]int{} // the next free pixel, by where the arrow is from
	for a, err := range all {
		if err != nil {
			return err
		}
		if a.At < g.from || a.At > g.to {
			continue
		}
		from, isRow := middles[a.From]
		if !isRow {
			a.From = history.Top
		}
		x := g.pixelOf(a.At)
		if x < free[a.From] || len(m.arrows) == timeArrows {
			m.left++
			continue
		}
		free[a.From] = x + timeArrowGap
		m.arrows = append(m.arrows, graphArrow{x: x, from: from, to: middles[to], isShort: !isRow})
	}
	return nil
}

// pixelOf returns the pixel of an instant of the range, from the left edge of the columns.
func (g *timeGraph) pixelOf(t int64) int {
	return place(uint64(t)-uint64(g.from), uint64(g.to)-uint64(g.from), g.edges[len(g.edges)-1])
}

// drawArrows writes the arrows over the rows.
func (m *graphMarks) drawArrows(g *timeGraph, top int) {
	if len(m.arrows) == 0 {
		return
	}
	var lines, heads bytes.Buffer
	for _, a := range m.arrows {
		if a.isShort {
			a.from = a.to - timeRow/2
		}
		down := 1
		if a.from > a.to {
			down = -1
		}
		fmt.Fprintf(&lines, "M%d.5 %dV%d", a.x, a.from, a.to)
		fmt.Fprintf(&heads, "M%d.5 %dl-3 %dh6z", a.x, a.to, -4*down)
		if !a.isShort {
			fmt.Fprintf(&heads, "M%d %dh3v3h-3z", a.x-1, a.from-1)
		}
	}
	fmt.Fprintf(&g.out, "<g class=\"arrows\" transform=\"translate(%d %d)\"><path d=\"%s\"/><path class=\"heads\" d=\"%s\"/></g>\n", g.left(), top, &lines, &heads)
}

// drawMarks writes the marks of a row at its bottom.
func (m *graphMarks) drawMarks(g *timeGraph, row int) {
	if m.pixels == nil || len(m.pixels[row]) == 0 {
		return
	}
	var d bytes.Buffer
	for _, x := range m.pixels[row] {
		fmt.Fprintf(&d, "M%d %dv-%dh1v%[3]dz", x, g.rows[row].height(), timeMark)
	}
	fmt.Fprintf(&g.out, "<path class=\"marks\" d=\"%s\"/>\n", &d)
}

// footnotes returns a line about the arrows, and one about the marks.
func (m *graphMarks) footnotes(g *timeGraph) (notes []string) {
	if g.opts.Arrows != nil && m.pixels != nil {
		note := plural(len(m.arrows), "arrow") + " from what ended a wait. A short one comes from none of the rows."
		if m.left > 0 {
			note += fmt.Sprintf(" Left out, because they would touch one or are too many: %s.", thousands(m.left))
		}
		notes = append(notes, note)
	}
	if g.opts.Marks != nil && m.pixels != nil {
		notes = append(notes, plural(m.count, "sample")+": a mark at the bottom of a row is a pixel in which there are some.")
	}
	return notes
}
