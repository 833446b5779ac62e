package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/clitest"
	"github.com/granarydb/granary/profile"
)

// epoch is the time of the first profile of a test.
var epoch = time.Unix(1_700_000_000, 0)

// A chart of any values and times is drawn within the width.
func TestChart(t *testing.T) {
	units := []string{"", "count", "bytes", "nanoseconds", "seconds", "things"}
	for _, values := range [][]int64{
		{1, 2},
		{0, 0},
		{-5, -7},
		{-1, 1},
		{math.MaxInt64, 1},
		{math.MinInt64, math.MaxInt64},
		{math.MinInt64, math.MinInt64},
		{59_999_999_999, 60_000_000_001},
		{1023, 1025},
		{7, 7, 7, 7},
	} {
		for _, unit := range units {
			for _, span := range []int64{1, 1e9, 60e9, 3600e9, 86400e9, 40 * 86400e9} {
				c := Chart{Unit: unit, Label: ValueLabel(unit), From: 1e18, To: 1e18 + span, Tick: TimeTick(1e18, 1e18+span)}
				for i := range 3 {
					var points []profile.Point
					for k, v := range values[i%2:] {
						points = append(points, profile.Point{Time: c.From + span*int64(k)/int64(len(values)), Value: v})
					}
					c.Lines = append(c.Lines, points)
				}
				for _, c.Width = range []int{cli.MinWidth, 2 * cli.MinWidth, cli.TextWidth} {
					for line := range strings.Lines(c.String()) {
						if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > c.Width && (c.Width > cli.MinWidth || len(c.Label(float64(values[0]))) < cli.MinWidth/2) {
							t.Fatalf("%v %s for %v: a line of %d in a chart of %d:\n%s", values, unit, time.Duration(span), n, c.Width, c.String())
						}
					}
				}
				text := c.String()
				clitest.CheckWidth(t, fmt.Sprintf("%v %s for %v", values, unit, time.Duration(span)), text)
				if n := strings.Count(text, "\n"); n < 3 || n > 30 {
					t.Errorf("%v %s: a chart of %d lines\n%s", values, unit, n, text)
				}
			}
		}
	}
}

// The times of an axis differ, however short it is.
func TestTimeTicks(t *testing.T) {
	for _, span := range []time.Duration{40 * time.Millisecond, time.Second, 40 * time.Second, time.Hour, 24 * time.Hour, 60 * 24 * time.Hour} {
		from := epoch.UnixNano()
		tick := TimeTick(from, from+int64(span))
		if first, next := tick(from), tick(from+int64(span)/4); first == next {
			t.Errorf("%v: %s twice", span, first)
		}
	}
}

// Points are joined, except over a gap.
func TestChartGap(t *testing.T) {
	var points []profile.Point
	for _, k := range []int64{0, 1, 2, 3, 10, 11, 12} {
		points = append(points, profile.Point{Time: k, Value: k})
	}
	c := Chart{From: 0, To: 12}
	got := ""
	for _, v := range c.columns(points, 25) {
		if math.IsNaN(v) {
			got += "- "
		} else {
			got += fmt.Sprint(v, " ")
		}
	}
	if want := "0 0.5 1 1.5 2 2.5 3 " + strings.Repeat("- ", 13) + "10 10.5 11 11.5 12 "; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := c.columns(points, 2); got[0] != 1.5 || got[1] != 11 {
		t.Errorf("in two columns: %v", got)
	}
}

// On a terminal, a line and its mark in the legend have the same colour.
func TestChartColours(t *testing.T) {
	c := Chart{
		Lines: [][]profile.Point{{{Time: 0, Value: 1}, {Time: 9, Value: 1}}, {{Time: 0, Value: 5}, {Time: 9, Value: 5}}},
		From:  0, To: 9, Label: ValueLabel(""), Tick: func(int64) string { return "" }, Terminal: true,
	}
	text := c.String()
	for i := range c.Lines {
		colour, _, _ := strings.Cut(c.Mark(i), "■")
		if !strings.HasPrefix(colour, "\x1b[") || !strings.Contains(text, colour) {
			t.Errorf("line %d is not %q:\n%q", i, colour, text)
		}
	}
}

// More lines than colours have letters on a terminal.
func TestMarks(t *testing.T) {
	c := Chart{Terminal: true}
	marks := map[string]bool{}
	for range len(chartColors) * 3 {
		c.Lines = append(c.Lines, nil)
	}
	for i := range c.Lines {
		marks[c.Mark(i)] = true
	}
	if len(marks) != len(c.Lines) || !strings.Contains(c.Mark(8), "i") {
		t.Errorf("%d marks of %d lines", len(marks), len(c.Lines))
	}
}

// Times of an axis are those of the machine.
func TestTicksAreLocal(t *testing.T) {
	old := time.Local
	t.Cleanup(func() { time.Local = old })
	time.Local = time.FixedZone("CET", 3600)
	if got, want := TimeTick(0, int64(time.Hour))(0), "01:00"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
