package main

import (
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/granarydb/granary/bench/pictures"
)

// grown are the figures of profile stores whose growth is shown. The first four are per row.
var grown = []struct{ key, title string }{
	{"all_in_ns_per_row", "insert, ns a row"},
	{"heap_settled_bytes_per_row", "heap, bytes a row"},
	{"query_ms.merge-all", "merge everything, ms"},
	{"query_ms.select-pod", "rows of one pod, ms"},
}

// growth draws how figures change with ten times the rows.
func (p *page) growth() {
	p.line("")
	p.line("### Growth")
	p.line("")
	p.line("The same with a tenth of the rows: bytes and times a row fall where stacks are kept once. The answers to the fewer rows are compared with an")
	p.line("oracle, which looks at every row for each question.")
	p.command("small")
	p.line("")
	p.line("![Growth of stores of profiles](docs/pictures/bench-growth.svg)")
}

// drawGrowth draws figures against the number of rows.
func (all *reports) drawGrowth(path string) error {
	var plots []*plot.Plot
	var legend plot.Legend
	for i, g := range grown {
		p := pictures.New(g.title)
		p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
		p.X.Label.Text = "rows"
		p.Add(plotter.NewGrid())
		for j, name := range slices.Sorted(maps.Keys(all.Peers.Peers)) {
			var points plotter.XYs
			for _, c := range []*comparison{&all.Small, &all.Peers} {
				if y := c.Peers[name].Median[g.key]; y > 0 && c.Workload.Rows > 0 {
					points = append(points, plotter.XY{X: float64(c.Workload.Rows), Y: y})
				}
			}
			if err := addLine(p, name, j, points); err != nil {
				return err
			}
		}
		bounded(&p.X)
		bounded(&p.Y)
		if i == 0 {
			legend = p.Legend
		}
		p.Legend = plot.NewLegend()
		plots = append(plots, p)
	}
	return saveAll(plots, legend, path)
}
