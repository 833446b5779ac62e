package chart

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/guptarohit/asciigraph"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/profile"
)

// Chart draws lines over time for a terminal.
type Chart struct {
	Lines    [][]profile.Point // each in order of time
	Unit     string            // unit of the values, as for profile.FormatValue
	From, To int64             // Unix nanoseconds
	// Label formats a value beside the chart. Tick formats a time below it.
	Label    func(v float64) string
	Tick     func(t int64) string
	Terminal bool // distinguish lines by colour
	Width    int  // in columns, 0 for cli.TextWidth
}

// chartColors are the colours of lines on a terminal, close to the palette of Okabe and Ito, which
// colour-blind people can distinguish. If there are more lines than colours, letters distinguish them too.
var chartColors = []asciigraph.AnsiColor{
	asciigraph.DodgerBlue, asciigraph.DarkOrange, asciigraph.CadetBlue, asciigraph.HotPink, asciigraph.Gold, asciigraph.LightSkyBlue, asciigraph.Gray,
}

// chartLetters are the characters that draw lines without colours.
const chartLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// Mark returns the symbol of a line in the legend. It is one column wide.
func (c *Chart) Mark(line int) string {
	letter := chartLetters[line%len(chartLetters):][:1]
	if c.Terminal {
		if !c.lettered() {
			letter = "■"
		}
		return chartColors[line%len(chartColors)].String() + letter + asciigraph.Default.String()
	}
	if len(c.Lines) == 1 {
		return " "
	}
	return letter
}

// lettered reports whether letters draw the lines.
func (c *Chart) lettered() bool {
	if c.Terminal {
		return len(c.Lines) > len(chartColors)
	}
	return len(c.Lines) > 1
}

// leastColumns is the least width of the area with the lines. If the labels are long, a narrow chart is
// therefore wider than its Width.
const leastColumns = 4

// String returns the chart with its axes, without a legend.
func (c *Chart) String() string {
	lowest, highest := c.bounds()
	step := tickStep(max(highest, -lowest), c.Unit)
	lower, upper := math.Floor(lowest/step), math.Max(1, math.Ceil(highest/step))
	labels := 0
	for i := lower; i <= upper; i++ {
		labels = max(labels, utf8.RuneCountInString(c.Label(i*step)))
	}
	// A label is preceded by a space and followed by the axis. Half of the last tick extends beyond the end
	// of the time axis.
	width := max(leastColumns, cmp.Or(c.Width, cli.TextWidth)-labels-3-(utf8.RuneCountInString(c.Tick(c.To))+1)/2)
	options := []asciigraph.Option{
		asciigraph.Height(int(upper - lower)), asciigraph.LowerBound(lower * step), asciigraph.UpperBound(upper * step),
		asciigraph.YAxisValueFormatter(c.Label),
		asciigraph.XAxisRange(0, 1), asciigraph.XAxisTickCount(5),
		asciigraph.XAxisValueFormatter(func(share float64) string {
			return c.Tick(c.From + int64(math.Round(share*float64(c.To-c.From))))
		}),
	}
	var data [][]float64
	var chars []asciigraph.CharSet
	var colors []asciigraph.AnsiColor
	for i, points := range slices.Backward(c.Lines) { // the first line is drawn above the others
		data = append(data, c.columns(points, width))
		if c.Terminal {
			colors = append(colors, chartColors[i%len(chartColors)])
		}
		if c.lettered() {
			chars = append(chars, asciigraph.CreateCharSet(chartLetters[i%len(chartLetters):][:1]))
		}
	}
	return asciigraph.PlotMany(data, append(options, asciigraph.SeriesColors(colors...), asciigraph.SeriesChars(chars...))...) + "\n"
}

// bounds returns the bounds of the smallest range that includes all values and 0.
func (c *Chart) bounds() (lowest, highest float64) {
	for _, points := range c.Lines {
		for _, p := range points {
			lowest, highest = min(lowest, float64(p.Value)), max(highest, float64(p.Value))
		}
	}
	return lowest, highest
}

// columns returns the values of a line at `width` evenly spaced times. A column with points has their mean; a
// column between points has a linear interpolation. A gap of more than four times the usual distance between
// points stays empty.
func (c *Chart) columns(points []profile.Point, width int) []float64 {
	out := make([]float64, width)
	counts := make([]float64, width)
	at := func(t int64) int {
		if c.To <= c.From {
			return 0
		}
		return int(math.Round(float64(t-c.From) / float64(c.To-c.From) * float64(width-1)))
	}
	for _, p := range points {
		out[at(p.Time)] += float64(p.Value)
		counts[at(p.Time)]++
	}
	for i, n := range counts {
		out[i] /= n // 0/0 is NaN, which draws nothing
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

// usualDistance returns the median of the distances between neighbouring points.
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

// tickStep returns a round number of the unit, about a twelfth of greatest.
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

// ValueLabel returns a function that formats values of a unit.
func ValueLabel(unit string) func(float64) string {
	return func(v float64) string {
		n := int64(math.MaxInt64) // a float64 rounds it up to 1<<63
		if v < math.MaxInt64 {
			n = int64(math.Round(v))
		}
		return profile.FormatValue(n, unit)
	}
}

// TimeTick returns a function that formats times on an axis with the given bounds, in the local zone.
func TimeTick(from, to int64) func(int64) string {
	layout := "2006-01-02"
	switch span := time.Duration(to - from); {
	case span < time.Second:
		layout = "15:04:05.000"
	case span < 10*time.Second:
		layout = "15:04:05.0"
	case span < 10*time.Minute:
		layout = "15:04:05"
	case span < 24*time.Hour:
		layout = "15:04"
	case span < 14*24*time.Hour:
		layout = "Jan _2 15:04"
	}
	return func(t int64) string { return strings.Join(strings.Fields(time.Unix(0, t).Format(layout)), " ") }
}
