package render

import (
	"bytes"
	"cmp"
	_ "embed" // for the style sheet
	"fmt"
	"iter"
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
	// NumbersAsBars draws each number as a bar. Its height is the number's place between the least and the
	// greatest number of the row.
	NumbersAsBars
)

// TimeOptions are the options of TimeGraph. The zero value is useful.
type TimeOptions struct {
	// Title is the heading and the accessible name; "Time graph" if empty.
	Title string
	// Width is the picture's width in pixels, 400 to 20,000; 1200 if zero.
	Width int
	// Rows bounds the number of drawn attributes. The attributes that change most in the picture are drawn.
	// 200 if zero. It must not be negative.
	Rows int
	// Name, if not nil, returns a name for an attribute's value. Without it, or if it returns "", the picture
	// shows the value.
	Name func(a history.Attribute, v history.Value) string
	// Label, if not nil, returns a text behind an attribute's name, such as the function of a goroutine, or "". It
	// is called for each attribute, and again for rows, by several goroutines.
	Label func(a history.Attribute) string
	// Arrows, if not nil, returns the arrows that end at an attribute in the range, in the order of time, or nil. It is called for
	// each row of one attribute. A picture has at most 2,000 arrows, and counts the others. Its errors end the drawing.
	Arrows func(a history.Attribute) iter.Seq2[TimeArrow, error]
	// Marks, if not nil, returns the instants of an attribute that are marked in its row, ascending, such as samples.
	Marks func(a history.Attribute) []int64
	// Numbers selects how numbers are drawn.
	Numbers Numbers
	// Fold draws more attributes than Rows in Rows rows: a row has several consecutive attributes, and shows
	// the fraction of their time in each state. Numbers are then states. Without Fold, the attributes that
	// change least are omitted.
	Fold bool
	// Pyramid is the view's pyramid, or nil. It makes pictures of many intervals cheaper, but does not change
	// them.
	Pyramid *summary.Pyramid
	// Err, if not nil, is called before each row that is counted, measured or drawn, before each few hundred
	// or more folded attributes, and for each million sampled intervals, by several goroutines. Its error
	// ends the drawing. context.Context.Err is an example.
	Err func() error
}

// The geometry, in pixels.
const (
	timeHeading = 28  // baseline of the title
	timeSummary = 48  // baseline of the summary
	timeLegend  = 66  // first line of the legend
	timeAxis    = 18  // height of the labels of the ticks
	timeRow     = 15  // from one row to the next
	timePaper   = 2   // height of the paper below a row
	timeTall    = 2   // number of rows for a row of bars
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

// timeGraph is an SVG file in progress.
type timeGraph struct {
	view     *history.View
	opts     TimeOptions
	from, to int64
	asked    int // number of requested attributes

	// foldColumns is the number of columns in folded rows; 0 means one per pixel of the width.
	foldColumns int

	rows   []graphRow
	labels int   // width of the labels
	edges  []int // left edges of the columns along x, from the end of the labels
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

// setDefaults replaces zero options with defaults. The error names the first invalid option.
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

// isFolded reports whether a row can have several attributes.
func (g *timeGraph) isFolded() bool { return g.opts.Fold && g.asked > g.opts.Rows }

// pyramid returns the view's pyramid, or an empty pyramid.
func (g *timeGraph) pyramid() *summary.Pyramid {
	if g.opts.Pyramid != nil {
		return g.opts.Pyramid
	}
	return summary.Bare(g.view)
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

// behind returns the text behind an attribute's name, or "".
func (g *timeGraph) behind(a history.Attribute) string {
	if g.opts.Label == nil {
		return ""
	}
	return g.opts.Label(a)
}

// path returns an attribute's name, and the names above it with their last slash.
func (g *timeGraph) path(a history.Attribute) (above, name string) {
	path, _ := g.view.Path(a) // the attribute is known, because the query succeeded
	last := len(path) - 1
	if label := g.behind(a); label != "" {
		path[last] += " " + label
	}
	if last > 0 {
		above = strings.Join(path[:last], "/") + "/"
	}
	return above, path[last]
}

// firstOf shortens text to a number of characters by cutting its end.
func firstOf(text string, room int) string {
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	if room < 2 {
		return ""
	}
	return string([]rune(text)[:room-1]) + "…"
}

// lastOf shortens text to a number of characters by cutting its front.
func lastOf(text string, room int) string {
	runes := []rune(text)
	switch {
	case len(runes) <= room:
		return text
	case room < 2:
		return ""
	}
	return "…" + string(runes[len(runes)-room+1:])
}

// graphColors maps values to colours.
type graphColors struct {
	slots  map[history.Value]int // index in the palette, for values in the legend
	legend []graphValue          // in order of the room that they take, greatest first
	others int                   // number of values outside the legend
	total  int                   // pixels of coloured states
	bars   bool                  // whether there are bars
}

// graphValue is a value and the room that it takes.
type graphValue struct {
	value  history.Value
	pixels int
	first  history.Attribute // first attribute with the value
}

// left returns the left edge of the columns.
func (g *timeGraph) left() int { return margin + g.labels + timePad }
