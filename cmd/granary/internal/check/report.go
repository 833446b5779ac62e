package check

import (
	"cmp"
	"math"
	"slices"
)

// Verdict is what a comparison says of a quantity.
type Verdict string

// The verdicts.
const (
	Worse  Verdict = "worse"
	Better Verdict = "better"
	Same   Verdict = "same" // or the runs cannot tell
)

// Method is how chance was ruled out.
type Method string

// The methods.
const (
	ByRuns      Method = "runs"      // by the scatter of the runs
	BySamples   Method = "samples"   // by the numbers of samples, as there are few runs
	ByThreshold Method = "threshold" // not at all, as there are few runs
)

// Report is the result of a comparison.
type Report struct {
	IsRegressed bool           `json:"regressed"`
	MaxGrowth   float64        `json:"max_growth"`
	MinShare    float64        `json:"min_share"`
	Alpha       float64        `json:"alpha"`
	Types       []TypeReport   `json:"types"`
	Budgets     []BudgetReport `json:"budgets,omitempty"`
}

// TypeReport is the result for one type.
type TypeReport struct {
	Sample string `json:"sample_type"`
	Unit   string `json:"unit"`
	Kind   string `json:"kind,omitempty"`
	By     Basis  `json:"per"`
	Runs   [2]int `json:"runs"`
	Method Method `json:"method"`
	// Total is nil if costs are shares, whose total is 1.
	Total    *Change `json:"total,omitempty"`
	Compared int     `json:"compared"` // functions
	// Functions has the worse functions, by what they cost more, then the better ones, then the moved ones.
	Functions []FunctionReport `json:"functions"`

	all []used
}

// used is the share of the total that a function has on the new side, with what it calls.
type used struct {
	name  string
	share float64
}

// FunctionReport is the result for a function.
type FunctionReport struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Move    *Move   `json:"moved,omitempty"`
	Self    Change  `json:"self"`
	Total   Change  `json:"total"`
}

// Change is a quantity: means over the runs of each side, by the basis of the type.
type Change struct {
	Base   float64 `json:"base"`
	New    float64 `json:"new"`
	Growth float64 `json:"growth"` // New/Base - 1; 0 on a base of 0
	IsNew  bool    `json:"is_new,omitempty"`
	// P is the probability of such a change, or a greater one, anywhere in the comparison, by chance; nil if it is not known.
	P       *float64 `json:"p,omitempty"`
	Verdict Verdict  `json:"verdict"`
}

// BudgetReport is what a line of a file of budgets says.
type BudgetReport struct {
	Line     string  `json:"line"`
	Limit    float64 `json:"limit"`
	IsGrowth bool    `json:"is_growth"`
	Matched  int     `json:"matched"` // functions of all types
	// Functions has those beyond the limit.
	Functions []BudgetUse `json:"functions"`
}

// BudgetUse is a function beyond its budget.
type BudgetUse struct {
	Name   string  `json:"name"`
	Sample string  `json:"sample_type"`
	Share  float64 `json:"share"`
}

// report returns the result for a type.
func (c *comparison) report(o Options, alpha float64) TypeReport {
	m := c.m
	t := TypeReport{
		Sample: m.Sample, Unit: m.Unit, Kind: m.Kind, By: c.by, Runs: [2]int{len(m.Sides[0].Runs), len(m.Sides[1].Runs)},
		Compared: len(c.functions), Functions: []FunctionReport{}, Method: ByThreshold,
	}
	if c.total != nil {
		total := c.total.change(alpha)
		t.Total, t.Method = &total, c.total.method
	}
	for _, f := range c.functions {
		self, total := f.self.change(alpha), f.total.change(alpha)
		t.Method = f.self.method
		if total.IsNew && total.Verdict == Worse {
			total.Verdict = Same // what a new function calls is compared by itself, so the new one alone says nothing of it
		}
		r := FunctionReport{f.name, Same, f.move, self, total}
		switch {
		case self.Verdict == Worse || total.Verdict == Worse:
			r.Verdict = Worse
		case self.Verdict == Better || total.Verdict == Better:
			r.Verdict = Better
		}
		if r.Verdict != Same || r.Move != nil {
			t.Functions = append(t.Functions, r)
		}
	}
	slices.SortFunc(t.Functions, func(a, b FunctionReport) int { return a.compare(&b) })
	if len(o.Budget) > 0 {
		whole := m.meanTotal(1, c.by)
		for name, cost := range m.means(c.by) {
			if whole > 0 {
				t.all = append(t.all, used{name, cost[1].Total / whole})
			}
		}
		slices.SortFunc(t.all, func(a, b used) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.name, b.name)) })
	}
	return t
}

// change returns the quantity of a report.
func (r *quantity) change(alpha float64) Change {
	c := Change{Base: r.means[0], New: r.means[1], Verdict: r.verdict(alpha)}
	switch {
	case c.Base > 0:
		c.Growth = c.New/c.Base - 1
	case c.New > 0:
		c.IsNew = true
	}
	if r.method != ByThreshold {
		p := min(r.rises, r.falls)
		c.P = &p
	}
	return c
}

// order returns the place of a verdict in a report.
func (v Verdict) order() int { return slices.Index([]Verdict{Worse, Better, Same}, v) }

// shown returns the quantity that the verdict is about: that of the function by itself, or if it did not change, with what it calls.
func (f *FunctionReport) shown() (c Change, isSelf bool) {
	if f.Self.Verdict == f.Verdict || f.Total.Verdict != f.Verdict {
		return f.Self, true
	}
	return f.Total, false
}

// compare orders by what a function costs more or less itself, and puts those behind that only call such ones, the nearest first.
func (f *FunctionReport) compare(g *FunctionReport) int {
	a, isSelf := f.shown()
	b, isOther := g.shown()
	if f.Verdict == g.Verdict && isSelf != isOther {
		if isSelf {
			return -1
		}
		return 1
	}
	nearness := 0
	if !isSelf { // the cause is diluted in the callers of its callers
		nearness = cmp.Compare(math.Abs(b.Growth), math.Abs(a.Growth))
	}
	return cmp.Or(f.Verdict.order()-g.Verdict.order(), nearness, cmp.Compare(math.Abs(b.New-b.Base), math.Abs(a.New-a.Base)), cmp.Compare(f.Name, g.Name))
}

// IsWorse reports whether the total or a function is worse.
func (t *TypeReport) IsWorse() bool {
	return t.Total != nil && t.Total.Verdict == Worse ||
		slices.ContainsFunc(t.Functions, func(f FunctionReport) bool { return f.Verdict == Worse })
}

// conclude decides whether there is a regression.
func (r *Report) conclude() {
	r.IsRegressed = slices.ContainsFunc(r.Types, func(t TypeReport) bool { return t.IsWorse() }) ||
		slices.ContainsFunc(r.Budgets, func(b BudgetReport) bool { return len(b.Functions) > 0 })
}
