package main

import (
	"fmt"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/granarydb/granary/bench/pictures"
)

// The picture has a plot for each figure, in columns.
const (
	columns    = 4
	plotWidth  = 7 * vg.Centimeter
	plotHeight = 4.5 * vg.Centimeter
)

// drawSeries draws each figure over the lines of a series.
func drawSeries(series []line, name string) error {
	if len(series) == 0 {
		return fmt.Errorf("%s: the series has no line yet", name)
	}
	rows := (len(tracked) + columns - 1) / columns
	canvas := vgsvg.New(columns*plotWidth, vg.Length(rows)*plotHeight)
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: vg.Millimeter, PadY: vg.Millimeter}
	for i, t := range tracked {
		p, err := plotOf(series, t.name)
		if err != nil {
			return err
		}
		p.Draw(tiles.At(draw.New(canvas), i%columns, i/columns))
	}
	return pictures.Write(canvas, name)
}

// runTicks returns marks at runs, about ten.
func runTicks(runs int) (ticks plot.ConstantTicks) {
	for i, each := 1, (runs+9)/10; i <= runs; i += each {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: strconv.Itoa(i)})
	}
	return ticks
}

// plotOf returns the plot of a figure: the ratios of the medians as a line, and of the best runs as dots.
func plotOf(series []line, name string) (*plot.Plot, error) {
	var medians, bests plotter.XYs
	for i, l := range series {
		if f, ok := l.Figures[name]; ok {
			medians, bests = append(medians, plotter.XY{X: float64(i + 1), Y: f.Ratio}), append(bests, plotter.XY{X: float64(i + 1), Y: f.Best})
		}
	}
	p := pictures.New(name)
	p.Y.Min, p.X.Min, p.X.Max, p.X.Tick.Marker = 0, 0.5, float64(len(series))+0.5, runTicks(len(series))
	p.Add(plotter.NewGrid())
	if len(medians) == 0 {
		return p, nil
	}
	run, err := plotter.NewLine(medians)
	if err != nil {
		return nil, err
	}
	run.Color, run.Width = pictures.Colors[0], vg.Points(1.5)
	dots, err := plotter.NewScatter(bests)
	if err != nil {
		return nil, err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: pictures.Colors[1], Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	p.Add(run, dots)
	p.Y.Min = 0
	return p, nil
}
