package soak

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// watch has what was measured in a run, and the violations. It is safe for concurrent use.
type watch struct {
	start time.Time
	say   func(text string) // prints a violation

	mu       sync.Mutex
	points   []point
	events   []event
	times    []time.Duration // of answers, since the last point
	answers  int
	failures []string
}

// point is a measurement.
type point struct {
	at         time.Duration
	rss        int64
	heap       int64
	files      int
	goroutines int
	slowest    time.Duration // the 99th of 100 answers
}

// event is what was done to the server.
type event struct {
	at   time.Duration
	what string
}

// mostFailures bounds the violations that are kept.
const mostFailures = 100

// fail notes a violation.
func (w *watch) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprintf("%s: "+format, append([]any{time.Since(w.start).Round(time.Second)}, args...)...)
	if len(w.failures) < mostFailures {
		w.failures = append(w.failures, text)
		w.say(text)
	}
}

// took notes the time of an answer.
func (w *watch) took(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.times, w.answers = append(w.times, d), w.answers+1
}

// did notes an event.
func (w *watch) did(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, event{time.Since(w.start), what})
}

// add notes a measurement, and returns it with the time of answers since the one before.
func (w *watch) add(p point) point {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.at = time.Since(w.start)
	if n := len(w.times); n > 0 {
		slices.Sort(w.times)
		p.slowest = w.times[n*99/100]
		w.times = w.times[:0]
	}
	w.points = append(w.points, p)
	return p
}

// count returns the number of events of a kind.
func (w *watch) count(what string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.what == what {
			n++
		}
	}
	return n
}

// The size of a chart of the report.
const (
	chartWidth  = 1000
	chartHeight = 110
	chartGap    = 40
)

// draw writes the measurements over time as one SVG: a chart each, with a line for each event.
func (w *watch) draw(to io.Writer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	charts := []struct {
		title string
		of    func(point) float64
	}{
		{"resident memory, MiB", func(p point) float64 { return float64(p.rss) / (1 << 20) }},
		{"heap in use, MiB", func(p point) float64 { return float64(p.heap) / (1 << 20) }},
		{"open files", func(p point) float64 { return float64(p.files) }},
		{"goroutines", func(p point) float64 { return float64(p.goroutines) }},
		{"99 of 100 answers within, ms", func(p point) float64 { return float64(p.slowest) / 1e6 }},
	}
	var out strings.Builder
	height := len(charts)*(chartHeight+chartGap) + chartGap
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12"><rect width="100%%" height="100%%" fill="#fff"/>`+"\n", chartWidth+120, height)
	last := time.Duration(1)
	if n := len(w.points); n > 0 {
		last = max(1, w.points[n-1].at)
	}
	x := func(at time.Duration) float64 { return 60 + chartWidth*float64(at)/float64(last) }
	for i, c := range charts {
		most := 1.0
		for _, p := range w.points {
			most = max(most, c.of(p))
		}
		top := float64(chartGap + i*(chartHeight+chartGap))
		bottom := top + chartHeight
		fmt.Fprintf(&out, `<text x="60" y="%.0f">%s, at most %s</text><path d="M60 %.0fH%d" stroke="#999"/>`+"\n", top-8, c.title, number(most), bottom, chartWidth+60)
		for _, e := range w.events {
			fmt.Fprintf(&out, `<path d="M%.1f %.0fV%.0f" stroke="#e0a0a0"><title>%s: %s</title></path>`, x(e.at), top, bottom, e.at.Round(time.Second), e.what)
		}
		out.WriteString("\n" + `<path fill="none" stroke="#1a5fb4" d="`)
		for k, p := range w.points {
			letter := byte('L')
			if k == 0 {
				letter = 'M'
			}
			fmt.Fprintf(&out, "%c%.1f %.1f", letter, x(p.at), bottom-chartHeight*c.of(p)/most)
		}
		out.WriteString(`"/>` + "\n")
	}
	fmt.Fprintf(&out, `<text x="60" y="%d">%s; red lines are kills, ends and stops of the server</text></svg>`+"\n", height-12, last.Round(time.Second))
	_, err := io.WriteString(to, out.String())
	return err
}

// number returns a number in at most six characters.
func number(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	return text[:min(6, len(text))]
}
