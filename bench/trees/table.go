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
		spread(of, func(f figures) float64 { return f.Build }),
		mb, fmt.Sprintf("%.2f", float64(f.Bytes)/float64(f.Intervals)), nodes,
	}
	for _, figure := range []func(figures) float64{
		func(f figures) float64 { return f.Restart },
		func(f figures) float64 { return f.Single },
		func(f figures) float64 { return f.Full },
		func(f figures) float64 { return f.Some },
		func(f figures) float64 { return f.Kind },
	} {
		columns = append(columns, spread(of, figure))
	}
	return strings.Join(columns, "\t")
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
