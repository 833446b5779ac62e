package profile

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/internal/selector"
)

// fact is one value of a sample: a row in its plainest form. The oracle answers questions from
// facts, one by one.
type fact struct {
	typ            Type
	time, duration int64
	labels         map[string]string // of the profile
	sample         map[string]string // of the sample, the first value of each
	stack          string            // frames, leaf first, in the form of stack.frames
	value          int64
}

func (f *fact) functions() []string {
	return strings.Fields(strings.NewReplacer(" +", " ", "+", " ", "?", "[app]").Replace(f.stack))
}

// label returns a name's value in a Selector.
func (f *fact) label(name string) string { return cmp.Or(f.labels[name], f.sample[name]) }

func (f *fact) chosen(t Type, q Query) bool {
	if f.typ != t || q.From != 0 && f.time < q.From || q.To != 0 && f.time >= q.To {
		return false
	}
	for _, m := range q.Selector.matchers {
		if !equalID(m, f.label(m.Name)) {
			return false
		}
	}
	if q.Function != nil && !slices.ContainsFunc(f.functions(), q.Function.MatchString) {
		return false
	}
	if n := len(q.Under); n > 0 && !slices.Contains(f.functions(), q.Under[n-1]) {
		return false
	}
	some := len(q.Frames) == 0 && q.Hide == nil && q.Show == nil || f.stack != ""
	return some && f.visible(q).stack != "" == (f.stack != "") && !slices.ContainsFunc(q.Frames, func(c FrameCondition) bool { return f.hasFrame(c) == c.Not })
}

// equalID is Matches that ignores the case of a whole id.
func equalID(m matcher, value string) bool {
	size := map[string]int{"trace_id": 32, "span_id": 16}[m.Name]
	if len(m.Value) == size && strings.EqualFold(value, m.Value) && (m.Op == selector.OpEqual || m.Op == selector.OpNotEqual) {
		return m.Op == selector.OpEqual
	}
	return m.Matches(value)
}

// hasFrame reports whether a frame of the stack fulfils a condition without its Not.
func (f *fact) hasFrame(c FrameCondition) bool {
	for group := range strings.FieldsSeq(strings.ReplaceAll(f.stack, " +", "+")) {
		address := uint64(slices.Index(oracleLocations(), group))
		for name := range strings.SplitSeq(group, "+") {
			pprofName := strings.Trim(name, "?")
			fits := func(re *regexp.Regexp, texts ...string) bool {
				return re == nil || slices.ContainsFunc(texts, re.MatchString)
			}
			if fits(c.Name, pprofName, name+".go", "/usr/bin/app") && fits(c.Function, cmp.Or(pprofName, "[app]")) && fits(c.File, name+".go") &&
				fits(c.Mapping, "/usr/bin/app") && fits(c.BuildID, "") && address >= c.From && (c.To == 0 || address < c.To) {
				return true
			}
		}
	}
	return false
}

// visible returns the fact with the frames that a query does not leave out.
func (f *fact) visible(q Query) fact {
	out := *f
	var groups []string
	for group := range strings.FieldsSeq(strings.ReplaceAll(f.stack, " +", "+")) {
		var names []string
		for name := range strings.SplitSeq(group, "+") {
			shown := func(re *regexp.Regexp) bool {
				return re.MatchString(strings.Trim(name, "?")) || re.MatchString(name+".go") || re.MatchString("/usr/bin/app")
			}
			if (q.Hide == nil || !shown(q.Hide)) && (q.Show == nil || shown(q.Show)) {
				names = append(names, name)
			}
		}
		if names != nil {
			groups = append(groups, strings.Join(names, " +"))
		}
	}
	out.stack = strings.Join(groups, " ")
	return out
}

// oracleLocations returns the locations of oracleStacks, by address.
func oracleLocations() (groups []string) {
	for _, s := range oracleStacks {
		for group := range strings.FieldsSeq(strings.ReplaceAll(s, " +", "+")) {
			if !slices.Contains(groups, group) {
				groups = append(groups, group)
			}
		}
	}
	return groups
}

