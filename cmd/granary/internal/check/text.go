package check

import (
	"fmt"
	"math"
	"strings"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/profile"
)

// Text prints a report for a terminal: the first n functions of each type, or all if n is 0.
func (r *Report) Text(p *cli.Printer, n int) {
	for i := range r.Types {
		t := &r.Types[i]
		p.Printf("%s\n", t.title())
		if t.Total != nil {
			p.Printf("  total: %s\n", t.sentence(*t.Total))
		}
		if note := t.note(); note != "" {
			p.Printf("  %s\n", note)
		}
		shown := cli.First(t.Functions, n)
		if len(shown) > 0 {
			p.Printf("  %-7s %-5s %10s %10s %8s %7s  %s\n", "verdict", "cost", "base", "new", "growth", "p", "function")
		}
		for _, f := range shown {
			c, isSelf := f.shown()
			p.Printf("  %-7s %-5s %10s %10s %8s %7s  %s%s\n", f.word(), costName(isSelf), t.value(c.Base), t.value(c.New), c.growth(), c.p(), p.Name(f.Name, 56), f.moved())
		}
		p.NotShown(len(t.Functions)-len(shown), "function")
	}
	for _, b := range r.Budgets {
		p.Printf("%s\n", b.sentence())
	}
	p.Printf("%s\n", r.Conclusion())
}

// Conclusion is the sentence that says what the exit code says.
func (r *Report) Conclusion() string {
	if !r.IsRegressed {
		return fmt.Sprintf("No regression of more than %s was found.", percent(r.MaxGrowth))
	}
	functions, totals, beyond := 0, 0, 0
	for _, t := range r.Types {
		for _, f := range t.Functions {
			if f.Verdict == Worse {
				functions++
			}
		}
		if t.Total != nil && t.Total.Verdict == Worse {
			totals++
		}
	}
	for _, b := range r.Budgets {
		beyond += len(b.Functions)
	}
	var parts []string
	part := func(n int, before, noun string) {
		if n > 0 {
			parts = append(parts, before+cli.Many(n, noun))
		}
	}
	part(totals, "", "total")
	part(functions, "", "function")
	part(beyond, "beyond the budget: ", "function")
	return "Regression: " + strings.Join(parts, ", ") + "."
}

// title names a type, and what its values are.
func (t *TypeReport) title() string {
	name := t.name()
	switch t.By {
	case PerOperation:
		name += " by operation"
	case PerTotal:
		name += ", shares of each run"
	}
	return fmt.Sprintf("%s: %s against %d, %s", name, cli.Many(t.Runs[0], "run"), t.Runs[1], cli.Many(t.Compared, "function"))
}

// name returns a type's name, unit and kind.
func (t *TypeReport) name() string {
	name := t.Sample
	if name == "" {
		name = "unnamed"
	}
	if t.Unit != "" {
		name += " (" + t.Unit + ")"
	}
	if t.Kind != "" {
		name += " of " + t.Kind
	}
	return cli.Printable(name)
}

// note says what a verdict is worth if there are few runs.
func (t *TypeReport) note() string {
	switch t.Method {
	case BySamples:
		return "few runs: p is by the numbers of samples; more runs of each side tell more"
	case ByThreshold:
		return "few runs: chance is not ruled out; more runs of each side tell more"
	}
	return ""
}

// sentence describes the change of a total.
func (t *TypeReport) sentence(c Change) string {
	text := fmt.Sprintf("%s -> %s, %s", t.value(c.Base), t.value(c.New), c.growth())
	if c.P != nil {
		text += ", p " + c.p()
	}
	if c.Verdict != Same {
		text += ": " + string(c.Verdict)
	}
	return text
}

// value formats a value of a type.
func (t *TypeReport) value(v float64) string {
	if t.By == PerTotal {
		return fmt.Sprintf("%.2f%%", 100*v)
	}
	if v != math.Trunc(v) && math.Abs(v) < 100 {
		short := map[string]string{"bytes": " B", "nanoseconds": " ns", "count": "", "": ""}
		if unit, is := short[t.Unit]; is {
			return fmt.Sprintf("%.3g%s", v, unit)
		}
	}
	return profile.FormatValue(int64(math.Round(v)), t.Unit)
}

// growth formats the growth of a change.
func (c *Change) growth() string {
	switch {
	case c.IsNew:
		return "new"
	case c.New == 0 && c.Base > 0:
		return "gone"
	}
	return fmt.Sprintf("%+.1f%%", 100*c.Growth)
}

// p formats the p-value of a change.
func (c *Change) p() string {
	if c.P == nil {
		return "-"
	}
	if *c.P < 0.0001 {
		return "<0.0001"
	}
	return fmt.Sprintf("%.4f", *c.P)
}

func costName(isSelf bool) string {
	if isSelf {
		return "self"
	}
	return "total"
}

// word returns the verdict of a function, or that it moved.
func (f *FunctionReport) word() string {
	if f.Verdict == Same && f.Move != nil {
		return "moved"
	}
	return string(f.Verdict)
}

// moved says how a function moved.
func (f *FunctionReport) moved() string {
	if f.Move == nil {
		return ""
	}
	from, to := cli.Printable(f.Move.From), cli.Printable(f.Move.To)
	switch f.Move.How {
	case movedInlined:
		return fmt.Sprintf(" (with %s inlined)", from)
	case movedCutOut:
		return fmt.Sprintf(" (with %s, cut out of it)", to)
	}
	return fmt.Sprintf(" (was %s)", from)
}

// sentence describes the use of a budget.
func (b *BudgetReport) sentence() string {
	line := cli.Printable(b.Line)
	switch {
	case b.Matched == 0:
		return fmt.Sprintf("budget %q: no function has this name", line)
	case len(b.Functions) == 0:
		return fmt.Sprintf("budget %q: kept", line)
	}
	var uses []string
	for _, u := range b.Functions {
		uses = append(uses, fmt.Sprintf("%s has %.2f%% of %s", cli.Printable(u.Name), 100*u.Share, cli.Printable(u.Sample)))
	}
	return fmt.Sprintf("budget %q: %s", line, strings.Join(uses, ", "))
}

func percent(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }
