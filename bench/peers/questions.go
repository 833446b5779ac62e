package peers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// Question is a question to a store.
type Question struct {
	// Name is the question's name in reports.
	Name string
	// Ask asks a store. It calls add with each element in the answer as text, which is the same for all
	// stores. If add is nil, the store only makes the answer.
	Ask func(p Store, add func(element string)) error
	// whole reports that the answer has every row and column, too much to compare at a million rows.
	whole bool
}

// podsPattern matches a fifth of the pods, in five of 25 jobs. The fleet has rows for all pods from 410,000
// rows on.
var podsPattern = regexp.MustCompile(`^job-[0-4]-.*$`)

// selected is a selection of columns that suffices to draw profiles over time.
var selected = []string{profile.ColumnTimestamp, profile.ColumnStacktrace, profile.ColumnValue, fleet.LabelPrefix + "pod"}

// SearchFew and SearchMany match function names in the fleet: two names in 2,000, and one verb in 40.
var (
	SearchFew  = regexp.MustCompile(`\.Decode(Frame|Header)$`)
	SearchMany = regexp.MustCompile(`\.Decode[A-Z]`)
)

// Questions returns the questions about a workload. about gives the job, pod, type and time. Questions
// about functions and traces need profiles with records.
func Questions(about schema.Batch) []Question {
	label := func(name string) Term {
		return Term{Column: fleet.LabelPrefix + name, Text: about.Columns[fleet.LabelPrefix+name].Strings[0]}
	}
	kind := OfType(about)
	// The most selective term comes first, because one of the stores follows this order.
	job, pod := slices.Concat([]Term{label("job")}, kind), slices.Concat([]Term{label("pod")}, kind)
	one := slices.Concat(pod[:1], []Term{{Column: profile.ColumnTimestamp, Number: about.Columns[profile.ColumnTimestamp].Int64s[0]}}, kind)
	pods := slices.Concat([]Term{{Column: fleet.LabelPrefix + "pod", Pattern: podsPattern}}, kind)
	all := []Question{
		{Name: "merge-all", Ask: askMerge(nil)},
		{Name: "merge-all-walked", Ask: askWalk},
		{Name: "merge-type", Ask: askMerge(kind)},
		{Name: "merge-job", Ask: askMerge(job)},
		{Name: "merge-pod", Ask: askMerge(pod)},
		{Name: "merge-pods", Ask: askMerge(pods)},
		{Name: "merge-profile", Ask: askMerge(one)},
		{Name: "select-pod", Ask: askPick(pod, selected)},
		{Name: "select-pod-wide", Ask: askPick(pod, nil)},
		{Name: "select-pods", Ask: askPick(pods, selected)},
		{Name: "select-pods-wide", Ask: askPick(pods, nil), whole: true},
		{Name: "one-profile", Ask: askPick(one, selected)},
		{Name: "series-job", Ask: askSeries(job)},
		{Name: "series-type", Ask: askSeries(kind)},
		{Name: "series-all", Ask: askSeries(nil)},
		{Name: "totals-pod", Ask: askTotals(fleet.LabelPrefix + "pod")},
		{Name: "totals-type", Ask: askTotals(profile.ColumnSampleType)},
		{Name: "label-names", Ask: askNames},
		{Name: "types", Ask: askTypes},
		{Name: "label-values", Ask: askValues("pod", nil)},
		{Name: "label-values-job", Ask: askValues("pod", job)},
		{Name: scanArrow, Ask: askPick(nil, nil), whole: true},
	}
	if about.Records == nil {
		return all
	}
	return append(all,
		Question{Name: "merge-trace", Ask: askMerge([]Term{{Column: profile.ColumnTraceID, ID: fleet.TraceID}})},
		Question{Name: "search-few", Ask: askSearch(SearchFew)},
		Question{Name: "search-many", Ask: askSearch(SearchMany)},
	)
}

// scanArrow is a question only for stores that make Arrow records.
const scanArrow = "scan-arrow"

// asked reports whether a kind of store is asked a question. FrostDB and kelindar/column have only columns,
// and no place for a location's symbols. Parca keeps symbols in another store and would read all stacks to
// search by them.
func (k Kind) asked(q Question) bool {
	return (k.arrow || q.Name != scanArrow) && (k.symbols || !strings.HasPrefix(q.Name, "search-"))
}

func askMerge(where []Term) func(Store, func(string)) error {
	return func(p Store, add func(string)) error { return p.Merge(where, stackText(add)) }
}

func askSearch(pattern *regexp.Regexp) func(Store, func(string)) error {
	return func(p Store, add func(string)) error { return p.(Searcher).Search(pattern, stackText(add)) }
}

// stackText returns a function that writes a stack and its sum as text, nil if add is nil.
func stackText(add func(string)) func(stack []byte, sum int64) {
	if add == nil {
		return nil
	}
	return func(stack []byte, sum int64) { add(fmt.Sprintf("%x %d", stack, sum)) }
}

// askWalk merges everything and reads every location in the answer. Some stores have locations in the
// answer, and others look them up.
func askWalk(p Store, add func(string)) error {
	var bytes, total int64
	err := p.Merge(nil, func(stack []byte, sum int64) {
		for _, b := range stack {
			bytes += int64(b)
		}
		total += sum
	})
	if add != nil {
		add(fmt.Sprint(bytes, total))
	}
	return err
}

func askPick(where []Term, columns []string) func(Store, func(string)) error {
	return func(p Store, add func(string)) error {
		if add == nil {
			_, err := p.Pick(where, columns, nil)
			return err
		}
		_, err := p.Pick(where, columns, func(b schema.Batch) { rowsOf(b, add) })
		return err
	}
}

func askSeries(where []Term) func(Store, func(string)) error {
	return func(p Store, add func(string)) error {
		if add == nil {
			return p.Series(where, nil)
		}
		return p.Series(where, func(at, sum int64) { add(fmt.Sprintf("%d %d", at, sum)) })
	}
}

func askTotals(column string) func(Store, func(string)) error {
	return func(p Store, add func(string)) error {
		if add == nil {
			return p.Totals(column, nil)
		}
		return p.Totals(column, func(value string, rows, sum int64) { add(fmt.Sprintf("%s %d %d", value, rows, sum)) })
	}
}

func askNames(p Store, add func(string)) error {
	return addAll(p.LabelNames, add)
}

func askValues(label string, where []Term) func(Store, func(string)) error {
	return func(p Store, add func(string)) error {
		return addAll(func() ([]string, error) { return p.LabelValues(label, where) }, add)
	}
}

func askTypes(p Store, add func(string)) error {
	types, err := p.Types()
	if err != nil || add == nil {
		return err
	}
	for _, kind := range types {
		add(strings.Join(kind[:], ":"))
	}
	return nil
}

func addAll(of func() ([]string, error), add func(string)) error {
	all, err := of()
	if err != nil || add == nil {
		return err
	}
	for _, s := range all {
		add(s)
	}
	return nil
}
