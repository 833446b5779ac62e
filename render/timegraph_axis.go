package render

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/timetext"
)

// drawAxis draws the time labels above and below the rows, and a vertical line through the rows at each.
func (g *timeGraph) drawAxis(top, rows int) {
	width := g.edges[len(g.edges)-1]
	start := uint64(g.view.Start())
	from, to := uint64(g.from)-start, uint64(g.to)-start
	step := tickStep(from, to, width)
	end := -g.labels // end of the last label
	fmt.Fprintf(&g.out, "<g class=\"axis\" transform=\"translate(%d %d)\">\n", g.left(), top)
	for at := (from + step - 1) / step * step; at >= from && at <= to; at += step {
		x := place(at-from, to-from, width)
		label := "+" + timetext.Text(at)
		middle, class := x, ""
		half := int(float64(len(label)) * timeTick / 2)
		switch {
		case x+g.labels < half:
			continue
		case x+half > width:
			middle, class = width, ` class="last"`
			if width-2*half < end+timePad {
				label = "" // the previous label is too near
			}
		}
		end = x + half
		fmt.Fprintf(&g.out, "<path d=\"M%d.5 -3V%d\"/><text x=\"%d\" y=\"-5\"%s>%s</text><text x=\"%[3]d\" y=\"%[6]d\"%[4]s>%[5]s</text>\n",
			x, rows, middle, class, label, rows+12)
		if at+step < at {
			break
		}
	}
	g.out.WriteString("</g>\n")
}

// place returns the pixel of an offset, if width pixels cover the offsets 0 to whole.
func place(offset, whole uint64, width int) int {
	hi, lo := bits.Mul64(offset, uint64(width))
	if whole == math.MaxUint64 {
		return int(hi)
	}
	at, _ := bits.Div64(hi, lo, whole+1)
	return int(at)
}

// tickStep returns the least round number of nanoseconds between ticks that leaves room
// for their labels.
func tickStep(from, to uint64, width int) uint64 {
	for _, step := range tickSteps {
		longest := max(len(timetext.Text(from/step*step)), len(timetext.Text(to/step*step))) + 4
		if room := float64(width) / timeTick / float64(longest); float64(to-from)/float64(step) <= room {
			return step
		}
	}
	return 1 << 62
}

// tickSteps are the distances between ticks: 1, 2 and 5 times each power of ten up to ten seconds, then the
// divisions of a clock up to 12 hours, then 1, 2 and 5 times each power of ten of days.
var tickSteps = func() []uint64 {
	var steps []uint64
	for unit := uint64(1); unit < 1e10; unit *= 10 {
		steps = append(steps, unit, 2*unit, 5*unit)
	}
	for _, d := range []time.Duration{
		10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 20 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		steps = append(steps, uint64(d))
	}
	const day = uint64(24 * time.Hour)
	for unit := day; unit < 1<<62/10; unit *= 10 {
		steps = append(steps, unit, 2*unit, 5*unit)
	}
	return steps
}()

// roundly formats a number of nanoseconds rounded to three significant digits.
func roundly(nanos uint64) string {
	unit := uint64(1)
	for nanos/unit >= 1000 {
		unit *= 10
	}
	return timetext.Text((nanos + unit/2) / unit * unit)
}

// offset formats an instant as its distance from the history's start.
func (g *timeGraph) offset(t int64) string {
	return "+" + timetext.Text(uint64(t)-uint64(g.view.Start()))
}

// when formats an interval as its offset and length, such as "+1s for 20ms".
func (g *timeGraph) when(in history.Interval) string {
	text := fmt.Sprintf("%s for %s", g.offset(in.Start), timetext.Text(uint64(in.End)-uint64(in.Start)+1))
	if in.Open {
		text += ", and on"
	}
	return text
}

// utc formats an instant as date and time of day.
func utc(t int64) string {
	return time.Unix(0, t).UTC().Format("2006-01-02 15:04:05.999999999") + " UTC"
}
