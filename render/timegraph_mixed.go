package render

import (
	"bytes"
	"fmt"
	"math"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
)

// columnShares draws the columns of rows that have several states.
type columnShares struct {
	folder   shareSum
	edges    []int // along x
	measures *summary.Measures
}

// dividedColumns bounds the divided columns of a picture. Beyond it columns are wider, because each takes
// about 25 bytes.
const dividedColumns = 25_000

// columnShares returns a painter for the shares of the rows. Its columns are as wide as the picture's
// columns, or a multiple.
func (g *timeGraph) columnShares() columnShares {
	n, width := len(g.edges)-1, g.edges[len(g.edges)-1]
	several := 0 // upper bound of the number of columns
	for i := range g.rows {
		several += min(n, 2*g.rows[i].intervals)
	}
	wide := 1 + several/dividedColumns
	s := columnShares{folder: g.shares((n + wide - 1) / wide)}
	for i := range s.folder.pixels + 1 {
		s.edges = append(s.edges, i*width/s.folder.pixels)
	}
	return s
}

// shares returns a shareSum for the picture's range.
func (g *timeGraph) shares(pixels int) shareSum {
	return shareSum{pyramid: g.pyramid(), from: g.from, to: g.to, pixels: pixels, err: g.err}
}

// measureRows finds the least and the greatest value in rows of bars.
func (g *timeGraph) measureRows() error {
	var m *summary.Measures
	for i := range g.rows {
		r := &g.rows[i]
		if !r.bars {
			continue
		}
		err := g.err()
		if err != nil {
			return err
		}
		if m, err = g.pyramid().MeasuresInto(m, []history.Attribute{r.attribute}, g.from, g.to, 1); err != nil {
			return err
		}
		all := &m.Attribute(0)[0]
		least, ok := number(all.Min())
		most, ok2 := number(all.Max())
		if ok && ok2 {
			r.least, r.most = least, most
		}
	}
	return nil
}

// draw writes the shares of a row's columns, over its states.
func (s *columnShares) draw(g *timeGraph, r *graphRow) error {
	var several []bool // states, by column
	var layersOf func(lo, hi int) []layer
	if r.bars {
		least, most, err := s.bars(g, r)
		if err != nil {
			return err
		}
		several = make([]bool, len(least))
		for c := range several {
			several[c] = most[c] >= 0
		}
		layersOf = func(lo, hi int) []layer {
			return []layer{{"b", least[lo:hi]}, {"top", most[lo:hi]}}
		}
	} else {
		c, err := s.folder.of([]history.Attribute{r.attribute})
		if err != nil {
			return err
		}
		several = make([]bool, len(c.parts))
		for i, parts := range c.parts {
			several[i] = len(parts) > 1
		}
		layersOf = func(lo, hi int) []layer { return g.layers(c, lo, hi, r.height(), 10) }
	}
	var wipe, areas bytes.Buffer
	for lo := 0; lo < len(several); {
		hi := lo + 1
		for hi < len(several) && several[hi] == several[lo] {
			hi++
		}
		if several[lo] {
			fmt.Fprintf(&wipe, "M%d 0h%dv%dh-%[2]dz", s.edges[lo], s.edges[hi]-s.edges[lo], r.height())
			drawLayers(&areas, layersOf(lo, hi), s.edges[lo:hi+1], r.height())
		}
		lo = hi
	}
	if wipe.Len() > 0 {
		fmt.Fprintf(&g.out, "<g class=\"shares\"><path class=\"wipe\" d=\"%s\"/>%s</g>\n", &wipe, &areas)
	}
	return nil
}

// bars returns, for each column, the heights of a row's mean and greatest value in tenths of a pixel, or -1
// for a column with a single value.
func (s *columnShares) bars(g *timeGraph, r *graphRow) (means, greatest []int, err error) {
	if s.measures, err = s.folder.pyramid.MeasuresInto(s.measures, []history.Attribute{r.attribute}, g.from, g.to, s.folder.pixels); err != nil {
		return nil, nil, err
	}
	n := s.measures.Len()
	means, greatest = make([]int, n), make([]int, n)
	for _, m := range s.measures.Attribute(0) {
		mean, ok := m.Mean()
		most, finite := number(m.Max())
		for c := m.First; c <= m.Last; c++ {
			switch {
			case m.Intervals < 2:
				greatest[c] = -1
			case ok && finite && !math.IsNaN(mean) && !math.IsInf(mean, 0):
				means[c], greatest[c] = r.tenths(mean), r.tenths(most)
			}
		}
	}
	return means, greatest, nil
}

// tenths returns the height of a number's bar, in tenths of a pixel.
func (r *graphRow) tenths(n float64) int {
	if r.most <= r.least {
		return 5 * r.height()
	}
	share := (n/2 - r.least/2) / (r.most/2 - r.least/2)
	return 10 + int(math.Round(10*min(1, max(0, share))*float64(r.height()-1)))
}
