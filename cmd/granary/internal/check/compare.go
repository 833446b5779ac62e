package check

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// MaxRuns bounds the runs of a side.
const MaxRuns = 1000

// Options says what a regression is. The zero value is not useful: see DefaultOptions.
type Options struct {
	By Basis
	// MaxGrowth is the share by which a cost may rise, such as 0.02.
	MaxGrowth float64
	// MinShare is the share of the total on one side that a function must have to matter.
	MinShare float64
	// Alpha is the probability of a regression in a Report of sides that differ by chance alone.
	Alpha  float64
	Budget Budget
}

// DefaultOptions returns the options that are right for most programs.
func DefaultOptions() Options {
	return Options{By: PerAny, MaxGrowth: 0.02, MinShare: 0.005, Alpha: 0.01}
}

// ErrRuns is returned for a side without runs, or with more than MaxRuns.
var ErrRuns = errors.New("runs")

// quantity has the numbers that are compared: of a function by itself, of one with what it calls, or of the total.
type quantity struct {
	values   []float64  // by run, those of the base first
	runs     int        // of the base
	sum      float64    // of the values
	squares  float64    // sum of their squares
	sums     [2]float64 // of the values of each side before they are divided
	divisors [2]float64 // sums of what they are divided by
	means    [2]float64
	period   float64
	even     float64 // deviation of the difference of means that cannot be told from none: see evenness
	least    float64 // cost below which a quantity does not matter
	allowed  float64 // growth
	rises    float64 // p-value of a rise
	falls    float64 // p-value of a fall
	method   Method
}

// function is a function of a type with its two quantities.
type function struct {
	name        string
	move        *Move
	self, total *quantity
}

// comparison is a type whose runs are compared.
type comparison struct {
	m         *Measured
	by        Basis
	whole     float64   // the greater mean total of both sides
	total     *quantity // nil for shares
	functions []function
}

// Compare compares the sides of types. It changes the names in them.
func Compare(measured []Measured, o Options) (*Report, error) {
	byShape := map[[2]int][]*quantity{}
	var all []*comparison
	for i := range measured {
		m := &measured[i]
		for s, side := range m.Sides {
			if n := len(side.Runs); n == 0 || n > MaxRuns {
				return nil, fmt.Errorf("%s: %w: %d in %s, want 1 to %d", m.Sample, ErrRuns, n, [2]string{"the base", "the new side"}[s], MaxRuns)
			}
		}
		c := newComparison(m, o)
		shape := [2]int{len(m.Sides[0].Runs), len(m.Sides[1].Runs)}
		byShape[shape] = append(byShape[shape], c.quantities()...)
		all = append(all, c)
	}
	for shape, quantities := range byShape {
		decideBy(quantities, shape[0], shape[1], o.Alpha/float64(len(byShape)))
	}
	report := &Report{Alpha: o.Alpha, MaxGrowth: o.MaxGrowth, MinShare: o.MinShare, Types: []TypeReport{}}
	for _, c := range all {
		report.Types = append(report.Types, c.report(o, o.Alpha/float64(len(byShape))))
	}
	o.Budget.report(report)
	report.conclude()
	return report, nil
}

// decideBy sets the p-values of the quantities of types with m and n runs, or says that there are too few runs for any.
func decideBy(quantities []*quantity, m, n int, alpha float64) {
	if canTest(m, n, alpha) {
		test(quantities, m, n)
		for _, r := range quantities {
			r.method = ByRuns
		}
		return
	}
	for _, r := range quantities {
		if r.method = ByThreshold; r.period > 0 {
			r.method = BySamples
			r.testSamples(len(quantities))
		}
	}
}

func newComparison(m *Measured, o Options) *comparison {
	c := &comparison{m: m, by: m.basis(o.By)}
	rename(m, o.MinShare/5)
	moves := join(m, c.by, o.MinShare)
	c.whole = max(m.meanTotal(0, c.by), m.meanTotal(1, c.by))
	if c.by != PerTotal {
		c.total = c.quantity(func(r *Run) float64 { return r.Total })
		c.total.allowed = o.MaxGrowth
	}
	costs := m.means(c.by)
	for _, name := range slices.Sorted(maps.Keys(costs)) {
		cost := costs[name]
		// Both sides together choose the quantities, as a choice by one side would bias the test.
		if cost[0].Total+cost[1].Total < o.MinShare*c.whole {
			continue
		}
		f := function{
			name:  name,
			self:  c.quantity(func(r *Run) float64 { return r.Functions[name].Self }),
			total: c.quantity(func(r *Run) float64 { return r.Functions[name].Total }),
		}
		if move, moved := moves[name]; moved {
			f.move = &move
		}
		allowed, isBudgeted := o.Budget.growth(name, m.Sample)
		if !isBudgeted {
			allowed = o.MaxGrowth
		}
		for _, r := range []*quantity{f.self, f.total} {
			r.least, r.allowed = o.MinShare*c.whole, allowed
		}
		c.functions = append(c.functions, f)
	}
	return c
}

// quantity returns the quantity of what `of` returns of a run.
func (c *comparison) quantity(of func(*Run) float64) *quantity {
	r := &quantity{runs: len(c.m.Sides[0].Runs)}
	for s, side := range c.m.Sides {
		for i := range side.Runs {
			run := &side.Runs[i]
			value, divisor := of(run), run.divisor(c.by)
			v := value / divisor
			r.values = append(r.values, v)
			r.sum += v
			r.squares += v * v
			r.sums[s] += value
			r.divisors[s] += divisor
			r.means[s] += v / float64(len(side.Runs))
			r.period = max(r.period, run.Period)
		}
	}
	sample := 0.0 // of the difference of means, if each run has one sample more or less
	for s, side := range c.m.Sides {
		n := float64(len(side.Runs))
		step := r.period * n / r.divisors[s]
		sample += step * step / n
	}
	r.even = math.Hypot(evenness*c.whole, math.Sqrt(sample))
	return r
}

// quantities returns all quantities.
func (c *comparison) quantities() (all []*quantity) {
	if c.total != nil {
		all = append(all, c.total)
	}
	for _, f := range c.functions {
		all = append(all, f.self, f.total)
	}
	return all
}

// verdict decides about a quantity.
func (r *quantity) verdict(alpha float64) Verdict {
	from, to := r.means[0], r.means[1]
	if max(from, to) < r.least || from == to {
		return Same
	}
	p, verdict := r.rises, Worse
	if to < from {
		p, verdict, from, to = r.falls, Better, to, from
	}
	if to <= from*(1+r.allowed) || (r.method == ByThreshold && !r.isApart()) || (r.method != ByThreshold && p > alpha) {
		return Same
	}
	return verdict
}

// isApart reports whether all values of one side are above all of the other.
func (r *quantity) isApart() bool {
	base, other := r.values[:r.runs], r.values[r.runs:]
	return slices.Max(base) < slices.Min(other) || slices.Max(other) < slices.Min(base)
}
