package render

import (
	"bytes"
	"cmp"
	_ "embed" // for the style sheet
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
)

//go:embed timegraph.css
var timeStyle string

// Numbers selects how a time graph shows numbers.
type Numbers uint8

const (
	// NumbersAuto draws bars for floats, and for integers that move in small steps between more values
	// than the legend has, as counters do. Other integers, such as the numbers of threads, get colours.
	NumbersAuto Numbers = iota
	// NumbersAsColors gives each number a colour.
	NumbersAsColors
	// NumbersAsBars makes each number a bar. Its height is the number's place between
	// the least and the greatest of the row.
	NumbersAsBars
)

// TimeOptions are the options of TimeGraph. The zero value is useful.
type TimeOptions struct {
	// Title is the heading and the accessible name; "Time graph" when empty.
	Title string
	// Width is the picture's width in pixels: 1200 when zero, else 400 to 20,000.
	Width int
	// Rows bounds the drawn attributes: the attributes that change most in the picture are drawn. 200
	// when zero. Not negative.
	Rows int
	// Name, if not nil, returns a name for an attribute's value. Without it, and where it returns "", the
	// value itself is shown.
	Name func(a history.Attribute, v history.Value) string
	// Numbers selects how numbers are drawn.
	Numbers Numbers
	// Fold draws more attributes than Rows in Rows rows: a row has attributes that follow each other, and
	// shows the share of their time in each state. A number is a state then. Without Fold, the attributes
	// that change least are omitted.
	Fold bool
	// Pyramid is the view's pyramid, or nil. It makes pictures of many intervals cheaper, and no
	// different.
	Pyramid *summary.Pyramid
	// Err, if not nil, is called before each row that is counted, measured or drawn, before each few
	// hundred or more folded attributes, and for each million sampled intervals, by several goroutines.
	// Its error ends the drawing. context.Context.Err is an example.
	Err func() error
}

// The geometry, in pixels.
const (
	timeHeading = 28  // baseline of the title
	timeSummary = 48  // baseline of the summary
	timeLegend  = 66  // first line of the legend
	timeAxis    = 18  // height of the names of the ticks
	timeRow     = 15  // from one row to the next
	timePaper   = 2   // paper below a row
	timeTall    = 2   // rows that a row of bars takes
	timeLabels  = 95  // least width of the labels
	timeChar    = 6.7 // width of a character of a label
	timeTick    = 6.1 // width of a character of a tick or a state
	timePad     = 3
	timeNamed   = 40 // least width of a state with its name in it
	timeNotched = 4  // least width of states with a notch between them
)

// A picture's limits. The picture counts the things beyond them.
const (
	timeRows = 200
	// timeTitles bounds the states with their own tooltip, about 90 bytes each. Narrower states of one
	// colour share a path, 14 bytes each.
	timeTitles = 30_000
	// timeTitle bounds the characters of a value or a path in a tooltip.
	timeTitle = 300
	// timeColors is the number of values with their own colour.
	timeColors = 12
)

// TimeGraph draws the states of attributes in [from, to] as a time graph in a standalone SVG file.
// Attributes run from top to bottom in the order of the argument, time from left to right. nil means all
// attributes, children after their parents, and an empty list none. States are coloured bars with
// tooltips. Null is blank. Times are taken for nanoseconds.
//
// States with texts come from a [history.View.Pixels] query, which returns the states in the middle of
// each column of pixels. A column with several states is divided by their time: the twelve longest, and
// the rest. With numbers it shows the mean, and paler the greatest. Where there are many such columns,
// several neighbouring pixels share a division. The picture counts the visible intervals and all
// intervals.
//
// The twelve values that take the most room in the picture have their own colours, and are in the legend.
// Other values share paler colours. A colour depends on the value alone, unless two values of the legend
// would share it. The same view and options give the same bytes.
//
// The file is built in memory and written with a single Write. The errors are as for View.Pixels, and
// history.ErrQuery for an option out of range, and errors from opts.Err and w. The cost is a Pixels
// query, and two walks through the intervals of the drawn rows, or with Fold one walk through all
// intervals.
func TimeGraph(w io.Writer, v *history.View, attributes []history.Attribute, from, to int64, opts TimeOptions) error {
	if attributes == nil {
		attributes = slices.Collect(v.Descendants(history.Top))
	}
	g := timeGraph{view: v, opts: opts, from: from, to: to, asked: len(attributes)}
	if err := g.setDefaults(); err != nil {
		return err
	}
	if err := g.layOutAny(attributes); err != nil {
		return err
	}
	if err := g.draw(); err != nil {
		return err
	}
	if _, err := w.Write(g.out.Bytes()); err != nil {
		return fmt.Errorf("render: write time graph: %w", err)
	}
	return nil
}

// timeGraph is an SVG file in progress.
type timeGraph struct {
	view     *history.View
	opts     TimeOptions
	from, to int64
	asked    int // attributes

	// foldColumns is the number of columns in rows of several attributes; 0: as many as the width has.
	foldColumns int

	rows   []graphRow
	labels int   // width of the labels
	edges  []int // of the columns along x, from the end of the labels
	colors graphColors
	all    int // number of the rows' intervals
	seen   int // number of drawn intervals
	narrow int // least width of a run with a tooltip
	silent int // runs without a tooltip
	out    bytes.Buffer
}

