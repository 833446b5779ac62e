package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/granarydb/granary/bench/pictures"
)

// paperFigure describes a figure of the papers that is drawn again: a figure of some stores on some sets
// against an axis.
type paperFigure struct {
	file, title, x string
	sets, stores   []string
	of             func(treeFigures) float64
	// point returns the line to which a figure belongs, and its place on the axis.
	point func(set, store string) (line string, x float64)
}

// ofSet returns a synthetic set's numbers of attributes and of changes per attribute.
func ofSet(set string) (attributes, changes float64) {
	if _, err := fmt.Sscanf(set, "synth:%f:%f", &attributes, &changes); err != nil {
		return 0, 0
	}
	return attributes, changes
}

func byAttributes(set, store string) (string, float64) {
	attributes, _ := ofSet(set)
	return store, attributes
}

func byIntervals(set, store string) (string, float64) {
	attributes, changes := ofSet(set)
	return store, attributes * (changes + 1)
}

// byBlock returns a line for each tree, with the block size on the axis.
func byBlock(_, store string) (line string, kib float64) {
	line, size, _ := strings.Cut(store, "@")
	if _, err := fmt.Sscanf(size, "%fK", &kib); err != nil {
		return line, 0
	}
	return line, kib
}

const (
	attributesAxis = "attributes"
	fewerAxis      = "attributes, of 300,000 intervals"
	intervalsAxis  = "intervals of 1,000 attributes"
)

// paperFigures are the plots of both papers, except the ones that are tables here.
var paperFigures = func() []paperFigure {
	sized := func(sizes ...string) (all []string) {
		for _, size := range sizes {
			all = append(all, "SHT@"+size, "eSHT@"+size)
		}
		return all
	}
	five, three := sized(slices.Concat(blockSizes[:1], blockSizes[2:])...), sized(blockSizes[1], blockSizes[2], blockSizes[4])
	trees, beside := treeNames[:len(treeNames)-1], []string{"SHT", "eSHT", "rtree", "PG GiST"}
	full, single := figure("full_us"), figure("single_us")
	return []paperFigure{
		{"paper-sht-4.svg", "S, figure 4: full query, us, synth:1000:1000", "block size, KiB", longer[1:2], five, full, byBlock},
		{"paper-sht-5.svg", "S, figure 5: full query, us", intervalsAxis, longer, three, full, byIntervals},
		{"paper-sht-5-single.svg", "S, figure 5: ad-hoc query, us", intervalsAxis, longer, three, single, byIntervals},
		{"paper-sht-6.svg", "S, figure 6: construction, ms, beside an R-tree", intervalsAxis, longer, beside[:3], treeFigures.buildMs, byIntervals},
		{"paper-sht-7.svg", "S, figure 7: full query, us, beside an R-tree", intervalsAxis, longer, beside[:3], full, byIntervals},
		{"paper-sht-8.svg", "S, figure 8: MiB, beside PostgreSQL with GiST", intervalsAxis, longer, []string{"SHT", "eSHT", "PG GiST"}, treeFigures.mib, byIntervals},
		{"paper-sht-9.svg", "S, figure 9: full query, us, beside PostgreSQL with GiST", intervalsAxis, longer, []string{"SHT", "eSHT", "PG GiST"}, full, byIntervals},
		{"paper-rsht-7.svg", "R, figure 7: single query of SHT and eSHT, us", fewerAxis, fewer, []string{"SHT", eSHT}, single, byAttributes},
		{"paper-rsht-14-sht.svg", "R, figure 14: MiB, with the SHT", fewerAxis, fewer, treeNames[:4], treeFigures.mib, byAttributes},
		{"paper-rsht-15-sht.svg", "R, figure 15: depth, with the SHT", fewerAxis, fewer, treeNames[:4], treeFigures.depth, byAttributes},
		{"paper-rsht-14.svg", "R, figure 14: MiB", attributesAxis, growing, trees, treeFigures.mib, byAttributes},
		{"paper-rsht-15.svg", "R, figure 15: depth", attributesAxis, growing, trees, treeFigures.depth, byAttributes},
		{"paper-rsht-16.svg", "R, figure 16: single query, us", attributesAxis, growing, treeNames, single, byAttributes},
		{"paper-rsht-16-nodes.svg", "R, figure 16: nodes of a single query", attributesAxis, growing, trees, figure("single_nodes"), byAttributes},
		{"paper-rsht-17.svg", "R, figure 17: full query, us", attributesAxis, growing, treeNames, full, byAttributes},
		{"paper-rsht-17-nodes.svg", "R, figure 17: nodes of a full query", attributesAxis, growing, trees, figure("full_nodes"), byAttributes},
		{"paper-rsht-19.svg", "R, figure 19: build, ms", attributesAxis, growing, treeNames, treeFigures.buildMs, byAttributes},
	}
}()

// drawPaper draws a figure of the papers.
func (t *intervals) drawPaper(f paperFigure, path string) error {
	lines := map[string]plotter.XYs{}
	for _, store := range f.stores {
		for _, set := range f.sets {
			line, x := f.point(set, store)
			if f.x == intervalsAxis {
				line = strings.Replace(line, "@", ", ", 1)
			}
			if y := f.of(t.Sets[set][store]); y > 0 && x > 0 {
				lines[line] = append(lines[line], plotter.XY{X: x, Y: y})
			}
		}
	}
	p := pictures.New(f.title)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.X.Label.Text, p.X.Label.TextStyle.Font.Size = f.x, 10
	p.Add(plotter.NewGrid())
	for i, name := range slices.Sorted(maps.Keys(lines)) {
		if err := addLine(p, name, i, lines[name]); err != nil {
			return err
		}
	}
	bounded(&p.X)
	bounded(&p.Y)
	// Only powers of ten are labelled.
	p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(p.Y.Min))), math.Pow(10, math.Ceil(math.Log10(p.Y.Max)))
	p.X.Max *= 4 // room for the legend
	p.Legend.Top, p.Legend.TextStyle.Font.Size = true, 8
	return save(p, 20*vg.Centimeter, 9*vg.Centimeter, path)
}
