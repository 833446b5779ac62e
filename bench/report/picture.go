package main

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/granarydb/granary/bench/pictures"
)

// drawRatios draws how many times better each target is than its peer, best first.
func drawRatios(rows []row, path string) error {
	var named []row
	for _, r := range rows {
		if r.Ratio != nil {
			named = append(named, r)
		}
	}
	slices.SortStableFunc(named, func(a, b row) int {
		return cmp.Compare(*a.Ratio, *b.Ratio)
	})
	p := pictures.New("Times better than its peer")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	var names []string
	var points plotter.XYs
	for i, r := range named {
		points = append(points, plotter.XY{X: *r.Ratio, Y: float64(i)})
		names = append(names, r.Key+", beside "+r.Store)
	}
	if len(points) == 0 {
		return fmt.Errorf("%s: no target has a peer", path)
	}
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: pictures.Colors[0], Radius: vg.Points(3.5), Shape: draw.CircleGlyph{}}
	even, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -1}, {X: 1, Y: float64(len(points))}})
	if err != nil {
		return err
	}
	even.LineStyle = draw.LineStyle{Color: color.Gray{96}, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(3), vg.Points(2)}}
	p.Add(plotter.NewGrid(), even, dots)
	p.NominalY(names...)
	p.X.Min = min(0.5, p.X.Min)
	return save(p, 22*vg.Centimeter, vg.Length(len(points)+5)*0.55*vg.Centimeter, path)
}

// drawn are the figures of interval stores in the picture.
var drawn = []struct{ key, title string }{
	{"bytes_interval", "bytes an interval"},
	{"single_us", "a state, us"},
	{"full_us", "all states, us"},
	{"plane_ms", "100 attributes at 2,000 times, ms"},
}

// draw draws the figures of each store by set.
func (t *intervals) draw(path string) error {
	sets := slices.Sorted(maps.Keys(t.Sets))
	stores := map[string]bool{}
	for _, of := range t.Sets {
		for name := range of {
			stores[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(stores))
	var plots []*plot.Plot
	for i, d := range drawn {
		p := pictures.New(d.title)
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		p.Add(plotter.NewGrid())
		for j, name := range names {
			var points plotter.XYs
			for x, set := range sets {
				if f, ok := t.Sets[set][name].Figures[d.key]; ok && f.Median > 0 {
					points = append(points, plotter.XY{X: float64(x), Y: f.Median})
				}
			}
			if len(points) == 0 {
				continue
			}
			dots, err := plotter.NewScatter(points)
			if err != nil {
				return err
			}
			shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}}
			dots.GlyphStyle = draw.GlyphStyle{Color: pictures.Colors[j%len(pictures.Colors)], Radius: vg.Points(3), Shape: shapes[j/len(pictures.Colors)%len(shapes)]}
			p.Add(dots)
			if i == 0 {
				p.Legend.Add(name, dots)
			}
		}
		p.NominalX(sets...)
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.Font.Size = 0.6, draw.XRight, 8
		plots = append(plots, p)
	}
	legend := plots[0].Legend
	plots[0].Legend = plot.NewLegend()
	return saveAll(plots, legend, path)
}

// save writes a plot.
func save(p *plot.Plot, width, height vg.Length, path string) error {
	canvas := vgsvg.New(width, height)
	p.Draw(draw.New(canvas))
	return pictures.Write(canvas, path)
}

// saveAll writes four plots in a square, and their common legend on the right.
func saveAll(plots []*plot.Plot, legend plot.Legend, path string) error {
	const width, height, right = 30 * vg.Centimeter, 20 * vg.Centimeter, 3 * vg.Centimeter
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	tiles := draw.Tiles{Rows: 2, Cols: 2, PadX: vg.Centimeter, PadY: vg.Centimeter, PadTop: vg.Points(6), PadBottom: vg.Points(4)}
	rows := [][]*plot.Plot{plots[:2], plots[2:]}
	for i, line := range plot.Align(rows, tiles, draw.Crop(all, 0, -right, 0, 0)) {
		for j, c := range line {
			rows[i][j].Draw(c)
		}
	}
	legend.Top, legend.TextStyle.Font.Size = true, 9
	legend.Draw(draw.Crop(all, width-right, 0, 0, -vg.Centimeter))
	return pictures.Write(canvas, path)
}

// bounded widens a logarithmic axis with no points, or with points of only one value, because its range would
// be empty.
func bounded(of *plot.Axis) {
	switch {
	case of.Min > of.Max || of.Min <= 0:
		of.Min, of.Max = 1, 10
	case of.Min == of.Max:
		of.Min, of.Max = of.Min/2, of.Max*2
	}
}

// addLine adds the line of a store, unless it has no point.
func addLine(p *plot.Plot, name string, i int, points plotter.XYs) error {
	if len(points) == 0 {
		return nil
	}
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	c := pictures.Colors[i%len(pictures.Colors)]
	line.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(1.2)}
	if i >= len(pictures.Colors) {
		line.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	p.Add(line, dots)
	p.Legend.Add(name, line, dots)
	return nil
}
