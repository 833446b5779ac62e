package main

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/guptarohit/asciigraph"

	"github.com/granarydb/granary/profile"
)

// textWidth is how many columns text for people has, where that can be chosen.
const textWidth = 80

// chart draws lines over time for a terminal.
type chart struct {
	lines    [][]profile.Point // each in order of time
	unit     string            // of the values, as profile.FormatValue takes it
	from, to int64             // Unix nanoseconds
	// label renders a value beside the chart, tick a time below it.
	label    func(v float64) string
	tick     func(t int64) string
	terminal bool // tell lines apart by colour
}

// The colours of lines on a terminal; those after the last one begin again.
var chartColors = []asciigraph.AnsiColor{
	asciigraph.Blue, asciigraph.Red, asciigraph.Green, asciigraph.Goldenrod, asciigraph.Purple, asciigraph.DarkCyan, asciigraph.Gray,
}

// chartLetters are what lines are drawn with where there are no colours.
const chartLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// mark returns what stands for a line in a legend; it is one column wide.
func (c *chart) mark(line int) string {
	switch {
	case c.terminal:
		return chartColors[line%len(chartColors)].String() + "■" + asciigraph.Default.String()
	case len(c.lines) == 1:
		return " "
	default:
		return chartLetters[line%len(chartLetters):][:1]
	}
}

// String returns the chart, its axes included, without a legend.
func (c *chart) String() string {
	lowest, highest := c.bounds()
	step := tickStep(max(highest, -lowest), c.unit)
	lower, upper := math.Floor(lowest/step), math.Max(1, math.Ceil(highest/step))
	labels := 0
	for i := lower; i <= upper; i++ {
		labels = max(labels, utf8.RuneCountInString(c.label(i*step)))
	}
	// Labels of values have a space before and an axis behind; the last time
	// reaches half beyond the end of its axis.
	width := textWidth - labels - 3 - (utf8.RuneCountInString(c.tick(c.to))+1)/2
	options := []asciigraph.Option{
		asciigraph.Height(int(upper - lower)), asciigraph.LowerBound(lower * step), asciigraph.UpperBound(upper * step),
		asciigraph.YAxisValueFormatter(c.label),
		asciigraph.XAxisRange(0, 1), asciigraph.XAxisTickCount(5),
		asciigraph.XAxisValueFormatter(func(share float64) string {
			return c.tick(c.from + int64(math.Round(share*float64(c.to-c.from))))
		}),
	}
	var data [][]float64
	var chars []asciigraph.CharSet
	var colors []asciigraph.AnsiColor
	for i, points := range slices.Backward(c.lines) { // the first line is drawn above the others
		data = append(data, c.columns(points, width))
		if c.terminal {
			colors = append(colors, chartColors[i%len(chartColors)])
		} else if len(c.lines) > 1 {
			chars = append(chars, asciigraph.CreateCharSet(c.mark(i)))
		}
	}
	return asciigraph.PlotMany(data, append(options, asciigraph.SeriesColors(colors...), asciigraph.SeriesChars(chars...))...) + "\n"
}

// bounds returns the least and the greatest value, and 0.
func (c *chart) bounds() (lowest, highest float64) {
	for _, points := range c.lines {
		for _, p := range points {
			lowest, highest = min(lowest, float64(p.Value)), max(highest, float64(p.Value))
		}
	}
	return lowest, highest
}

// columns returns the values of a line at width times: the mean of the points
// next to each, and between points what is on the way from one to the next. A
// gap of several times the usual distance of points stays a gap.
func (c *chart) columns(points []profile.Point, width int) []float64 {
	out := make([]float64, width)
	counts := make([]float64, width)
	at := func(t int64) int {
		if c.to <= c.from {
			return 0
		}
		return int(math.Round(float64(t-c.from) / float64(c.to-c.from) * float64(width-1)))
	}
	for _, p := range points {
		out[at(p.Time)] += float64(p.Value)
		counts[at(p.Time)]++
	}
	for i, n := range counts {
		out[i] /= n // 0/0 is not a number: none is there
	}
	gap := 4 * usualDistance(points)
	for i := 1; i < len(points); i++ {
		lo, hi := at(points[i-1].Time), at(points[i].Time)
		if points[i].Time-points[i-1].Time > gap {
			continue
		}
		for k := lo + 1; k < hi; k++ {
			out[k] = out[lo] + (out[hi]-out[lo])*float64(k-lo)/float64(hi-lo)
		}
	}
	return out
}

// usualDistance returns the median of the times from one point to the next.
func usualDistance(points []profile.Point) int64 {
	var distances []int64
	for i := 1; i < len(points); i++ {
		distances = append(distances, points[i].Time-points[i-1].Time)
	}
	if len(distances) == 0 {
		return 0
	}
	slices.Sort(distances)
	return distances[len(distances)/2]
}

// tickStep returns a round number of unit of which about a dozen make greatest.
func tickStep(greatest float64, unit string) float64 {
	const rows = 12
	if greatest <= 0 {
		return 1
	}
	ladder, base := []float64{1}, 1.0
	switch unit {
	case "bytes":
		return max(1, math.Exp2(math.Ceil(math.Log2(greatest/rows))))
	case "nanoseconds", "microseconds", "milliseconds", "seconds":
		ladder = []float64{1, 1e3, 1e6, 1e9, 60e9, 3600e9}
		base = map[string]float64{"nanoseconds": 1, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9}[unit]
	}
	scale := 1.0
	for _, s := range ladder {
		if s <= greatest*base {
			scale = s
		}
	}
	want := greatest * base / scale / rows
	power := math.Pow(10, math.Floor(math.Log10(want)))
	step := 10 * power
	for _, round := range []float64{5, 2.5, 2, 1} {
		if round*power >= want {
			step = round * power
		}
	}
	return max(1, step*scale/base) // values are whole numbers of unit
}

// valueLabel returns how to print the values of a unit.
func valueLabel(unit string) func(float64) string {
	return func(v float64) string {
		n := int64(math.MaxInt64) // what a float of it rounds up to
		if v < math.MaxInt64 {
			n = int64(math.Round(v))
		}
		return profile.FormatValue(n, unit)
	}
}

// timeTick returns how to print the times of an axis from one time to another.
func timeTick(from, to int64) func(int64) string {
	layout := "2006-01-02"
	switch span := time.Duration(to - from); {
	case span < 10*time.Second:
		layout = "15:04:05.0"
	case span < 10*time.Minute:
		layout = "15:04:05"
	case span < 24*time.Hour:
		layout = "15:04"
	case span < 14*24*time.Hour:
		layout = "Jan _2 15:04"
	}
	return func(t int64) string { return strings.Join(strings.Fields(time.Unix(0, t).UTC().Format(layout)), " ") }
}
