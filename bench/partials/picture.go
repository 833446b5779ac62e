package main

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/granarydb/granary/bench/pictures"
)

// width and height are the picture's.
const width, height = 24 * vg.Centimeter, 18 * vg.Centimeter

// plots returns four plots against the distance of checkpoints, in two rows: how much smaller a part is,
// and how much longer its queries take, for the state of an attribute and for all of them at an instant,
// and its building.
func plots(sets []measured) ([][]*plot.Plot, error) {
	sizes, err := newPlot("Bytes of the whole history / of the part", "times smaller", 90_000, sets,
		func(m *measured, f figures) float64 { return float64(m.whole.bytes) / float64(f.bytes) }, 1000)
	if err != nil {
		return nil, err
	}
	all := [][]*plot.Plot{{sizes, nil}, {nil, nil}}
	if all[1][1], err = newPlot("Time to build the part / the whole", "times as long", 90, sets,
		func(m *measured, f figures) float64 { return float64(f.build) / float64(m.whole.build) }); err != nil {
		return nil, err
	}
	for i, kind := range []int{0, 1} {
		i++ // behind the sizes
		if all[i/2][i%2], err = newPlot("Time of the part / of the whole: "+kinds[kind].name, "times slower", 900_000, sets,
			func(m *measured, f figures) float64 { return f.ns[kind] / m.whole.ns[kind] }, 1.2, 1.5); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// newPlot returns a plot of each set's figure, and of the note's claim.
func newPlot(title, y string, most float64, sets []measured, of func(*measured, figures) float64, claims ...float64) (*plot.Plot, error) {
	p := logPlot(title, y, most)
	for i := range sets {
		set := &sets[i]
		line, err := set.line(pictures.Colors[i%len(pictures.Colors)], func(f figures) float64 { return of(set, f) })
		if err != nil {
			return nil, err
		}
		p.Add(line)
		p.Legend.Add(set.name, line)
	}
	var texts []string
	for i, claim := range claims {
		line, err := claimed(sets, claim)
		if err != nil {
			return nil, err
		}
		p.Add(line)
		if texts = append(texts, short(claim)); i == len(claims)-1 {
			p.Legend.Add("the note: "+strings.Join(texts, " to "), line)
		}
	}
	return p, nil
}

// line returns the line of a set's figure.
func (m *measured) line(c color.Color, y func(figures) float64) (*plotter.Line, error) {
	var points plotter.XYs
	for _, f := range m.parts {
		points = append(points, plotter.XY{X: float64(f.every), Y: y(f)})
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(1.5)}
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

// logPlot returns a plot with logarithmic axes, from below 1 up to `most`, because the legend needs room
// above the lines.
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

// Ticks implements plot.Ticker.
func (decades) Ticks(least, most float64) (ticks []plot.Tick) {
	for x := 1.0; x <= most; x *= 10 {
		if x >= least {
			ticks = append(ticks, plot.Tick{Value: x, Label: thousands(int64(x))})
		}
	}
	return ticks
}

// writePicture writes the plots, two in a row.
func writePicture(sets []measured, path string) error {
	all, err := plots(sets)
	if err != nil {
		return err
	}
	canvas := vgsvg.New(width, height)
	tiles := draw.Tiles{
		Rows: 2, Cols: 2, PadX: vg.Centimeter, PadY: vg.Centimeter,
		PadTop: vg.Points(6), PadRight: vg.Points(8), PadLeft: vg.Points(4), PadBottom: vg.Points(4),
	}
	for i, row := range plot.Align(all, tiles, draw.New(canvas)) {
		for j, c := range row {
			all[i][j].Draw(c)
		}
	}
	return pictures.Write(canvas, path)
}
