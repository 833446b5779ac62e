package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/granarydb/granary/profile"
)

// FlameGraph draws the tree under root as an icicle graph, root on top, in a standalone SVG file. It is
// complete without scripts. With them, frames can be zoomed and searched.
//
// A frame's width is the fraction of its Total in root.Total. Both edges are rounded to the nearest 1/10,000
// pixel from exact integers, therefore siblings meet without gaps and a child never leaves its parent.
// Children are in order of descending Total, then by Name and File, whatever their order in the tree.
//
// Nodes with a Total of zero or less are omitted, with all nodes below them. If the children exceed their
// parent, as in differences, the child that crosses its edge is clipped there (its data-cut is "1") and the
// following children are omitted. Frames narrower than opts.MinWidth and levels beyond 512 are also omitted.
// The picture counts all of these below the frames. A nil root, or a root with a Total of zero or less, gives
// a picture without frames.
//
// FlameGraph only reads the tree. The file is built in memory and written with a single Write. After an error
// for invalid options nothing is written. Any other error comes from w.
func FlameGraph(w io.Writer, root *profile.FlameNode, opts FlameOptions) error {
	fluid := opts.Width == 0
	opts, err := opts.withDefaults()
	if err != nil {
		return err
	}
	if root == nil {
		root = &profile.FlameNode{Name: "root"}
	}
	p := flameGraph{opts: opts, root: root, fluid: fluid}
	if opts.Base != nil {
		p.root, p.changes = merged(opts.Base, root)
	}
	p.layOut()
	p.draw()
	if _, err := w.Write(p.out.Bytes()); err != nil {
		return fmt.Errorf("render: write flame graph: %w", err)
	}
	return nil
}

