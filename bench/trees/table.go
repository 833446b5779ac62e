package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/granarydb/granary/bench/results"
)

// measured are the figures, in the order of the table.
var measured = []struct{ key, about string }{
	{"bytes_interval", "bytes of the store by intervals"},
	{"build_m_s", "million intervals loaded a second of CPU time"},
	{"restart_ms", "CPU time to open what was built, and to ask for one state"},
	{"single_us", "CPU time of the state of a random attribute at a random time"},
	{"full_us", "CPU time of the states of all attributes at a random time"},
	{"plane_ms", "CPU time of the states of 100 attributes at 2,000 times"},
	{"kind_ms", "CPU time of the same of all attributes of one kind"},
	{"single_nodes", "nodes of a tree that the first of these questions looks at"},
	{"full_nodes", "of the second"},
	{"plane_nodes", "of the third"},
	{"kind_nodes", "of the fourth"},
}

// heading returns the heading of the table.
func heading() string {
	columns := []string{"set", "store", "intervals", "nodes", "depth"}
	for _, m := range measured {
		columns = append(columns, m.key)
	}
	return strings.Join(columns, "\t") + "\t"
}

// report has the figures of each store, by set.
type report struct {
	Machine string                        `json:"machine"`
	Skipped string                        `json:"skipped,omitempty"`
	Keys    map[string]string             `json:"keys"`
	Sets    map[string]map[string]summary `json:"sets"`
}

// summary is the figures of a store over its repetitions.
type summary struct {
	shape
	Runs    int                       `json:"runs"` // processes
	Figures map[string]results.Spread `json:"figures"`
}

func summarise(of []figures) summary {
	f := of[0]
	s := summary{shape: f.shape, Runs: len(of)}
	s.Figures = map[string]results.Spread{"bytes_interval": results.SpreadOf([]float64{float64(f.Bytes) / float64(f.Intervals)})}
	for key := range f.Values {
		var all []float64
		for _, f := range of {
			all = append(all, f.Values[key])
		}
		s.Figures[key] = results.SpreadOf(all)
	}
	return s
}

// row returns the columns of the table.
func (s summary) row() string {
	columns := []string{fmt.Sprintf("%d\t%d\t%d", s.Intervals, s.Nodes, s.Depth)}
	if s.Stopped {
		columns[0] = "stopped after " + columns[0]
	}
	for _, m := range measured {
		columns = append(columns, s.spread(m.key))
	}
	return strings.Join(columns, "\t") + "\t"
}

// spread formats the median with three digits, and half the distance between the lowest and the highest
// figure in percent of the median.
func (s summary) spread(key string) string {
	f, has := s.Figures[key]
	if !has {
		return "-"
	}
	digits := max(0, 2-int(math.Floor(math.Log10(max(f.Median, 1e-3)))))
	text := fmt.Sprintf("%.*f", digits, f.Median)
	if half := 50 * (f.High - f.Low); half > 0 {
		text += fmt.Sprintf(" ±%.0f%%", half/f.Median)
	}
	return text
}
