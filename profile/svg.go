package profile

import (
	"bytes"
	"cmp"
	_ "embed" // for the style sheet and the script
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

//go:embed svg.css
var svgStyle string

//go:embed svg.js
var svgScript string

// SVGOptions says how WriteSVG draws a flame graph. The zero value is useful.
type SVGOptions struct {
	// Title is the heading and the accessible name; "Flame graph" when empty.
	Title string
	// SampleType names what was measured, such as "cpu" or "alloc_objects".
	// Left out of the picture when empty.
	SampleType string
	// Unit is the unit of all values, as FormatValue takes it. Bare numbers
	// when empty.
	Unit string
	// Empty is what a picture without frames says; "No samples" when empty.
	Empty string
	// Width of the picture in pixels: 1200 when zero, else 600 to 20,000.
	Width int
	// MinWidth is the width in pixels below which a frame is left out together
	// with all below it: 0.1 when zero. Zooming does not bring such a frame
	// back, so a lower value buys detail with file size. Not negative.
	MinWidth float64
}

// The geometry, in pixels. svg.js repeats svgCharWidth and svgTextPad.
const (
	svgMargin    = 10  // left and right of the frames
	svgHeader    = 104 // above the frames: title, summary, packages, details
	svgRow       = 18  // from one level to the next
	svgFrame     = 17  // height of a frame, so one pixel of paper shows between
	svgLine      = 18  // a line of text below the frames
	svgCharWidth = 7.25
	svgTextPad   = 4 // between a frame's edges and its text

	// svgScale is the precision of widths and positions along x: they are whole
	// multiples of 1/svgScale pixel, four decimals.
	svgScale = 10_000

	// svgMaxLevels bounds the height of the picture (9,300 pixels). Collectors
	// stop at 127 to 512 frames; only runaway recursion is deeper.
	svgMaxLevels = 512

	svgLegendEntries = 8
)

// WriteSVG draws the tree under root as an icicle graph, root on top, in one
// standalone SVG file: no reference leaves it, it is complete without scripts,
// and with them frames zoom and can be searched.
//
// A frame is as wide as its Total is of root.Total. Both edges are rounded
// to the nearest 1/10,000 pixel from exact integers, so siblings
// meet without gaps and a child never leaves its parent. Children stand in
// order of falling Total, then by Name and File: the same tree gives the same
// bytes, whatever the order of its Children.
//
// Nodes with a Total of zero or less are left out with all below them. Where
// the children exceed their parent, which only differences do, the one that
// crosses its edge is cut there (its data-cut is "1") and the rest left out.
// Frames narrower than opts.MinWidth and levels beyond 512 are left out too.
// The picture counts all of these below the frames. A nil root, or one with a
// Total of zero or less, gives a picture that says there are no samples.
//
// The tree is only read. The file is built in memory and written with a single
// Write: an error from bad options writes nothing, any other is from w.
func WriteSVG(w io.Writer, root *FlameNode, opts SVGOptions) error {
	opts, err := opts.withDefaults()
	if err != nil {
		return err
	}
	if root == nil {
		root = &FlameNode{Name: "root"}
	}
	p := picture{opts: opts, root: root}
	p.layOut()
	p.draw()
	if _, err := w.Write(p.out.Bytes()); err != nil {
		return fmt.Errorf("profile: write svg: %w", err)
	}
	return nil
}

// withDefaults fills zero fields in, or names the first bad one.
func (o SVGOptions) withDefaults() (SVGOptions, error) {
	if o.Title == "" {
		o.Title = "Flame graph"
	}
	if o.Width == 0 {
		o.Width = 1200
	}
	if o.Width < 600 || o.Width > 20_000 {
		return o, fmt.Errorf("profile: svg option Width is %d, want 600 to 20000", o.Width)
	}
	if o.MinWidth == 0 {
		o.MinWidth = 0.1
	}
	if !(o.MinWidth > 0) || o.MinWidth > 20_000 { // the first also rejects NaN
		return o, fmt.Errorf("profile: svg option MinWidth is %v, want 0 to 20000", o.MinWidth)
	}
	return o, nil
}

// picture is one SVG file in the making.
type picture struct {
	opts SVGOptions
	root *FlameNode
	rows [][]frame // by level, each from left to right
	out  bytes.Buffer

	// Nodes that are not drawn, by the reason, and frames that are cut.
	narrow, deep, empty, crowded, cut int
}

// frame is one drawn node. Its interval of cumulative value [start, end) gives
// the edges lo and hi, in 1/svgScale pixel from the root's left edge.
type frame struct {
	node       *FlameNode
	start, end int64
	lo, hi     int64
}

// layOut finds the frames level by level. It does not recurse: stacks may be
// as deep as they like.
func (p *picture) layOut() {
	if p.root.Total <= 0 {
		return
	}
	row := []frame{p.place(p.root, 0, p.root.Total)}
	for len(row) > 0 {
		p.rows = append(p.rows, row)
		var next []frame
		for _, parent := range row {
			next = p.layOutChildren(next, parent)
		}
		row = next
	}
}

// layOutChildren appends the frames of parent's children to row.
func (p *picture) layOutChildren(row []frame, parent frame) []frame {
	at := parent.start
	minimum := int64(math.Ceil(p.opts.MinWidth * svgScale))
	for _, child := range widestFirst(parent.node.Children) {
		room := parent.end - at
		f := p.place(child, at, at+max(0, min(child.Total, room)))
		at = f.end
		switch {
		case child.Total <= 0:
			p.empty += countNodes(child)
		case room <= 0:
			p.crowded += countNodes(child)
		case len(p.rows) == svgMaxLevels:
			p.deep += countNodes(child)
		case f.hi-f.lo < minimum:
			p.narrow += countNodes(child)
		default:
			if child.Total > room {
				p.cut++
			}
			row = append(row, f)
		}
	}
	return row
}

// place returns node as the frame of the cumulative values [start, end).
func (p *picture) place(node *FlameNode, start, end int64) frame {
	return frame{node: node, start: start, end: end, lo: p.edge(start), hi: p.edge(end)}
}

// edge returns where the cumulative value v stands along x, rounded to nearest.
// It computes in 128 bits: v * width overflows 64 for large profiles, and
// floats would round differently from one machine to the next.
func (p *picture) edge(v int64) int64 {
	total := uint64(p.root.Total)
	hi, lo := bits.Mul64(uint64(v), uint64(p.opts.Width-2*svgMargin)*svgScale)
	lo, carry := bits.Add64(lo, total/2, 0)
	quotient, _ := bits.Div64(hi+carry, lo, total)
	return int64(quotient)
}

// widestFirst returns the nodes in drawing order, without nil ones.
func widestFirst(nodes []*FlameNode) []*FlameNode {
	sorted := slices.DeleteFunc(slices.Clone(nodes), func(n *FlameNode) bool { return n == nil })
	slices.SortStableFunc(sorted, func(a, b *FlameNode) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.File, b.File), cmp.Compare(b.Self, a.Self))
	})
	return sorted
}

