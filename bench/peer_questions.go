package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// question is what every peer is asked. With add, each element of the answer is
// written as text that is the same for all peers; without, the answer is only made.
type question struct {
	name string
	ask  func(p peer, add func(element string)) error
	// whole says that the answer has every row and column: too much to compare at
	// a million rows.
	whole bool
}

// podsPattern matches a fifth of the pods, those of five of 25 jobs, once there are rows
// of all pods: in the fleet from 410,000 rows on.
var podsPattern = regexp.MustCompile(`^job-[0-4]-.*$`)

// selected are the columns of a selection that is not of all columns: what it takes
// to draw profiles over time.
var selected = []string{profile.ColumnTimestamp, profile.ColumnStacktrace, profile.ColumnValue, labelPrefix + "pod"}

// searchFew and searchMany match names of functions of the made-up fleet: of two
// names in 2,000, and of one verb in 40.
var (
	searchFew  = regexp.MustCompile(`\.Decode(Frame|Header)$`)
	searchMany = regexp.MustCompile(`\.Decode[A-Z]`)
)

// questions returns what to ask about a workload. One of its profiles says which job,
// pod, type and time. Workloads whose profiles have records are asked about functions
// and traces too.
func questions(about schema.Batch) []question {
	label := func(name string) term {
		return term{column: labelPrefix + name, text: about.Columns[labelPrefix+name].Strings[0]}
	}
	kind := ofType(about)
	// What chooses fewest rows comes first: one of the peers goes by this order.
	job, pod := slices.Concat([]term{label("job")}, kind), slices.Concat([]term{label("pod")}, kind)
	one := slices.Concat(pod[:1], []term{{column: profile.ColumnTimestamp, number: about.Columns[profile.ColumnTimestamp].Int64s[0]}}, kind)
	pods := slices.Concat([]term{{column: labelPrefix + "pod", pattern: podsPattern}}, kind)
	all := []question{
		{name: "merge-all", ask: askMerge(nil)},
		{name: "merge-all-walked", ask: askWalk},
		{name: "merge-type", ask: askMerge(kind)},
		{name: "merge-job", ask: askMerge(job)},
		{name: "merge-pod", ask: askMerge(pod)},
		{name: "merge-pods", ask: askMerge(pods)},
		{name: "merge-profile", ask: askMerge(one)},
		{name: "select-pod", ask: askPick(pod, selected)},
		{name: "select-pod-wide", ask: askPick(pod, nil)},
		{name: "select-pods", ask: askPick(pods, selected)},
		{name: "select-pods-wide", ask: askPick(pods, nil), whole: true},
		{name: "one-profile", ask: askPick(one, selected)},
		{name: "series-job", ask: askSeries(job)},
		{name: "series-type", ask: askSeries(kind)},
		{name: "series-all", ask: askSeries(nil)},
		{name: "totals-pod", ask: askTotals(labelPrefix + "pod")},
		{name: "totals-type", ask: askTotals(profile.ColumnSampleType)},
		{name: "label-names", ask: askNames},
		{name: "types", ask: askTypes},
		{name: "label-values", ask: askValues("pod", nil)},
		{name: "label-values-job", ask: askValues("pod", job)},
		{name: scanArrow, ask: askPick(nil, nil), whole: true},
	}
	if about.Records == nil {
		return all
	}
	return append(all,
		question{name: "merge-trace", ask: askMerge([]term{{column: profile.ColumnTraceID, id: fleetTrace}})},
		question{name: "search-few", ask: askSearch(searchFew)},
		question{name: "search-many", ask: askSearch(searchMany)},
	)
}

// scanArrow is the question that only peers who make Arrow records are asked.
const scanArrow = "scan-arrow"

// asked says whether a kind of peer is asked a question. Peers without symbols cannot be
// asked about functions: FrostDB and kelindar/column have columns only, no place for what
// belongs to an element of a stack. Parca keeps symbols in a store of its own and would
// have to read all stacks to search by them.
func (k peerKind) asked(q question) bool {
	return (k.arrow || q.name != scanArrow) && (k.symbols || !strings.HasPrefix(q.name, "search-"))
}

func askMerge(where []term) func(peer, func(string)) error {
	return func(p peer, add func(string)) error { return p.merge(where, stackText(add)) }
}

func askSearch(pattern *regexp.Regexp) func(peer, func(string)) error {
	return func(p peer, add func(string)) error { return p.(searcher).search(pattern, stackText(add)) }
}

// stackText writes each stack and its sum as text, unless nobody wants it.
func stackText(add func(string)) func(stack []byte, sum int64) {
	if add == nil {
		return nil
	}
	return func(stack []byte, sum int64) { add(fmt.Sprintf("%x %d", stack, sum)) }
}

// askWalk merges everything and looks at every location of the answer, which some
// peers have in it and others must look up.
func askWalk(p peer, add func(string)) error {
	var bytes, total int64
	err := p.merge(nil, func(stack []byte, sum int64) {
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

func askPick(where []term, columns []string) func(peer, func(string)) error {
	return func(p peer, add func(string)) error {
		if add == nil {
			_, err := p.pick(where, columns, nil)
			return err
		}
		_, err := p.pick(where, columns, func(b schema.Batch) { rowsOf(b, add) })
		return err
	}
}

func askSeries(where []term) func(peer, func(string)) error {
	return func(p peer, add func(string)) error {
		if add == nil {
			return p.series(where, nil)
		}
		return p.series(where, func(at, sum int64) { add(fmt.Sprintf("%d %d", at, sum)) })
	}
}

func askTotals(column string) func(peer, func(string)) error {
	return func(p peer, add func(string)) error {
		if add == nil {
			return p.totals(column, nil)
		}
		return p.totals(column, func(value string, rows, sum int64) { add(fmt.Sprintf("%s %d %d", value, rows, sum)) })
	}
}

func askNames(p peer, add func(string)) error {
	return addAll(p.labelNames, add)
}

func askValues(label string, where []term) func(peer, func(string)) error {
	return func(p peer, add func(string)) error {
		return addAll(func() ([]string, error) { return p.labelValues(label, where) }, add)
	}
}

func askTypes(p peer, add func(string)) error {
	types, err := p.types()
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

// rowsOf writes each row of a batch as text: its values that are not null, by name.
func rowsOf(b schema.Batch, add func(string)) {
	names := slices.Sorted(maps.Keys(b.Columns))
	for i := range b.Rows {
		var row strings.Builder
		for _, name := range names {
			if value := cell(b.Columns[name], i); value != nil {
				fmt.Fprintf(&row, "%s=%v ", name, value)
			}
		}
		add(row.String())
	}
}

// cell returns the value of a row, nil for none: a string that is empty is none, and
// a vector with one element has it for all rows.
func cell(v encoding.Vector, row int) any {
	if v.Len() == 1 {
		row = 0
	}
	if v.Null(row) {
		return nil
	}
	switch v.Type {
	case encoding.String:
		if v.Strings[row] == "" {
			return nil
		}
		return v.Strings[row]
	case encoding.UUID:
		return v.UUIDs[row]
	case encoding.UUIDList:
		return v.UUIDLists[row]
	default:
		return v.Int64s[row]
	}
}

// digest sums up an answer, whatever the order of its elements.
type digest struct {
	elements int64
	sum      uint64
}

func (d *digest) add(element string) {
	d.elements++
	d.sum += hashText(element)
}

// hashText is FNV-1a: the same in every process, as package maphash is not.
func hashText(text string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	return h
}

func (d *digest) String() string { return fmt.Sprintf("%d elements, %016x", d.elements, d.sum) }
