package render

import (
	"slices"
	"unicode/utf8"

	"github.com/granarydb/granary/history"
)

// layOutFolded makes rows with several attributes, and chooses columns and colours.
func (g *timeGraph) layOutFolded(attributes []history.Attribute) error {
	each := (len(attributes) + g.opts.Rows - 1) / g.opts.Rows
	longest := 0
	var groups [][]history.Attribute
	for some := range slices.Chunk(attributes, each) {
		for _, a := range []history.Attribute{some[0], some[len(some)-1]} {
			if _, err := g.view.Name(a); err != nil {
				return err
			}
		}
		groups = append(groups, some)
		g.rows = append(g.rows, graphRow{attribute: some[0], folded: some})
		above, name := g.label(&g.rows[len(g.rows)-1])
		longest = max(longest, utf8.RuneCountInString(above)+utf8.RuneCountInString(name))
	}
	pixels := g.besideLabels(longest)
	if g.foldColumns > 0 {
		pixels = g.foldColumns
	}
	f := g.shares(pixels)
	all, err := f.fold(groups)
	if err != nil {
		return err
	}
	for i := range g.rows {
		g.rows[i].columns = all[i]
	}
	g.divide(pixels, len(g.rows[0].columns.parts))
	g.colors.chooseFolded(g)
	return nil
}

// chooseFolded fills the legend from rows with several attributes.
func (c *graphColors) chooseFolded(g *timeGraph) {
	index := map[history.Value]int{}
	var values []graphValue
	var rooms []float64
	for i := range g.rows {
		row := &g.rows[i]
		weight := float64(len(row.folded)) / float64(len(row.columns.parts))
		numbers := make([]int, len(row.columns.states))
		for k, v := range row.columns.states {
			at, known := index[v]
			if !known {
				at = len(values)
				index[v], values, rooms = at, append(values, graphValue{value: v, first: row.attribute}), append(rooms, 0)
			}
			numbers[k] = at
		}
		for _, parts := range row.columns.parts {
			for _, p := range parts {
				if p.state != restState && !row.columns.isNull(p.state) {
					rooms[numbers[p.state]] += p.share * weight
				}
			}
		}
	}
	most := 0.0
	for _, r := range rooms {
		most += r
	}
	colored := values[:0]
	for i, v := range values {
		if v.pixels = int(rooms[i] / max(most, 1e-300) * 1e9); rooms[i] > 0 { // in billionths of the coloured room
			colored = append(colored, v)
			c.total += v.pixels
		}
	}
	c.assign(colored)
}

// label returns a row's path: the path of its attribute, or the common path of its first and last
// attribute, and both names.
func (g *timeGraph) label(r *graphRow) (above, name string) {
	above, name = g.path(r.attribute)
	if len(r.folded) > 1 {
		last, lastName := g.path(r.folded[len(r.folded)-1])
		if last != above {
			lastName = last + lastName
		}
		name += " … " + lastName
	}
	return above, name
}

// drawFolded writes a row with several attributes, without its end.
func (g *timeGraph) drawFolded(r *graphRow, y int) {
	above, name := g.label(r)
	g.beginRow(r, y, above, name, firstOf(above+name, timeTitle), plural(len(r.folded), "attribute"))
	drawLayers(&g.out, g.layers(r.columns, 0, len(r.columns.parts), r.height(), 5), g.edges, r.height())
}
