package render

import (
	"cmp"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/granarydb/granary/history"
)

// newTimeGraph lays out rows with one attribute or with several.
func newTimeGraph(v *history.View, attributes []history.Attribute, from, to int64, opts TimeOptions, foldColumns int) (*timeGraph, error) {
	if attributes == nil {
		attributes = slices.Collect(v.Descendants(history.Top))
	}
	g := &timeGraph{view: v, opts: opts, from: from, to: to, asked: len(attributes), foldColumns: foldColumns}
	if err := g.setDefaults(); err != nil {
		return nil, err
	}
	if g.isFolded() {
		return g, g.layOutFolded(attributes)
	}
	return g, g.layOut(attributes)
}

// besideLabels sets the width of the labels, for a longest label of `longest` characters. It returns the width
// that is left for the columns.
func (g *timeGraph) besideLabels(longest int) (width int) {
	g.labels = min(max(int(float64(longest)*timeChar)+timePad, timeLabels), g.opts.Width*3/10)
	return g.opts.Width - 2*margin - g.labels - timePad
}

// divide sets the edges of n columns along a width.
func (g *timeGraph) divide(width, n int) {
	g.edges = make([]int, n+1)
	for i := range g.edges {
		g.edges[i] = i * width / n
	}
}

// layOut queries the states, and chooses rows, columns and colours.
func (g *timeGraph) layOut(attributes []history.Attribute) error {
	width := g.besideLabels(g.longestPath(attributes))
	times := history.PixelTimes(g.from, g.to, width)
	if err := g.sample(attributes, times, width); err != nil {
		return err
	}
	g.divide(width, len(times))
	g.chooseRows()
	if err := g.countIntervals(); err != nil {
		return err
	}
	if err := g.measureRows(); err != nil {
		return err
	}
	g.colors.choose(g)
	g.chooseSilent()
	return nil
}

// longestPath returns the characters of the longest path of the attributes.
func (g *timeGraph) longestPath(attributes []history.Attribute) int {
	lengths := make([]int, g.view.Len()) // parents precede their children
	for i := range lengths {
		a := history.Attribute(i)
		name, _ := g.view.Name(a) // ok, because the attributes are known
		lengths[i] = utf8.RuneCountInString(name)
		if parent, _ := g.view.Parent(a); parent != history.Top {
			lengths[i] += lengths[parent] + 1
		}
	}
	longest := 0
	for _, a := range attributes {
		if int(a) < len(lengths) { // the query fails for other attributes
			length := lengths[a]
			if label := g.behind(a); label != "" {
				length += 1 + utf8.RuneCountInString(label)
			}
			longest = max(longest, length)
		}
	}
	return longest
}

// sampleCells is the number of intervals that are sampled between two calls of TimeOptions.Err.
const sampleCells = 1 << 20

// sample makes a row for each attribute from its intervals at the times of pixels.
func (g *timeGraph) sample(attributes []history.Attribute, times []int64, width int) error {
	found, err := g.view.Pixels([]history.Attribute{}, g.from, g.to, width) // returns the errors of the range
	if err != nil {
		return err
	}
	for part := range slices.Chunk(attributes, max(1, sampleCells/max(1, len(times)))) {
		if err := g.err(); err != nil {
			return err
		}
		if found, err = g.view.SampleInto(found, part, times); err != nil {
			return err
		}
		g.layOutRows(found, times)
	}
	for i := range g.rows {
		g.rows[i].measure(g.opts.Numbers)
	}
	return g.err()
}

// layOutRows makes a row from each attribute's intervals. The interval of the first column begins a new row,
// therefore an attribute that is listed twice has two rows.
func (g *timeGraph) layOutRows(found *history.Intervals, times []int64) {
	column := len(times)
	for i := range found.Len() {
		a, in := found.At(i)
		if column == len(times) {
			g.rows = append(g.rows, graphRow{attribute: a})
			column = 0
		}
		row := &g.rows[len(g.rows)-1]
		lo := column
		column += sort.Search(len(times)-lo, func(i int) bool { return times[lo+i] > in.End })
		row.runs = append(row.runs, graphRun{in, lo, column})
		if !in.Value.IsNull() {
			row.states++
		}
	}
}

// chooseRows keeps the rows that change most, in their order.
func (g *timeGraph) chooseRows() {
	if len(g.rows) <= g.opts.Rows {
		return
	}
	order := make([]int, len(g.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &g.rows[i], &g.rows[j]
		return cmp.Or(cmp.Compare(len(b.runs), len(a.runs)), cmp.Compare(b.states, a.states))
	})
	order = order[:g.opts.Rows]
	slices.Sort(order)
	chosen := make([]graphRow, len(order))
	for i, k := range order {
		chosen[i] = g.rows[k]
	}
	g.rows = chosen
}

// countIntervals counts the intervals of the rows, and the visible intervals.
func (g *timeGraph) countIntervals() error {
	for i := range g.rows {
		row := &g.rows[i]
		if err := g.err(); err != nil {
			return err
		}
		g.seen += row.states
		for in, err := range g.view.Range(row.attribute, g.from, g.to, history.RangeOptions{}) {
			if err != nil {
				return err
			}
			row.intervals++
			if !in.Value.IsNull() {
				g.all++
			}
		}
	}
	return nil
}

// chooseSilent finds the least width of a state with a tooltip.
func (g *timeGraph) chooseSilent() {
	widths := map[int]int{}
	for _, row := range g.rows {
		for _, run := range row.runs {
			if !run.in.Value.IsNull() {
				widths[g.width(run)]++
			}
		}
	}
	for width, left := 1, g.seen; left > timeTitles; width++ {
		left -= widths[width]
		g.narrow, g.silent = width+1, g.seen-left
	}
}
