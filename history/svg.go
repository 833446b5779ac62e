package history

import (
	"bytes"
	"cmp"
	_ "embed" // for the style sheet
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed svg.css
var svgStyle string

// Numbers says how a time graph shows numbers.
type Numbers uint8

const (
	// NumbersAuto draws bars for floats, and for integers that go up and down in small
	// steps between more values than the legend has, as counters do; colours for others,
	// such as the number of a thread.
	NumbersAuto Numbers = iota
	// NumbersAsColors gives each number a colour.
	NumbersAsColors
	// NumbersAsBars makes each number a bar, as high as it is between the least and the
	// greatest of its row.
	NumbersAsBars
)

// SVGOptions says how WriteSVG draws a time graph. The zero value is useful.
type SVGOptions struct {
	// Title is the heading and the accessible name; "Time graph" when empty.
	Title string
	// Width of the picture in pixels: 1200 when zero, else 400 to 20,000.
	Width int
	// Rows is how many attributes are drawn at most: those that change most in the
	// picture. 200 when zero. Not negative.
	Rows int
	// Name, if not nil, returns what to call the value of an attribute. Where it returns
	// "", and without it, a value is called what it is.
	Name func(a Attribute, v Value) string
	// Numbers says how numbers are drawn.
	Numbers Numbers
}

// The geometry, in pixels.
const (
	svgMargin    = 10
	svgHeading   = 28 // the line of the title
	svgSummary   = 48 // and of the words below it
	svgLegend    = 66 // the first line of the legend
	svgLine      = 18 // from one line of text to the next
	svgAxis      = 18 // the names of the ticks
	svgRow       = 15 // from one row to the next
	svgPaper     = 2  // of which so much shows between them
	svgTall      = 2  // rows that a row of bars takes the room of
	svgLabels    = 95 // the labels have so much at least
	svgCharWidth = 6.7
	svgTickWidth = 6.1
	svgTextPad   = 3
	svgNamed     = 40 // states that are as wide have their name in them
	svgNotched   = 4  // and those have notches between them
)

// Limits of what is drawn. What is beyond them is said in the picture.
const (
	svgRows = 200
	// svgTitles is how many states have a text of their own for the pointer: about 90
	// bytes each. Narrower ones share a path with others of their colour, 14 bytes each.
	svgTitles = 30_000
	// svgTitle is how many characters of a value or a path such a text has.
	svgTitle = 300
	// svgLegendEntries is how many values are told apart by colour.
	svgLegendEntries = 12
)

// WriteSVG draws the states of attributes from one instant to another, both included, as a
// time graph in one standalone SVG file: attributes from top to bottom in the order in
// which they are asked for, time from left to right, states as coloured bars that say what
// they are when the pointer is on them. Null is blank. Times are taken for nanoseconds.
//
// A column of pixels shows the states in its middle: the picture is [View.Pixels], so what
// is shorter than a column may not be seen. The picture says how much of the intervals is.
//
// The twelve values that take the most room in the picture have a colour each, and are in
// the legend; the others share paler ones. A colour depends on the value alone, as far as
// those in the legend are not alike. The same view and options give the same bytes.
//
// The file is built in memory and written with a single Write: the errors are those of
// View.Pixels, ErrQuery for an option out of range, and those of w. It costs a Pixels
// query, and a walk through the intervals of the rows that are drawn.
func WriteSVG(w io.Writer, v *View, attributes []Attribute, from, to int64, opts SVGOptions) error {
	g := timeGraph{view: v, opts: opts, from: from, to: to, asked: len(attributes)}
	if err := g.setDefaults(); err != nil {
		return err
	}
	if err := g.layOut(attributes); err != nil {
		return err
	}
	g.draw()
	if _, err := w.Write(g.out.Bytes()); err != nil {
		return fmt.Errorf("history: write svg: %w", err)
	}
	return nil
}

// timeGraph is one SVG file in the making.
type timeGraph struct {
	view     *View
	opts     SVGOptions
	from, to int64
	asked    int // attributes

	found  *Intervals
	rows   []graphRow
	labels int   // width of the labels
	edges  []int // of the columns along x, from the end of the labels
	colors graphColors
	all    int // intervals of the rows
	seen   int // those that are drawn
	// Runs narrower than narrow have no text of their own: so many.
	narrow, silent int
	out            bytes.Buffer
}

// graphRow is an attribute in the picture.
type graphRow struct {
	attribute Attribute
	runs      []graphRun
	states    int // runs that are not null
	bars      bool
	least     float64 // of the values, if they are bars
	most      float64
}

// height returns how high the states of a row are, in pixels.
func (r *graphRow) height() int {
	if r.bars {
		return svgTall*svgRow - svgPaper
	}
	return svgRow - svgPaper
}

// graphRun is an interval in the picture: columns [lo, hi).
type graphRun struct {
	in     Interval
	lo, hi int
}

// setDefaults fills zero options in, or names the first bad one.
func (g *timeGraph) setDefaults() error {
	o := &g.opts
	o.Title = cmp.Or(o.Title, "Time graph")
	o.Width = cmp.Or(o.Width, 1200)
	o.Rows = cmp.Or(o.Rows, svgRows)
	switch {
	case o.Width < 400 || o.Width > 20_000:
		return fmt.Errorf("%w: svg option Width is %d, want 400 to 20000", ErrQuery, o.Width)
	case o.Rows < 0:
		return fmt.Errorf("%w: svg option Rows is %d, want 0 or more", ErrQuery, o.Rows)
	case o.Numbers > NumbersAsBars:
		return fmt.Errorf("%w: svg option Numbers is %d", ErrQuery, o.Numbers)
	}
	return nil
}

// layOut asks for the states, and chooses rows, columns and colours.
func (g *timeGraph) layOut(attributes []Attribute) error {
	longest := g.longestPath(attributes)
	g.labels = min(max(int(float64(longest)*svgCharWidth)+svgTextPad, svgLabels), g.opts.Width*3/10)
	width := g.opts.Width - 2*svgMargin - g.labels - svgTextPad
	var err error
	if g.found, err = g.view.Pixels(attributes, g.from, g.to, width); err != nil {
		return err
	}
	times := pixelTimes(g.from, g.to, width)
	g.edges = make([]int, len(times)+1)
	for i := range g.edges {
		g.edges[i] = i * width / len(times)
	}
	g.layOutRows(times)
	g.chooseRows()
	if err := g.countIntervals(); err != nil {
		return err
	}
	g.colors.choose(g)
	g.chooseSilent()
	return nil
}

// longestPath returns how many characters the longest path of attributes has.
func (g *timeGraph) longestPath(attributes []Attribute) int {
	lengths := make([]int, g.view.Len()) // parents come before their children
	for i := range lengths {
		a := Attribute(i)
		name, _ := g.view.Name(a) // they are known
		lengths[i] = utf8.RuneCountInString(name)
		if parent, _ := g.view.Parent(a); parent != Root {
			lengths[i] += lengths[parent] + 1
		}
	}
	longest := 0
	for _, a := range attributes {
		if int(a) < len(lengths) { // the query says that others are unknown
			longest = max(longest, lengths[a])
		}
	}
	return longest
}

// layOutRows makes a row of the intervals of each attribute. An attribute that was asked
// for twice has two: each begins with the interval that the first column is in.
func (g *timeGraph) layOutRows(times []int64) {
	column := len(times)
	for i := range g.found.Len() {
		a, in := g.found.At(i)
		if column == len(times) {
			g.rows = append(g.rows, graphRow{attribute: a})
			column = 0
		}
		row := &g.rows[len(g.rows)-1]
		lo := column
		column += pass(times[lo:], in.End)
		row.runs = append(row.runs, graphRun{in, lo, column})
		if !in.Value.IsNull() {
			row.states++
		}
	}
	for i := range g.rows {
		g.rows[i].measure(g.opts.Numbers)
	}
}

// chooseRows leaves the rows that change most, in the order in which they were.
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

// countIntervals says how many intervals there are to see, and how many are seen.
func (g *timeGraph) countIntervals() error {
	for _, row := range g.rows {
		g.seen += row.states
		for in, err := range g.view.Range(row.attribute, g.from, g.to, RangeOptions{}) {
			if err != nil {
				return err
			}
			if !in.Value.IsNull() {
				g.all++
			}
		}
	}
	return nil
}

// chooseSilent finds how wide a state must be to have a text of its own.
func (g *timeGraph) chooseSilent() {
	widths := map[int]int{}
	for _, row := range g.rows {
		for _, run := range row.runs {
			if !run.in.Value.IsNull() {
				widths[g.width(run)]++
			}
		}
	}
	for width, left := 1, g.seen; left > svgTitles; width++ {
		left -= widths[width]
		g.narrow, g.silent = width+1, g.seen-left
	}
}

// width returns how many pixels a run has.
func (g *timeGraph) width(run graphRun) int { return g.edges[run.hi] - g.edges[run.lo] }

// name returns what to call the value of an attribute.
func (g *timeGraph) name(a Attribute, v Value) string {
	if g.opts.Name != nil {
		if name := g.opts.Name(a, v); name != "" {
			return name
		}
	}
	if v.Kind() == KindString {
		return v.Text()
	}
	return v.String()
}

// path returns the names above an attribute and its own, as the picture has them.
func (g *timeGraph) path(a Attribute) (above, name string) {
	path, _ := g.view.Path(a) // it is known: the query answered
	last := len(path) - 1
	return strings.Join(path[:last], "/"), path[last]
}

// ellipsis shortens text to so many characters, at its end.
func ellipsis(text string, room int) string {
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	if room < 2 {
		return ""
	}
	return string([]rune(text)[:room-1]) + "…"
}

// plural counts things: "1 row", "2 rows".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

// thousands prints a number with a comma between each three digits.
func thousands(n int) string {
	text := strconv.Itoa(n)
	least := 0
	if n < 0 {
		least = 1
	}
	for i := len(text) - 3; i > least; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// escape makes text safe as XML, in elements and in attributes. Control characters, what
// is not UTF-8 and marks that reverse the writing direction become U+FFFD: XML forbids
// the first two, and the last would let a name rearrange what is around it.
func escape(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a Builder takes every write
	return out.String()
}
