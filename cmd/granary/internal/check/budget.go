package check

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// Bounds of a file of budgets.
const (
	maxBudgets = 10_000
	maxLine    = 4096
)

// ErrBudget is returned for a line that is no budget.
var ErrBudget = errors.New("budget")

// Budget is what named functions may cost.
type Budget []limit

// limit is a line of a file of budgets.
type limit struct {
	text     string // the line
	pattern  string // of names, with * and ?
	value    float64
	isGrowth bool   // value bounds the growth, and else the share of the total
	sample   string // of one type alone, or "" for all
}

// ReadBudget reads a file of budgets. A line is a pattern of functions, in which * stands for any text, and a limit in percent,
// with a type behind it if it is about that type alone; an empty line, and one behind #, says nothing. 3% bounds the share of
// the total that a function has with what it calls, and +3% its growth.
func ReadBudget(in io.Reader) (Budget, error) {
	var all Budget
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if len(all) == maxBudgets {
			return nil, fmt.Errorf("line %d: %w: more than %d", n, ErrBudget, maxBudgets)
		}
		l, err := parseLimit(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, l)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBudget, err)
	}
	return all, nil
}

// parseLimit parses a line. Names of methods have spaces in some languages, so the limit is what is at the end.
func parseLimit(text string) (limit, error) {
	words := strings.Fields(text)
	l := limit{text: text}
	for last := len(words) - 1; last > 0 && last >= len(words)-2; last-- {
		number, isPercent := strings.CutSuffix(words[last], "%")
		if !isPercent {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimPrefix(number, "+"), 64)
		if err != nil || !(value >= 0 && value <= 1e6) {
			return l, fmt.Errorf("%w %q: want a limit such as 3%% or +3%%", ErrBudget, text)
		}
		l.value, l.isGrowth = value/100, strings.HasPrefix(number, "+")
		l.pattern, l.sample = strings.Join(words[:last], " "), strings.Join(words[last+1:], "")
		return l, nil
	}
	return l, fmt.Errorf("%w %q: want a function and a limit, such as 'main.parse 3%%'", ErrBudget, text)
}

// escape makes a pattern one of package path, in which a slash and a bracket are letters like others.
func escape(text string) string {
	return strings.NewReplacer("/", "\x00", "[", "\\[", "\\", "\\\\").Replace(text)
}

// matches reports whether the limit is about a function.
func (l *limit) matches(name, sample string) bool {
	if l.sample != "" && l.sample != sample {
		return false
	}
	is, _ := path.Match(escape(l.pattern), strings.ReplaceAll(name, "/", "\x00"))
	return is
}

// growth returns the growth that the last line about a function allows.
func (b Budget) growth(name, sample string) (allowed float64, is bool) {
	for _, l := range b {
		if l.isGrowth && l.matches(name, sample) {
			allowed, is = l.value, true
		}
	}
	return allowed, is
}

// report adds what each line says to a report: the function that is nearest to its limit, or beyond it.
func (b Budget) report(to *Report) {
	for _, l := range b {
		out := BudgetReport{Line: l.text, Limit: l.value, IsGrowth: l.isGrowth, Functions: []BudgetUse{}}
		for _, t := range to.Types {
			for _, f := range t.all {
				if !l.matches(f.name, t.Sample) {
					continue
				}
				out.Matched++
				if share := f.share; !l.isGrowth && share > l.value {
					out.Functions = append(out.Functions, BudgetUse{f.name, t.Sample, share})
				}
			}
		}
		to.Budgets = append(to.Budgets, out)
	}
}
