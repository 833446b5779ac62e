package render

import (
	"fmt"
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
	g.labels = min(max(int(float64(longest)*timeChar)+timePad, timeLabels), g.opts.Width*3/10)
	pixels := g.opts.Width - 2*margin - g.labels - timePad
	if g.foldColumns > 0 {
		pixels = g.foldColumns
	}
	f := g.folder(pixels)
	all, err := f.fold(groups)
	if err != nil {
		return err
	}
	for i := range g.rows {
		g.rows[i].columns = all[i]
	}
	n := len(g.rows[0].columns.parts)
	g.edges = make([]int, n+1)
	for i := range g.edges {
		g.edges[i] = i * pixels / n
	}
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
	if above != "" {
		above += "/"
	}
	if len(r.folded) > 1 {
		last, lastName := g.path(r.folded[len(r.folded)-1])
		if last != "" {
			last += "/"
		}
		if last != above {
			lastName = last + lastName
		}
		name += " … " + lastName
	}
	return above, name
}

// drawFolded writes a row with several attributes.
func (g *timeGraph) drawFolded(r *graphRow, y int) {
	above, name := g.label(r)
	title := above + name
	if utf8.RuneCountInString(title) > timeTitle {
		title = firstOf(title, timeTitle)
	}
	fmt.Fprintf(&g.out, `<g class="row" transform="translate(%d %d)"><rect class="track" width="%d" height="%d"/><text class="label" x="%d" y="10"><title>%s`+"\n%s</title>",
		g.left(), y, g.edges[len(g.edges)-1], r.height(), -timePad, escape(title), plural(len(r.folded), "attribute"))
	room := int(float64(g.labels) / timeChar)
	if rest := room - utf8.RuneCountInString(name); rest < utf8.RuneCountInString(above) {
		above = lastOf(above, rest)
	}
	if above != "" {
		fmt.Fprintf(&g.out, `<tspan class="above">%s</tspan>`, escape(above))
	}
	fmt.Fprintf(&g.out, "%s</text>\n<text class=\"label above\" x=\"%d\" y=\"23\">%s</text>\n", escape(firstOf(name, room)), -timePad, plural(len(r.folded), "attribute"))
	drawLayers(&g.out, g.layers(r.columns, 0, len(r.columns.parts), r.height(), 5), g.edges, r.height())
	g.out.WriteString("</g>\n")
}