// draw writes the file from top to bottom. The header comes after the frames, because the script keeps it
// in view above them while the page scrolls.
func (p *flameGraph) draw() {
	footnotes := p.footnotes()
	rows := max(len(p.rows), 3) // room for the text of an empty profile
	height := flameHeader + rows*flameRow + len(footnotes)*lineHeight + margin
	begin(&p.out, "flame", p.fluid, p.opts.Width, height, p.opts.Title, "Flame graph of "+p.summary(), flameStyle)
	p.drawFrames()
	for i, note := range footnotes {
		y := flameHeader + rows*flameRow + (i+1)*lineHeight
		fmt.Fprintf(&p.out, "<text class=\"note\" x=\"%d\" y=\"%d\">%s</text>\n", margin, y, escape(note))
	}
	p.drawHeader()
	fmt.Fprintf(&p.out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", flameScript)
}

// drawHeader writes the lines above the frames.
func (p *flameGraph) drawHeader() {
	const searchBox = 340
	title := ellipsis(p.opts.Title, int(float64(p.opts.Width-2*margin-searchBox)/titleChar))
	fmt.Fprintf(&p.out, `<g class="header">
<rect class="paper" width="100%%" height="%d" fill="#fbfbfa"/>
<text class="title" x="%d" y="28">%s</text>
<text class="note" x="%[2]d" y="48">%[4]s</text>
`, flameHeader-4, margin, escape(title), escape(p.summary()))
	if p.root.Total > 0 {
		words := "The widest frames come first. A colour is a package, grey the runtime."
		if p.changes == nil {
			p.drawLegend()
		} else {
			p.drawChangeLegend()
			words = "A width is the cost before and after together, a colour the change."
		}
		fmt.Fprintf(&p.out, "<text class=\"details\" x=\"%d\" y=\"94\">%s</text>\n", margin, words)
	}
	p.out.WriteString("</g>\n")
}

// drawLegend writes a swatch for each package with a large self value, as many as fit one line. It counts
// all nodes, drawn or not.
func (p *flameGraph) drawLegend() {
	self := map[string]int64{}
	walk(p.root, func(node *profile.FlameNode) {
		if node != p.root { // the root represents all samples, not code
			self[packageOf(node)] += node.Self
		}
	})
	packages := make([]string, 0, len(self))
	for name, value := range self {
		if value > 0 {
			packages = append(packages, name)
		}
	}
	slices.SortFunc(packages, func(a, b string) int {
		return cmp.Or(cmp.Compare(self[b], self[a]), cmp.Compare(a, b))
	})
	x := float64(margin)
	for _, name := range packages[:min(len(packages), flameLegend)] {
		label := ellipsis(shortPackage(name), 32) + " " + p.percent(self[name])
		end := x + 16 + textWidth(label)
		if end > float64(p.opts.Width-margin) || p.percent(self[name]) == "0.00%" {
			break
		}
		fmt.Fprintf(&p.out, `<g class="key"><title>%s: %s self</title><rect x="%.2f" y="60" width="11" height="11" fill="%s"/><text x="%.2f" y="70">%s</text></g>
`, escape(cmp.Or(name, "no package")), escape(p.format(self[name])), x, packageColor(name, 1), x+16, escape(label))
		x = end + 16
	}
}

// drawFrames writes a group for each level, and in it a group for each frame. A frame has as little
// markup as possible, because frames are most of the file.
func (p *flameGraph) drawFrames() {
	fmt.Fprintf(&p.out, "<g class=\"frames\">\n")
	for level, row := range p.rows {
		fmt.Fprintf(&p.out, "<g class=\"row\" transform=\"translate(%d %d)\">\n", margin, flameHeader+level*flameRow)
		for _, f := range row {
			p.drawFrame(f)
		}
		p.out.WriteString("</g>\n")
	}
	p.out.WriteString("</g>\n")
	if len(p.rows) == 0 {
		fmt.Fprintf(&p.out, "<text class=\"empty\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			p.opts.Width/2, flameHeader+2*flameRow, escape(cmp.Or(p.opts.Empty, "No samples")))
	}
}

// drawFrame writes a frame. data-value is the node's exact Total.
func (p *flameGraph) drawFrame(f frame) {
	cut := ""
	if f.end-f.start < f.node.Total {
		cut = ` data-cut="1"`
	}
	name, fill, sign := displayName(f.node), frameColor(f.node), ""
	if c, ok := p.changes[f.node]; ok {
		fill, sign = changeColor(c.share()), c.text()
	}
	if sign != "" {
		cut += fmt.Sprintf(` data-sign="%s"`, sign)
	}
	fmt.Fprintf(&p.out, `<g data-value="%d"%s><title>%s`, f.node.Total, cut, escape(name))
	if f.node.File != "" {
		p.out.WriteString("\n" + escape(f.node.File))
	}
	fmt.Fprintf(&p.out, "\n%s</title><rect x=\"%s\" width=\"%s\" height=\"%d\" fill=\"%s\"/>",
		escape(p.valueLine(f.node)), pixels(f.lo), pixels(f.hi-f.lo), flameFrame, fill)
	if label := signedLabel(sign, name, float64(f.hi-f.lo)/flameScale); label != "" {
		fmt.Fprintf(&p.out, `<text x="%s" y="13">%s</text>`, pixels(f.lo+flamePad*flameScale), escape(label))
	}
	p.out.WriteString("</g>\n")
}

// valueLine returns the last line of a tooltip: the node's values.
func (p *flameGraph) valueLine(node *profile.FlameNode) string {
	if c, ok := p.changes[node]; ok {
		return p.changeLine(c)
	}
	line := fmt.Sprintf("%s (%s), self %s", p.format(node.Total), p.percent(node.Total), p.format(node.Self))
	if node.Self != 0 {
		line += fmt.Sprintf(" (%s)", p.percent(node.Self))
	}
	return line
}

// summary returns a line about the whole profile.
func (p *flameGraph) summary() string {
	if p.root.Total <= 0 {
		return cmp.Or(p.opts.SampleType, "profile") + " without samples"
	}
	drawn := 0
	for _, row := range p.rows {
		drawn += len(row)
	}
	total := p.format(p.root.Total)
	if c, ok := p.changes[p.root]; ok {
		total = p.changeLine(c)
	}
	parts := []string{p.opts.SampleType, total, plural(drawn, "frame") + " drawn", plural(len(p.rows), "level")}
	if p.opts.SampleType == "" || p.opts.Unit == "count" { // format adds it
		parts = parts[1:]
	}
	return strings.Join(parts, " \u00b7 ")
}

// footnotes returns a line for each kind of omission.
func (p *flameGraph) footnotes() []string {
	var notes []string
	for _, left := range []struct {
		count int
		why   string
	}{
		{p.narrow, fmt.Sprintf("narrower than %g px or below such a frame: left out", p.opts.MinWidth)},
		{p.deep, fmt.Sprintf("deeper than %d levels: left out", flameLevels)},
		{p.empty, "without a positive value or below such a frame: left out"},
		{p.crowded, "without room, as the frames before them fill their parent: left out"},
		{p.clipped, "wider than the rest of their parent: cut at its edge"},
	} {
		if left.count > 0 {
			notes = append(notes, plural(left.count, "frame")+" "+left.why)
		}
	}
	return notes
}

// format formats a value. A count gets the sample type's name.
func (p *flameGraph) format(value int64) string {
	formatted := profile.FormatValue(value, p.opts.Unit)
	if p.opts.Unit == "count" {
		formatted += " " + cmp.Or(p.opts.SampleType, "count")
	}
	return formatted
}

// percent formats a value as a percentage of the root.
func (p *flameGraph) percent(value int64) string {
	return strconv.FormatFloat(100*float64(value)/float64(p.root.Total), 'f', 2, 64) + "%"
}

// pixels formats a length in units of 1/flameScale pixel.
func pixels(v int64) string {
	return strconv.FormatFloat(float64(v)/flameScale, 'f', -1, 64)
}

// drawChangeLegend writes a difference's legend.
func (p *flameGraph) drawChangeLegend() {
	x := float64(margin)
	for _, key := range []struct {
		label string
		share float64
	}{
		{"gone", -1}, {"\u221250%", -0.5}, {"\u221210%", -0.1}, {"the same", 0}, {"+10%", 0.1}, {"+100%", 0.5}, {"new", 1},
	} {
		fmt.Fprintf(&p.out, `<g class="key"><rect x="%.2f" y="60" width="11" height="11" fill="%s"/><text x="%.2f" y="70">%s</text></g>
`, x, changeColor(key.share), x+16, escape(key.label))
		x += 16 + textWidth(key.label) + 16
	}
	fmt.Fprintf(&p.out, "<g class=\"key\"><text x=\"%.2f\" y=\"70\">width: before and after together</text></g>\n", x+8)
}

// changeLine returns the last line of a tooltip in a difference.
func (p *flameGraph) changeLine(c nodeChange) string {
	line := fmt.Sprintf("%s before, %s after", p.format(c.before), p.format(c.after))
	if c.before == c.after {
		return line + ": the same"
	}
	sign := ""
	if c.after > c.before {
		sign = "+"
	}
	return fmt.Sprintf("%s: %s%s (%s)", line, sign, p.format(c.after-c.before), c.text())
}
