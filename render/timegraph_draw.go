package render

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/granarydb/granary/history"
)

// TimeGraph draws the states of attributes in [from, to] as a time graph in a standalone SVG file. Attributes
// run from top to bottom in the given order, time from left to right. A nil list means all attributes,
// children after their parents; an empty list means none. States are coloured bars with tooltips. Null is
// blank. TimeGraph takes times for nanoseconds.
//
// States with texts come from a [history.View.Pixels] query, which returns the states in the middle of each
// column of pixels. A column with several states is divided by their time: the twelve longest, and the
// others. A column with numbers shows their mean, and in a paler colour the greatest. If there are many such
// columns, several neighbouring pixels share a division. The picture counts the visible intervals and all
// intervals.
//
// The twelve values that take the most room in the picture have their own colours, and are in the legend.
// Other values share paler colours. A colour depends only on the value, unless two values of the legend would
// share it. The same view and options give the same bytes.
//
// The file is built in memory and written with a single Write. The errors are those of View.Pixels,
// history.ErrQuery for an option out of range, and errors from opts.Err and w. The cost is a Pixels query,
// and two walks through the intervals of the drawn rows, or with Fold one walk through all intervals.
func TimeGraph(w io.Writer, v *history.View, attributes []history.Attribute, from, to int64, opts TimeOptions) error {
	g, err := newTimeGraph(v, attributes, from, to, opts, 0)
	if err != nil {
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

// draw writes the file from top to bottom.
func (g *timeGraph) draw() error {
	legend := g.legend()
	lines := 0
	if len(legend) > 0 {
		lines = legend[len(legend)-1].line + 1
	}
	top := timeLegend + lines*lineHeight + timeAxis
	rows := 0
	for i := range g.rows {
		rows += g.rows[i].height() + timePaper
	}
	rows = max(rows, timeRow)
	marks, err := g.findMarks()
	if err != nil {
		return err
	}
	notes := append(g.footnotes(), marks.footnotes(g)...)
	height := top + rows + timeAxis + len(notes)*lineHeight + margin
	summary := g.summary(fmt.Sprintf("%s of %s seen", thousands(g.seen), plural(g.all, "interval")))
	begin(&g.out, "states", false, g.opts.Width, height, g.opts.Title, "Time graph: "+summary, timeStyle+paletteStyle())
	title := firstOf(g.opts.Title, int(float64(g.opts.Width-2*margin)/titleChar))
	fmt.Fprintf(&g.out, "<text class=\"title\" x=\"%d\" y=\"%d\">%s</text>\n<text class=\"note\" x=\"%d\" y=\"%d\">%s</text>\n",
		margin, timeHeading, escape(title), margin, timeSummary, escape(summary))
	for _, e := range legend {
		e.draw(&g.out)
	}
	g.drawAxis(top, rows)
	y := top
	shares := g.columnShares()
	for i := range g.rows {
		if err := g.err(); err != nil {
			return err
		}
		if g.rows[i].folded != nil {
			g.drawFolded(&g.rows[i], y)
		} else if err := g.drawRow(&g.rows[i], y, &shares); err != nil {
			return err
		}
		marks.drawMarks(g, i)
		g.out.WriteString("</g>\n")
		y += g.rows[i].height() + timePaper
	}
	if len(g.rows) == 0 {
		fmt.Fprintf(&g.out, "<text class=\"note\" x=\"%d\" y=\"%d\">No attributes</text>\n", margin, top+12)
	}
	marks.drawArrows(g, top)
	for i, note := range notes {
		fmt.Fprintf(&g.out, "<text class=\"note\" x=\"%d\" y=\"%d\">%s</text>\n", margin, top+rows+timeAxis+(i+1)*lineHeight, escape(note))
	}
	g.out.WriteString("</svg>\n")
	return nil
}

// legendEntry is a colour with its meaning and its place.
type legendEntry struct {
	class, text, share, title string
	x, width                  float64
	line                      int
}

// legend lays the entries out in lines.
func (g *timeGraph) legend() []legendEntry {
	var entries []legendEntry
	for _, v := range g.colors.legend {
		name := g.name(v.first, v.value)
		share := "<0.1%"
		if 2000*v.pixels >= g.colors.total {
			share = strconv.FormatFloat(100*float64(v.pixels)/float64(g.colors.total), 'f', 1, 64) + "%"
		}
		entries = append(entries, legendEntry{
			class: g.colors.class(v.value), text: firstOf(name, 32), share: share,
			title: fmt.Sprintf("%s: %s of the time that has a colour", g.title(v.first, v.value), share),
		})
	}
	if g.colors.others > 0 {
		entries = append(entries, legendEntry{class: "others", text: plural(g.colors.others, "other value"), title: "In paler colours, which they share"})
	}
	if g.colors.bars {
		entries = append(entries, legendEntry{class: "b", text: "least to greatest of the row", title: "A number is a bar, as high as it is between the least and the greatest of its row"})
	}
	const swatch, gap = 16, 16
	x, line := float64(margin), 0
	for i := range entries {
		e := &entries[i]
		e.width = swatch + float64(utf8.RuneCountInString(e.text)+1+len(e.share))*timeChar
		if x > margin && x+e.width > float64(g.opts.Width-margin) {
			x, line = margin, line+1
		}
		e.x, e.line = x, line
		x += e.width + gap
	}
	return entries
}

func (e *legendEntry) draw(w *bytes.Buffer) {
	y := timeLegend + e.line*lineHeight
	shape := fmt.Sprintf(`<rect class="%s" x="%.1f" y="%d" width="11" height="11"/>`, e.class, e.x, y)
	switch e.class {
	case "b":
		shape = fmt.Sprintf(`<path class="b" d="M%.1f %dh3v-3h-3zm4 0h3v-7h-3zm4 0h3v-11h-3z"/>`, e.x, y+11)
	case "others":
		shape = fmt.Sprintf(`<path class="p3" d="M%.1f %dh4v11h-4z"/><path class="p2" d="M%.1f %[2]dh4v11h-4z"/><path class="p0" d="M%.1f %[2]dh3v11h-3z"/>`, e.x, y, e.x+4, e.x+8)
	}
	fmt.Fprintf(w, "<g class=\"key\"><title>%s</title>%s<text x=\"%.1f\" y=\"%d\">%s <tspan class=\"share\">%s</tspan></text></g>\n",
		escape(e.title), shape, e.x+16, y+10, escape(e.text), escape(e.share))
}

// drawRow writes a row's track, label and states, without its end.
func (g *timeGraph) drawRow(r *graphRow, y int, shares *columnShares) error {
	above, name := g.path(r.attribute)
	below := ""
	if r.bars {
		below = numberRange(r)
	}
	g.beginRow(r, y, above, name, lastOf(above+name, timeTitle), below)
	quiet := map[string]*strings.Builder{}
	for i := range r.runs {
		g.drawRun(r, &r.runs[i], quiet)
	}
	for _, class := range slices.Sorted(maps.Keys(quiet)) {
		fmt.Fprintf(&g.out, "<path class=\"%s\" d=\"%s\"/>\n", class, quiet[class])
	}
	if err := shares.draw(g, r); err != nil {
		return err
	}
	if !r.bars {
		g.drawNames(r)
	}
	return nil
}

// beginRow writes the track of a row, and its label with a title. below is the label's second line, and that of
// the title, if it is not "".
func (g *timeGraph) beginRow(r *graphRow, y int, above, name, title, below string) {
	title = escape(title)
	if below != "" {
		title += "\n" + below
	}
	fmt.Fprintf(&g.out, `<g class="row" transform="translate(%d %d)"><rect class="track" width="%d" height="%d"/><text class="label" x="%d" y="10"><title>%s</title>`,
		g.left(), y, g.edges[len(g.edges)-1], r.height(), -timePad, title)
	room := int(float64(g.labels) / timeChar)
	if above = lastOf(above, room-utf8.RuneCountInString(name)); above != "" {
		fmt.Fprintf(&g.out, `<tspan class="above">%s</tspan>`, escape(above))
	}
	fmt.Fprintf(&g.out, "%s</text>\n", escape(firstOf(name, room)))
	if below != "" {
		fmt.Fprintf(&g.out, "<text class=\"label above\" x=\"%d\" y=\"23\">%s</text>\n", -timePad, escape(firstOf(below, room)))
	}
}

// drawRun writes a state as an element with a tooltip, or adds it to the path of its colour.
func (g *timeGraph) drawRun(r *graphRow, run *graphRun, quiet map[string]*strings.Builder) {
	v := run.in.Value
	if v.IsNull() {
		return
	}
	class, height := "b", r.height()
	if r.bars {
		height = r.bar(v)
	} else {
		class = g.colors.class(v)
	}
	lo, hi := g.edges[run.lo], g.edges[run.hi]
	shape := fmt.Sprintf("M%d %dh%dv%dh-%[3]dz", lo, r.height()-height, hi-lo, height)
	if hi-lo < g.narrow {
		if quiet[class] == nil {
			quiet[class] = &strings.Builder{}
		}
		quiet[class].WriteString(shape)
		return
	}
	fmt.Fprintf(&g.out, `<path class="%s" d="%s"><title>%s`+"\n%s", class, shape, escape(g.title(r.attribute, v)), g.when(run.in))
	g.out.WriteString("</title></path>\n")
}

// drawNames writes the names of states into them, and a notch between two neighbours with the same value,
// because the state between them is too narrow to see.
func (g *timeGraph) drawNames(r *graphRow) {
	var notches strings.Builder
	for lo := 0; lo < len(r.runs); {
		v := r.runs[lo].in.Value
		hi := lo + 1
		for hi < len(r.runs) && r.runs[hi].in.Value.Equal(v) {
			if g.width(r.runs[hi-1]) >= timeNotched && g.width(r.runs[hi]) >= timeNotched {
				fmt.Fprintf(&notches, "M%d %dv3h1v-3z", g.edges[r.runs[hi].lo], r.height()-3)
			}
			hi++
		}
		x, end := g.edges[r.runs[lo].lo], g.edges[r.runs[hi-1].hi]
		if !v.IsNull() && end-x >= timeNamed {
			const most = 200 // characters that fit in a picture 20,000 pixels wide
			room := min(most, int(float64(end-x-2*timePad)/timeTick))
			fmt.Fprintf(&g.out, "<text class=\"t%c\" x=\"%d\" y=\"10\">%s</text>\n", g.colors.class(v)[0], x+timePad, escape(firstOf(g.name(r.attribute, v), room)))
		}
		lo = hi
	}
	if notches.Len() > 0 {
		fmt.Fprintf(&g.out, "<path class=\"notch\" d=\"%s\"/>\n", notches.String())
	}
}

// title returns a value's name, and the value itself if that differs.
func (g *timeGraph) title(a history.Attribute, v history.Value) string {
	name, own := firstOf(g.name(a, v), timeTitle), firstOf(v.String(), timeTitle)
	if v.Kind() == history.KindString && name == firstOf(v.Text(), timeTitle) || name == own {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, own)
}

// summary returns a line about the whole picture. intervals is its part about them, if rows are not folded.
func (g *timeGraph) summary(intervals string) string {
	when := fmt.Sprintf("%s to %s after %s", g.offset(g.from), g.offset(g.to), utc(g.view.Start()))
	if g.isFolded() {
		return fmt.Sprintf("%s in %s · %s", plural(g.asked, "attribute"), plural(len(g.rows), "row"), when)
	}
	shown := plural(len(g.rows), "attribute")
	if len(g.rows) < g.asked {
		shown = fmt.Sprintf("%s of %s, with the most changes here", thousands(len(g.rows)), plural(g.asked, "attribute"))
	}
	return shown + " · " + when + " · " + intervals
}

// footnotes returns a line for each kind of omission.
func (g *timeGraph) footnotes() []string {
	var notes []string
	if g.isFolded() {
		each := (uint64(g.to) - uint64(g.from)) / uint64(len(g.edges)-1)
		return []string{fmt.Sprintf("A row has several attributes, and a column of pixels is %s: its height is divided as their time is between states.", roundly(each))}
	}
	if columns := len(g.edges) - 1; g.seen < g.all {
		each := (uint64(g.to) - uint64(g.from)) / uint64(columns)
		notes = append(notes, fmt.Sprintf("A column of pixels is %s. Where it has several states its height is divided as its time is; its text is that of the state in its middle. A notch is where a state fell between two that are equal.", roundly(each)))
	}
	if g.asked > len(g.rows) {
		notes = append(notes, fmt.Sprintf("%s left out: they change less in the picture.", plural(g.asked-len(g.rows), "attribute")))
	}
	if g.silent > 0 {
		notes = append(notes, fmt.Sprintf("%s narrower than %d px without a text of their own.", plural(g.silent, "interval"), g.narrow))
	}
	return notes
}

// numberRange formats the range of a row's bars.
func numberRange(r *graphRow) string {
	if r.least == r.most {
		return numberText(r.least)
	}
	return numberText(r.least) + " to " + numberText(r.most)
}

// numberText formats a number with four significant digits, or a whole number with all digits.
func numberText(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return thousands(int(f))
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}
