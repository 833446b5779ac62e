package main

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/granarydb/granary/bench/pictures"
)

// width and height are those of the picture.
const width, height = 24 * vg.Centimeter, 9.5 * vg.Centimeter

// drawn are the kinds of questions in the picture, by their dashes.
var drawn = []struct {
	kind   int
	dashes []vg.Length
}{{0, nil}, {1, []vg.Length{vg.Points(5), vg.Points(2)}}}

// plots returns two plots against the distance of checkpoints: how much smaller a part is, and how much longer its
// questions take.
func plots(sets []measured) (sizes, times *plot.Plot, err error) {
	sizes = logPlot("Bytes of the whole history / of the part", "times smaller", 90_000)
	times = logPlot("Time of a question of the part / of the whole", "times slower", 900_000)
	for i, set := range sets {
		c := pictures.Colors[i%len(pictures.Colors)]
		line, err := set.line(c, nil, func(f figures) float64 { return float64(set.whole.bytes) / float64(f.bytes) })
		if err != nil {
			return nil, nil, err
		}
		sizes.Add(line)
		sizes.Legend.Add(set.name, line)
		for _, d := range drawn {
			line, err := set.line(c, d.dashes, func(f figures) float64 { return f.ns[d.kind] / set.whole.ns[d.kind] })
			if err != nil {
				return nil, nil, err
			}
			times.Add(line)
			if i == len(sets)-1 {
				times.Legend.Add(kinds[d.kind].name, line)
			}
		}
	}
	for _, claim := range []struct {
		p    *plot.Plot
		y    float64
		name string
	}{{sizes, 1000, "the note: 1,000"}, {times, 1.2, ""}, {times, 1.5, "the note: 1.2 to 1.5"}} {
		line, err := claimed(sets, claim.y)
		if err != nil {
			return nil, nil, err
		}
		claim.p.Add(line)
		if claim.name != "" {
			claim.p.Legend.Add(claim.name, line)
		}
	}
	return sizes, times, nil
}

// line returns the line of a figure of a set.
func (m *measured) line(c color.Color, dashes []vg.Length, y func(figures) float64) (*plotter.Line, error) {
	var points plotter.XYs
	for _, f := range m.parts {
		points = append(points, plotter.XY{X: float64(f.every), Y: y(f)})
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(1.5), Dashes: dashes}
	return line, nil
}

// claimed returns a level line over all distances.
func claimed(sets []measured, y float64) (*plotter.Line, error) {
	parts := sets[0].parts
	line, err := plotter.NewLine(plotter.XYs{{X: float64(parts[0].every), Y: y}, {X: float64(parts[len(parts)-1].every), Y: y}})
	if err != nil {
		return nil, err
	}
	line.LineStyle = draw.LineStyle{Color: color.Gray{128}, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}
	return line, nil
}

// logPlot returns a plot with logarithmic axes, from below 1 up to most: the legend has room above the lines.
func logPlot(title, y string, most float64) *plot.Plot {
	p := pictures.New(title)
	p.X.Label.Text, p.Y.Label.Text = "events between two checkpoints", y
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
	p.Y.Min, p.Y.Max = 0.7, most
	p.X.Label.TextStyle.Font.Size, p.Y.Label.TextStyle.Font.Size = 10, 10
	p.Legend.TextStyle.Font.Size, p.Legend.ThumbnailWidth = 8, vg.Points(18)
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	return p
}

// decades are ticks at powers of ten.
type decades struct{}

// Ticks is of plot.Ticker.
func (decades) Ticks(least, most float64) (ticks []plot.Tick) {
	for x := 1.0; x <= most; x *= 10 {
		if x >= least {
			ticks = append(ticks, plot.Tick{Value: x, Label: thousands(int64(x))})
		}
	}
	return ticks
}

// writePicture writes both plots, side by side.
func writePicture(sets []measured, path string) error {
	sizes, times, err := plots(sets)
	if err != nil {
		return err
	}
	canvas := vgsvg.New(width, height)
	tiles := draw.Tiles{Rows: 1, Cols: 2, PadX: vg.Centimeter, PadTop: vg.Points(6), PadRight: vg.Points(8), PadLeft: vg.Points(4), PadBottom: vg.Points(4)}
	both := [][]*plot.Plot{{sizes, times}}
	for i, c := range plot.Align(both, tiles, draw.New(canvas))[0] {
		both[0][i].Draw(c)
	}
	return pictures.Write(canvas, path)
}
