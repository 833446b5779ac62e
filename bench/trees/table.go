package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/granarydb/granary/bench/results"
)

const heading = "set\tstore\tMB\tB/interval\tnodes\tdepth\tbuild M/s\trestart ms\tsingle us\tfull us\t2D ms\tone kind ms\tsingle nodes\tfull nodes\t2D nodes\t"

// measured are the figures that vary. The table has the first of them, in this order.
var measured = []struct{ key, about string }{
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

const inTable = 9

// keys explains the figures of a report.
var keys = func() map[string]string {
	all := map[string]string{"bytes_interval": "bytes of the store by intervals"}
	for _, m := range measured {
		all[m.key] = m.about
	}
	return all
}()

// row returns the columns of the table, of the figures of all repetitions.
func row(of []figures) string {
	f := of[0]
	mb := fmt.Sprintf("%.2f", float64(f.Bytes)/1e6)
	if f.Stopped {
		return fmt.Sprintf("> %s\t-\t%d\t%d\tstopped after %d intervals%s", mb, f.Nodes, f.Depth, f.Intervals, strings.Repeat("\t-", inTable-1))
	}
	columns := []string{mb, fmt.Sprintf("%.2f", float64(f.Bytes)/float64(f.Intervals)), "-\t-"}
	if f.Nodes > 0 {
		columns[2] = fmt.Sprintf("%d\t%d", f.Nodes, f.Depth)
	}
	for _, m := range measured[:inTable] {
		columns = append(columns, spread(of, m.key))
	}
	return strings.Join(columns, "\t")
}

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
	Ranges    []int                     `json:"ranges,omitempty"` // nodes by the share of the keys that they span, in tenths
	Figures   map[string]results.Spread `json:"figures"`
}

func summarise(of []figures) summary {
	f := of[0]
	s := summary{Runs: len(of), Stopped: f.Stopped, Intervals: f.Intervals, Nodes: f.Nodes, Depth: f.Depth, Ranges: f.Ranges}
	s.Figures = map[string]results.Spread{"bytes_interval": results.SpreadOf([]float64{float64(f.Bytes) / float64(f.Intervals)})}
	for key := range f.Values {
		s.Figures[key] = results.SpreadOf(values(of, key))
	}
	return s
}

func values(of []figures, key string) (all []float64) {
	for _, f := range of {
		all = append(all, f.Values[key])
	}
	return all
}

// spread returns the median with three digits, and half the distance between the lowest and the
// highest figure in hundredths of it.
func spread(of []figures, key string) string {
	if _, has := of[0].Values[key]; !has {
		return "-"
	}
	all := values(of, key)
	median := results.Median(all)
	digits := max(0, 2-int(math.Floor(math.Log10(max(median, 1e-3)))))
	text := fmt.Sprintf("%.*f", digits, median)
	if half := 50 * (slices.Max(all) - slices.Min(all)); len(all) > 1 && half > 0 {
		text += fmt.Sprintf(" ±%.0f%%", half/median)
	}
	return text
}
