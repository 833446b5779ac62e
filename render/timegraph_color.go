package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/granarydb/granary/history"
)

// timePalette has the colours of the legend's values and of other values, on light and on dark paper.
// Neighbours in it differ strongly, because states are often called 0, 1, 2. In OKLCH the colours of a column
// have the same chroma and, except for a small difference between neighbouring hues, the same lightness.
// Their hues are about 30 degrees apart.
var timePalette = [timeColors]struct{ strong, pale, strongDark, paleDark string }{
	{"#6aa8e6", "#b5d3f3", "#5c95ce", "#37516c"},
	{"#cc984c", "#e5cba8", "#b68740", "#604a2b"},
	{"#6db77d", "#b7dabd", "#5ea36e", "#38573e"},
	{"#e1867f", "#f2c2bd", "#c97670", "#69423f"},
	{"#b98fd7", "#dac6eb", "#a47ec1", "#584665"},
	{"#2fb9b9", "#a6dbda", "#22a4a4", "#245858"},
	{"#f3a2d0", "#f5cbe1", "#dc91bc", "#6d4a5e"},
	{"#c1c76f", "#d9ddb4", "#aeb362", "#575a35"},
	{"#b1b7ff", "#d1d6fe", "#9fa5ee", "#505375"},
	{"#fba97f", "#f9cfba", "#e39871", "#704d3c"},
	{"#69d7b7", "#b5e6d5", "#5dc2a5", "#346153"},
	{"#61cff3", "#b2e2f3", "#55bbdc", "#315e6d"},
}

// choose fills the legend, and gives each of its values its own colour.
func (c *graphColors) choose(g *timeGraph) {
	index := map[history.Value]int{}
	var values []graphValue
	for _, row := range g.rows {
		if row.bars {
			c.bars = true
			continue
		}
		for _, run := range row.runs {
			v := run.in.Value
			if v.IsNull() {
				continue
			}
			i, known := index[v]
			if !known {
				i = len(values)
				index[v] = i
				values = append(values, graphValue{value: v, first: row.attribute})
			}
			room := g.width(run)
			values[i].pixels += room
			c.total += room
		}
	}
	c.assign(values)
}

// assign gives colours to the values that take the most room.
func (c *graphColors) assign(values []graphValue) {
	slices.SortStableFunc(values, func(a, b graphValue) int { return cmp.Compare(b.pixels, a.pixels) })
	c.legend = values[:min(len(values), timeColors)]
	c.others = len(values) - len(c.legend)
	c.slots = map[history.Value]int{}
	var taken [timeColors]bool
	for _, v := range c.legend {
		slot := colorSlot(v.value)
		for taken[slot] {
			slot = (slot + 1) % timeColors
		}
		taken[slot] = true
		c.slots[v.value] = slot
	}
}

// class returns a value's class in the style sheet.
func (c *graphColors) class(v history.Value) string {
	if slot, ok := c.slots[v]; ok {
		return fmt.Sprintf("c%d", slot)
	}
	return fmt.Sprintf("p%d", colorSlot(v))
}

// colorSlot returns the preferred colour of a value. Each of the integers 0 to 11 has its own.
func colorSlot(v history.Value) int {
	if v.Kind() == history.KindInt && v.Int() >= 0 && v.Int() < timeColors {
		return int(v.Int())
	}
	return int(hash(v.String()) % timeColors)
}

// paletteStyle returns the rules of the colours.
func paletteStyle() string {
	var light, dark strings.Builder
	for i, p := range timePalette {
		fmt.Fprintf(&light, ".states .c%d{fill:%s} .states .p%d{fill:%s}\n", i, p.strong, i, p.pale)
		fmt.Fprintf(&dark, ".states .c%d{fill:%s} .states .p%d{fill:%s}\n", i, p.strongDark, i, p.paleDark)
	}
	return light.String() + "@media (prefers-color-scheme: dark) {\n" + dark.String() + "}\n"
}

// measure decides whether a row's values are bars, and finds their range.
func (r *graphRow) measure(numbers Numbers) {
	if numbers == NumbersAsColors {
		return
	}
	distinct := map[history.Value]struct{}{}
	var last, steps float64
	r.least, r.most = math.Inf(1), math.Inf(-1)
	floats := false
	for _, run := range r.runs {
		n, ok := number(run.in.Value)
		if !ok {
			if !run.in.Value.IsNull() && run.in.Value.Kind() != history.KindFloat {
				return // an attribute has only one kind of values
			}
			continue
		}
		floats = floats || run.in.Value.Kind() == history.KindFloat
		if len(distinct) > 0 {
			steps += math.Abs(n - last)
		}
		last = n
		r.least, r.most = min(r.least, n), max(r.most, n)
		if len(distinct) <= timeColors {
			distinct[run.in.Value] = struct{}{}
		}
	}
	const smooth = 10 // the range is at least `smooth` mean steps
	r.bars = len(distinct) > 0 && (numbers == NumbersAsBars || floats ||
		len(distinct) > timeColors && steps/float64(r.states)*smooth <= r.most-r.least)
}

// number returns the number of a value that can be a bar.
func number(v history.Value) (float64, bool) {
	switch v.Kind() {
	case history.KindInt:
		return float64(v.Int()), true
	case history.KindFloat:
		f := v.Float()
		return f, !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	return 0, false
}

// bar returns the height of a value's bar, in pixels.
func (r *graphRow) bar(v history.Value) int {
	n, ok := number(v)
	if !ok || r.most <= r.least {
		return r.height() / 2
	}
	share := (n/2 - r.least/2) / (r.most/2 - r.least/2) // halves, because their difference is finite
	return 1 + int(math.Round(share*float64(r.height()-1)))
}