// countNodes returns the number of nodes of the tree under root, with root.
func countNodes(root *FlameNode) int {
	count := 0
	walk(root, func(*FlameNode) { count++ })
	return count
}

// walk visits the tree under root, parents before children, with its own
// stack: call depth must not depend on input.
func walk(root *FlameNode, visit func(*FlameNode)) {
	stack := []*FlameNode{root}
	for len(stack) > 0 {
		node := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		visit(node)
		for _, child := range node.Children {
			if child != nil {
				stack = append(stack, child)
			}
		}
	}
}

// draw writes the file from top to bottom. The header comes after the frames
// because the script keeps it in view, above them, while the page scrolls.
func (p *picture) draw() {
	footnotes := p.footnotes()
	rows := max(len(p.rows), 3) // room for the words of an empty profile
	height := svgHeader + rows*svgRow + len(footnotes)*svgLine + svgMargin
	fmt.Fprintf(&p.out, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" class="flame" role="img" aria-labelledby="flame-title flame-desc" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">
<title id="flame-title">%s</title>
<desc id="flame-desc">%s</desc>
<style><![CDATA[
%s]]></style>
<rect class="paper" width="100%%" height="100%%" fill="#fbfbfa"/>
`, p.opts.Width, height, escape(p.opts.Title), escape("Flame graph of "+p.summary()), svgStyle)

	p.drawFrames()
	for i, note := range footnotes {
		y := svgHeader + rows*svgRow + (i+1)*svgLine
		fmt.Fprintf(&p.out, "<text class=\"note\" x=\"%d\" y=\"%d\">%s</text>\n", svgMargin, y, escape(note))
	}
	p.drawHeader()
	fmt.Fprintf(&p.out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", svgScript)
}

// drawHeader writes what stands above the frames.
func (p *picture) drawHeader() {
	const titleChar, searchBox = 10.5, 340
	title := ellipsis(p.opts.Title, int(float64(p.opts.Width-2*svgMargin-searchBox)/titleChar))
	fmt.Fprintf(&p.out, `<g class="header">
<rect class="paper" width="100%%" height="%d" fill="#fbfbfa"/>
<text class="title" x="%d" y="28">%s</text>
<text class="note" x="%[2]d" y="48">%[4]s</text>
`, svgHeader-4, svgMargin, escape(title), escape(p.summary()))
	if p.root.Total > 0 {
		p.drawLegend()
		fmt.Fprintf(&p.out, "<text class=\"details\" x=\"%d\" y=\"94\">%s</text>\n", svgMargin,
			"The widest frames come first. A colour is a package, grey the runtime.")
	}
	p.out.WriteString("</g>\n")
}

// drawLegend writes a swatch for each of the packages with the largest self
// values, as many as fit one line. It counts all nodes, drawn or not.
func (p *picture) drawLegend() {
	self := map[string]int64{}
	walk(p.root, func(node *FlameNode) {
		if node != p.root { // stands for all samples, not for code
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
	x := float64(svgMargin)
	for _, name := range packages[:min(len(packages), svgLegendEntries)] {
		label := ellipsis(shortPackage(name), 32) + " " + p.percent(self[name])
		end := x + 16 + textWidth(label)
		if end > float64(p.opts.Width-svgMargin) || p.percent(self[name]) == "0.00%" {
			break
		}
		fmt.Fprintf(&p.out, `<g class="key"><title>%s: %s self</title><rect x="%.2f" y="60" width="11" height="11" fill="%s"/><text x="%.2f" y="70">%s</text></g>
`, escape(cmp.Or(name, "no package")), escape(p.format(self[name])), x, packageColor(name, 1), x+16, escape(label))
		x = end + 16
	}
}

// drawFrames writes one group per level and in it one group per frame, as
// little markup as a frame can have: it is most of the file.
func (p *picture) drawFrames() {
	fmt.Fprintf(&p.out, "<g class=\"frames\">\n")
	for level, row := range p.rows {
		fmt.Fprintf(&p.out, "<g class=\"row\" transform=\"translate(%d %d)\">\n", svgMargin, svgHeader+level*svgRow)
		for _, f := range row {
			p.drawFrame(f)
		}
		p.out.WriteString("</g>\n")
	}
	p.out.WriteString("</g>\n")
	if len(p.rows) == 0 {
		fmt.Fprintf(&p.out, "<text class=\"empty\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			p.opts.Width/2, svgHeader+2*svgRow, escape(cmp.Or(p.opts.Empty, "No samples")))
	}
}

// drawFrame writes one frame. data-value is the node's exact Total.
func (p *picture) drawFrame(f frame) {
	cut := ""
	if f.end-f.start < f.node.Total {
		cut = ` data-cut="1"`
	}
	name := escape(displayName(f.node))
	fmt.Fprintf(&p.out, `<g data-value="%d"%s><title>%s`, f.node.Total, cut, name)
	if f.node.File != "" {
		p.out.WriteString("\n" + escape(f.node.File))
	}
	fmt.Fprintf(&p.out, "\n%s (%s), self %s", escape(p.format(f.node.Total)), p.percent(f.node.Total), escape(p.format(f.node.Self)))
	if f.node.Self != 0 {
		fmt.Fprintf(&p.out, " (%s)", p.percent(f.node.Self))
	}
	fmt.Fprintf(&p.out, `</title><rect x="%s" width="%s" height="%d" fill="%s"/>`,
		pixels(f.lo), pixels(f.hi-f.lo), svgFrame, frameColor(f.node))
	if label := frameLabel(displayName(f.node), float64(f.hi-f.lo)/svgScale); label != "" {
		fmt.Fprintf(&p.out, `<text x="%s" y="13">%s</text>`, pixels(f.lo+svgTextPad*svgScale), escape(label))
	}
	p.out.WriteString("</g>\n")
}

// summary is one line on the whole profile.
func (p *picture) summary() string {
	if p.root.Total <= 0 {
		return cmp.Or(p.opts.SampleType, "profile") + " without samples"
	}
	drawn := 0
	for _, row := range p.rows {
		drawn += len(row)
	}
	parts := []string{p.opts.SampleType, p.format(p.root.Total), plural(drawn, "frame") + " drawn", plural(len(p.rows), "level")}
	if p.opts.SampleType == "" || p.opts.Unit == "count" { // format has it then
		parts = parts[1:]
	}
	return strings.Join(parts, " \u00b7 ")
}

// footnotes says what the picture leaves out, one line for each reason.
func (p *picture) footnotes() []string {
	var notes []string
	for _, left := range []struct {
		count int
		why   string
	}{
		{p.narrow, fmt.Sprintf("narrower than %g px or below such a frame: left out", p.opts.MinWidth)},
		{p.deep, fmt.Sprintf("deeper than %d levels: left out", svgMaxLevels)},
		{p.empty, "without a positive value or below such a frame: left out"},
		{p.crowded, "without room, as the frames before them fill their parent: left out"},
		{p.cut, "wider than the rest of their parent: cut at its edge"},
	} {
		if left.count > 0 {
			notes = append(notes, plural(left.count, "frame")+" "+left.why)
		}
	}
	return notes
}

// format renders a value; a count counts samples of the sample type.
func (p *picture) format(value int64) string {
	formatted := FormatValue(value, p.opts.Unit)
	if p.opts.Unit == "count" {
		formatted += " " + cmp.Or(p.opts.SampleType, "count")
	}
	return formatted
}

// percent renders value as a share of the root.
func (p *picture) percent(value int64) string {
	return strconv.FormatFloat(100*float64(value)/float64(p.root.Total), 'f', 2, 64) + "%"
}

// pixels prints a length given in 1/svgScale pixel.
func pixels(v int64) string {
	return strconv.FormatFloat(float64(v)/svgScale, 'f', -1, 64)
}

func plural(count int, noun string) string {
	if count != 1 {
		noun += "s"
	}
	return groupThousands(strconv.Itoa(count)) + " " + noun
}

// escape makes s safe as XML text and attribute value. Bytes that are not
// UTF-8, control characters and marks that reverse the writing direction
// become U+FFFD: XML forbids the first two, the last would let a symbol
// rearrange the text around it.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(s)) // a Builder takes every write
	return out.String()
}

// frameLabel returns as much of name as is legible in a frame of width pixels:
// all of it, or without the directories of its package, or without the package,
// which the colour tells, or without the receiver, or the start of that.
// labelFor in svg.js does the same after a zoom.
func frameLabel(name string, width float64) string {
	room := int((width - 2*svgTextPad) / svgCharWidth)
	if room < 3 {
		return ""
	}
	for _, shorten := range []func(string) string{shortName, bareName, methodName} {
		if columns(name) > room {
			name = shorten(name)
		}
	}
	return ellipsis(name, room)
}

func textWidth(s string) float64 {
	return float64(columns(s)) * svgCharWidth
}

// frameColor returns the fill of a node: the hue of its package, in a shade
// of the function's own so that neighbours of one package stay apart.
func frameColor(node *FlameNode) string {
	return packageColor(packageOf(node), hash(node.Name)%3)
}

// packageColor returns a light colour, #rrggbb, that depends on nothing but
// the package and the shade (0 to 2): a package looks the same in every
// profile. Hues are ten degrees apart, so two packages look either alike or
// different. Lightness and chroma are those of OKLCH, in which equal numbers
// look equally light; dark text is legible on all of them. The runtime's
// packages and frames without any are grey.
func packageColor(name string, shade uint32) string {
	lightness := 0.79 + 0.03*float64(shade)
	switch {
	case name == "" || isRuntime(name):
		return oklch(lightness+0.05, 0.005, 260)
	default:
		return oklch(lightness, 0.105, float64(hash(name)%36*10))
	}
}

// oklch converts to sRGB by Ottosson's matrices, clamped to what sRGB has.
func oklch(lightness, chroma, hue float64) string {
	sin, cos := math.Sincos(hue * math.Pi / 180)
	a, b := chroma*cos, chroma*sin
	cube := func(v float64) float64 { return v * v * v }
	l := cube(lightness + 0.3963377774*a + 0.2158037573*b)
	m := cube(lightness - 0.1055613458*a - 0.0638541728*b)
	s := cube(lightness - 0.0894841775*a - 1.2914855480*b)
	return fmt.Sprintf("#%02x%02x%02x",
		gamma(+4.0767416621*l-3.3077115913*m+0.2309699292*s),
		gamma(-1.2684380046*l+2.6097574011*m-0.3413193965*s),
		gamma(-0.0041960863*l-0.7034186147*m+1.7076147010*s))
}

// gamma encodes one linear channel in eight bits.
func gamma(linear float64) int {
	linear = min(max(linear, 0), 1)
	if linear <= 0.0031308 {
		return int(math.Round(255 * 12.92 * linear))
	}
	return int(math.Round(255 * (1.055*math.Pow(linear, 1/2.4) - 0.055)))
}

func hash(s string) uint32 {
	h := fnv.New64a()
	h.Write([]byte(s))
	sum := h.Sum64()
	return uint32(sum>>32) ^ uint32(sum) // the low bits of FNV alone are weak
}
