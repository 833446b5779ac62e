package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/granarydb/granary/bench/results"
)

// lastLines is the number of lines whose median a run is compared with, and enoughLines how many a change needs to be sure.
// beyond is the change that is named.
const (
	lastLines   = 5
	enoughLines = 3
	beyond      = 0.05
)

// readSeries reads the lines of a file. A file that is not there is an empty series.
func readSeries(name string) (series []line, err error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var l line
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			return series, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(series)+1, err)
		}
		series = append(series, l)
	}
}

// appendLine adds a line to a file.
func appendLine(name string, l line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	return errors.Join(err, f.Close())
}

// change is a figure that differs from the series. by is above 0 if it is worse: 0.1 is a tenth.
type change struct {
	name   string
	by     float64
	isSure bool
}

// changesOf returns the figures of a run that have changed, in the order of tracked. Lines of another size do not count.
func changesOf(series []line, l line) (all []change) {
	for _, t := range tracked {
		var ratios, bests []float64
		for i := len(series) - 1; i >= 0 && len(ratios) < lastLines; i-- {
			if f, ok := series[i].Figures[t.name]; ok && series[i].Rows == l.Rows {
				ratios, bests = append(ratios, f.Ratio), append(bests, f.Best)
			}
		}
		if len(ratios) == 0 {
			continue
		}
		f := l.Figures[t.name]
		by := f.Ratio/results.Median(ratios) - 1
		if math.Abs(by) <= beyond {
			continue
		}
		isWorse := by > 0
		isSure := len(ratios) >= enoughLines && isOutside(f.Ratio, ratios, isWorse) && isOutside(f.Best, bests, isWorse)
		all = append(all, change{t.name, by, isSure})
	}
	return all
}

// isOutside reports whether a value is above all others, or below all.
func isOutside(value float64, others []float64, isAbove bool) bool {
	if isAbove {
		return value > slices.Max(others)
	}
	return value < slices.Min(others)
}

// writeTable writes a run's figures, and what has changed.
func writeTable(w io.Writer, l line, changes []change) error {
	marks := map[string]string{}
	for _, c := range changes {
		marks[c.name] = fmt.Sprintf("%+.0f %%", 100*c.by)
		if !c.isSure {
			marks[c.name] += ", not sure"
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s, %d rows, %s\n\nfigure\tby the peer\tbest runs\tpeer\tchange\n", l.Commit, l.Rows, l.Machine)
	for _, of := range tracked {
		f := l.Figures[of.name]
		fmt.Fprintf(t, "%s\t%.4g\t%.4g\t%.4g\t%s\n", of.name, f.Ratio, f.Best, f.Peer, marks[of.name])
	}
	return t.Flush()
}
