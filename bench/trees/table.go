package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/granarydb/granary/bench/results"
)

const heading = "set\tstore\tbuild M/s\tMB\tB/interval\tnodes\tdepth\trestart ms\tsingle us\tfull us\t2D ms\tone kind ms\t"

// row returns the columns of the table, of the figures of all repetitions.
func row(of []figures) string {
	f := of[0]
	mb := fmt.Sprintf("%.2f", float64(f.Bytes)/1e6)
	if f.Stopped {
		return fmt.Sprintf("-\t> %s\t-\t%d\t%d\tstopped after %d intervals\t-\t-\t-\t-", mb, f.Nodes, f.Depth, f.Intervals)
	}
	nodes := fmt.Sprintf("%d\t%d", f.Nodes, f.Depth)
	if f.Nodes == 0 {
		nodes = "-\t-"
	}
	columns := []string{
		spread(of, measured[0].of),
		mb, fmt.Sprintf("%.2f", float64(f.Bytes)/float64(f.Intervals)), nodes,
	}
	for _, column := range measured[1:] {
		columns = append(columns, spread(of, column.of))
	}
	return strings.Join(columns, "\t")
}

// measured are the figures that vary, in the order of the table.
var measured = []struct {
	key, about string
	of         func(figures) float64
}{
	{"build_m_s", "million intervals loaded a second of CPU time", func(f figures) float64 { return f.Build }},
	{"restart_ms", "CPU time to open what was built, and to ask for one state", func(f figures) float64 { return f.Restart }},
	{"single_us", "CPU time of the state of a random attribute at a random time", func(f figures) float64 { return f.Single }},
	{"full_us", "CPU time of the states of all attributes at a random time", func(f figures) float64 { return f.Full }},
	{"plane_ms", "CPU time of the states of 100 attributes at 2,000 times", func(f figures) float64 { return f.Some }},
	{"kind_ms", "CPU time of the same of all attributes of one kind", func(f figures) float64 { return f.Kind }},
}

// keys explains the figures of a report.
var keys = func() map[string]string {
	all := map[string]string{"bytes_interval": "bytes of the store by intervals"}
	for _, m := range measured {
		all[m.key] = m.about
	}
	return all
}()

// report has the figures of each store by set.
type report struct {
	Machine string                        `json:"machine"`
	Skipped string                        `json:"skipped,omitempty"`
	Keys    map[string]string             `json:"keys"`
	Sets    map[string]map[string]summary `json:"sets"`
}

// summary is the figures of a store over its repetitions.
type summary struct {
	Runs      int                       `json:"runs"`              // processes
	Stopped   bool                      `json:"stopped,omitempty"` // it was too large, after so many intervals
	Intervals int                       `json:"intervals"`
	Nodes     uint32                    `json:"nodes,omitempty"`
	Depth     uint32                    `json:"depth,omitempty"`
	Figures   map[string]results.Spread `json:"figures"`
}

func summarise(of []figures) summary {
	f := of[0]
	s := summary{Runs: len(of), Stopped: f.Stopped, Intervals: f.Intervals, Nodes: f.Nodes, Depth: f.Depth, Figures: map[string]results.Spread{}}
	s.Figures["bytes_interval"] = results.SpreadOf([]float64{float64(f.Bytes) / float64(f.Intervals)})
	if f.Stopped {
		return s
	}
	for _, m := range measured {
		values := make([]float64, len(of))
		for i, f := range of {
			values[i] = m.of(f)
		}
		s.Figures[m.key] = results.SpreadOf(values)
	}
	return s
}

// spread returns the median with three digits, and half the distance between the lowest and the
// highest figure in hundredths of it.
func spread(of []figures, figure func(figures) float64) string {
	var values []float64
	for _, f := range of {
		values = append(values, figure(f))
	}
	median := results.Median(values)
	digits := max(0, 2-int(math.Floor(math.Log10(max(median, 1e-3)))))
	text := fmt.Sprintf("%.*f", digits, median)
	if len(of) > 1 && median > 0 {
		text += fmt.Sprintf(" ±%.0f%%", 50*(slices.Max(values)-slices.Min(values))/median)
	}
	return text
}