// group returns the values of labels in the form of answers.
func (f *fact) group(by []string) []Label {
	var out []Label
	for _, name := range slices.Compact(slices.Sorted(slices.Values(by))) {
		if value := f.label(name); value != "" {
			out = append(out, Label{name, value})
		}
	}
	return out
}

func (f *fact) profileLabels() []Label {
	var out []Label
	for _, name := range slices.Sorted(maps.Keys(f.labels)) {
		if f.labels[name] != "" {
			out = append(out, Label{name, f.labels[name]})
		}
	}
	return out
}

// choose returns the facts of a query that answers by stack have, without the frames that it
// leaves out.
func choose(facts []fact, t Type, q Query) []fact {
	out := visible(facts, t, q)
	return slices.DeleteFunc(out, func(f fact) bool { return !f.isUnder(q.Under) })
}

// visible returns the facts of a query without the frames that it leaves out.
func visible(facts []fact, t Type, q Query) []fact {
	out := rowsOf(facts, t, q)
	for i := range out {
		out[i] = out[i].visible(q)
	}
	return out
}

// isUnder reports whether the outermost functions are those of a path.
func (f *fact) isUnder(path []string) bool {
	functions := f.functions() // leaf first
	slices.Reverse(functions)
	return len(path) <= len(functions) && slices.Equal(functions[:len(path)], path)
}

// rowsOf returns the facts of a query with all frames.
func rowsOf(facts []fact, t Type, q Query) []fact {
	return slices.DeleteFunc(slices.Clone(facts), func(f fact) bool { return !f.chosen(t, q) })
}

const (
	oracleBucket = 100 * time.Second
	traceA       = "0af7651916cd43dd8448eb211c80319c"
	spanA        = "00f067aa0ba902b7"
)

var (
	oracleStacks  = []string{"", "a", "b a", "a a", "in +b a", "c b a", "? a", "c +in b", "other c ?"}
	oracleTypes   = []Type{cpuCount, {"inuse_m", "bytes", "cpu", "nanoseconds"}}
	oracleNames   = []string{"job", "pod", "thread", "trace_id", "span_id", "nobody"}
	oracleQueries = []string{
		"", `{job="a"}`, `{job!="a"}`, `{job=""}`, `{pod=~"p.*"}`, `{thread="t1"}`, `{thread!~"t.*", job="b"}`, `{nobody="x"}`, `{nobody=""}`,
		`{trace_id="` + traceA + `"}`, `{trace_id!="` + traceA + `"}`, `{trace_id!=""}`, `{trace_id="none"}`, `{trace_id="` + strings.ToUpper(traceA) + `"}`,
		`{span_id="` + spanA + `"}`, `{span_id=""}`, `{span_id=~".+", job="a"}`, `{span_id!="` + spanA + `", pod!=""}`,
	}
	oracleFunctions = []*regexp.Regexp{nil, regexp.MustCompile("^c$"), regexp.MustCompile("a|o"), regexp.MustCompile(`\[`), regexp.MustCompile("nothing")}
)

var oraclePaths = [][]string{{"a"}, {"a", "b"}, {"a", "a"}, {"a", "b", "in"}, {"b", "in"}, {"b"}, {"[app]", "c", "other"}, {"c"}, {"nobody"}}

var oracleConditions = []FrameCondition{
	{},
	{Not: true},
	{Name: regexp.MustCompile("^c$")},
	{Name: regexp.MustCompile("^c$"), Not: true},
	{Name: regexp.MustCompile("^[?]+[.]go$")},
	{Name: regexp.MustCompile("bin/app$")},
	{Name: regexp.MustCompile("^$"), Not: true},
	{Function: regexp.MustCompile(`^\[app\]$|b`), Not: true},
	{Function: regexp.MustCompile("a"), File: regexp.MustCompile("a[.]go")},
	{Function: regexp.MustCompile("a"), File: regexp.MustCompile("b[.]go")},
	{Mapping: regexp.MustCompile("app"), From: 2, To: 4},
	{BuildID: regexp.MustCompile("."), Not: true},
	{From: 1, Not: true},
	{To: 1},
}
