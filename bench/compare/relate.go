package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/bench/targets"
)

// beyond is the change in a median ratio that is marked.
const beyond = 0.05

// ratio is a figure on both sides.
type ratio struct {
	Figure string         `json:"figure"`
	Target string         `json:"target,omitempty"`
	Base   float64        `json:"base"` // the median
	Head   float64        `json:"head"` // the median
	Ratio  results.Spread `json:"ratio"`
	Least  float64        `json:"least"` // ratio of each side's best run, because other work on the machine only adds to a cost; 0 if a best cost is 0
	Mark   string         `json:"mark,omitempty"`
}

// figures are a workload's figures.
type figures struct {
	Ratios   []ratio  `json:"ratios"`
	OnlyBase []string `json:"only_base,omitempty"`
	OnlyHead []string `json:"only_head,omitempty"`
}

// relate relates the two sides' runs pair by pair. It is an error if they did different work.
func relate(runs [2][]values) (f figures, err error) {
	for _, name := range slices.Sorted(maps.Keys(runs[base][0])) {
		first := runs[base][0][name]
		if _, ok := runs[head][0][name]; !ok {
			f.OnlyBase = append(f.OnlyBase, name)
			continue
		}
		var of [2][]float64
		var ratios []float64
		for i := range runs[base] {
			a, b := runs[base][i][name].number, runs[head][i][name].number
			if first.kind == work && (a != first.number || b != first.number) {
				return f, fmt.Errorf("the sides did different work: %s is %v, then %v and %v", name, first.number, a, b)
			}
			of[base], of[head] = append(of[base], a), append(of[head], b)
			if r := costRatio(first.kind, a, b); !math.IsNaN(r) && !math.IsInf(r, 0) {
				ratios = append(ratios, r)
			}
		}
		if first.kind == work || len(ratios) == 0 { // without a ratio the base is 0, for example without allocations
			continue
		}
		r := ratio{
			Figure: name, Target: targetOf[name], Base: results.Median(of[base]), Head: results.Median(of[head]),
			Ratio: results.Spread{Median: middle(ratios), Low: slices.Min(ratios), High: slices.Max(ratios)},
		}
		if least := costRatio(first.kind, best(first.kind, of[base]), best(first.kind, of[head])); !math.IsNaN(least) && !math.IsInf(least, 0) {
			r.Least = least
		}
		r.Mark = mark(r.Ratio)
		f.Ratios = append(f.Ratios, r)
	}
	for _, name := range slices.Sorted(maps.Keys(runs[head][0])) {
		if _, ok := runs[base][0][name]; !ok {
			f.OnlyHead = append(f.OnlyHead, name)
		}
	}
	return f, nil
}

// best returns the least cost or the highest rate.
func best(k kind, of []float64) float64 {
	if k == rate {
		return slices.Max(of)
	}
	return slices.Min(of)
}

// middle returns the median of ratios; for an even number, the geometric mean of the middle two, because
// rounds have two pairs each, and taking one would favour a side.
func middle(ratios []float64) float64 {
	ratios = slices.Sorted(slices.Values(ratios))
	n := len(ratios)
	return math.Sqrt(ratios[(n-1)/2] * ratios[n/2])
}

// mark returns the mark for a median beyond 5 %. It shows if some pair has the opposite order, as two runs
// of one program have on a busy machine.
func mark(r results.Spread) string {
	text := ""
	switch {
	case r.Median > 1+beyond:
		text = "worse"
	case r.Median < 1-beyond:
		text = "better"
	default:
		return ""
	}
	if r.Low <= 1 && r.High >= 1 {
		text += ", pairs disagree"
	}
	return text
}

// costRatio returns the head's cost divided by the base's.
func costRatio(k kind, base, head float64) float64 {
	if k == rate {
		return base / head
	}
	return head / base
}

// writeTable writes all figures as text.
func writeTable(w io.Writer, all []figures) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "figure\tbase\thead\tratio\tlow\thigh\tleast\t\ttarget")
	measured := map[string]bool{}
	for _, f := range all {
		for _, r := range f.Ratios {
			measured[r.Target] = true
			fmt.Fprintf(out, "%s\t%.4g\t%.4g\t%.3f\t%.3f\t%.3f\t%.3f\t%s\t%s\n",
				r.Figure, r.Base, r.Head, r.Ratio.Median, r.Ratio.Low, r.Ratio.High, r.Least, r.Mark, r.Target)
		}
		for _, name := range f.OnlyBase {
			fmt.Fprintf(out, "%s\tonly in the base\n", name)
		}
		for _, name := range f.OnlyHead {
			fmt.Fprintf(out, "%s\tonly in the head\n", name)
		}
	}
	for _, key := range targets.Keys() {
		if !measured[key] {
			fmt.Fprintf(out, "target %s\tnot measured by these workloads\n", key)
		}
	}
	return out.Flush()
}