// graphRow is an attribute in the picture.
type graphRow struct {
	attribute history.Attribute
	runs      []graphRun
	states    int // runs that are not null
	intervals int // in the range, null included
	bars      bool
	least     float64 // least value, if the values are bars
	most      float64

	folded  []history.Attribute // attributes of a folded row, from attribute on
	columns *sharedColumns      // shares of folded
}

// height returns the height of a row's states, in pixels.
func (r *graphRow) height() int {
	if r.bars || r.folded != nil {
		return timeTall*timeRow - timePaper
	}
	return timeRow - timePaper
}

// graphRun is an interval in the picture: columns [lo, hi).
type graphRun struct {
	in     history.Interval
	lo, hi int
}

// setDefaults fills in zero options. The error names the first bad one.
func (g *timeGraph) setDefaults() error {
	o := &g.opts
	o.Title = cmp.Or(o.Title, "Time graph")
	o.Width = cmp.Or(o.Width, 1200)
	o.Rows = cmp.Or(o.Rows, timeRows)
	switch {
	case o.Width < 400 || o.Width > maxWidth:
		return fmt.Errorf("%w: time graph option Width is %d, want 400 to 20000", history.ErrQuery, o.Width)
	case o.Rows < 0:
		return fmt.Errorf("%w: time graph option Rows is %d, want 0 or more", history.ErrQuery, o.Rows)
	case o.Numbers > NumbersAsBars:
		return fmt.Errorf("%w: time graph option Numbers is %d", history.ErrQuery, o.Numbers)
	}
	return nil
}

// err returns the error of the options' Err.
func (g *timeGraph) err() error {
	if g.opts.Err == nil {
		return nil
	}
	return g.opts.Err()
}

// isFolded reports whether rows have several attributes.
func (g *timeGraph) isFolded() bool { return g.opts.Fold && g.asked > g.opts.Rows }

// pyramid returns the view's pyramid, or an empty pyramid.
func (g *timeGraph) pyramid() *summary.Pyramid {
	if g.opts.Pyramid != nil {
		return g.opts.Pyramid
	}
	return summary.Bare(g.view)
}

// layOutAny lays out rows with one attribute or with several.
func (g *timeGraph) layOutAny(attributes []history.Attribute) error {
	if g.isFolded() {
		return g.layOutFolded(attributes)
	}
	return g.layOut(attributes)
}

// layOut queries the states, and chooses rows, columns and colours.
func (g *timeGraph) layOut(attributes []history.Attribute) error {
	longest := g.longestPath(attributes)
	g.labels = min(max(int(float64(longest)*timeChar)+timePad, timeLabels), g.opts.Width*3/10)
	width := g.opts.Width - 2*margin - g.labels - timePad
	times := history.PixelTimes(g.from, g.to, width)
	if err := g.sample(attributes, times, width); err != nil {
		return err
	}
	g.edges = make([]int, len(times)+1)
	for i := range g.edges {
		g.edges[i] = i * width / len(times)
	}
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
	lengths := make([]int, g.view.Len()) // parents come before their children
	for i := range lengths {
		a := history.Attribute(i)
		name, _ := g.view.Name(a) // the attributes are known
		lengths[i] = utf8.RuneCountInString(name)
		if parent, _ := g.view.Parent(a); parent != history.Top {
			lengths[i] += lengths[parent] + 1
		}
	}
	longest := 0
	for _, a := range attributes {
		if int(a) < len(lengths) { // the query fails for other attributes
			longest = max(longest, lengths[a])
		}
	}
	return longest
}

// sampleCells is the number of intervals that are sampled between two calls of TimeOptions.Err.
const sampleCells = 1 << 20

// sample makes a row for each attribute from its intervals at the times of pixels.
func (g *timeGraph) sample(attributes []history.Attribute, times []int64, width int) error {
	found, err := g.view.Pixels([]history.Attribute{}, g.from, g.to, width) // for the errors of the range
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

// layOutRows makes a row from each attribute's intervals. A row begins with the interval of the first
// column, so an attribute that is listed twice has two rows.
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

// width returns a run's width in pixels.
func (g *timeGraph) width(run graphRun) int { return g.edges[run.hi] - g.edges[run.lo] }

// name returns the name of an attribute's value.
func (g *timeGraph) name(a history.Attribute, v history.Value) string {
	if g.opts.Name != nil {
		if name := g.opts.Name(a, v); name != "" {
			return name
		}
	}
	if v.Kind() == history.KindString {
		return v.Text()
	}
	return v.String()
}

// path returns the names above an attribute, and its own.
func (g *timeGraph) path(a history.Attribute) (above, name string) {
	path, _ := g.view.Path(a) // the attribute is known, because the query succeeded
	last := len(path) - 1
	return strings.Join(path[:last], "/"), path[last]
}

// firstOf shortens text to a number of characters, at its end.
func firstOf(text string, room int) string {
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	if room < 2 {
		return ""
	}
	return string([]rune(text)[:room-1]) + "…"
}

// lastOf shortens text to a number of characters, at its front.
func lastOf(text string, room int) string {
	runes := []rune(text)
	if room < 2 {
		return ""
	}
	return "…" + string(runes[len(runes)-room+1:])
}
