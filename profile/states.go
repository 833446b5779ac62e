package profile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/attrpath"
	"github.com/granarydb/granary/internal/rows"
)

// States assigns samples to states in a history. A sample's state is an attribute's state at the time of
// its profile. Labels of the sample identify the attribute.
type States struct {
	// History is the history of the states, with times in Unix nanoseconds. It must belong to the same
	// store as the profiles.
	History *columnstore.History
	// Path is the names that lead to the attribute. In a name, {tid} stands for the value of the label
	// tid, and {{ and }} stand for single braces. For example, "Threads", "{tid}" is the sample's thread,
	// and "CPUs", "CPU {cpu}", "Thread" is the thread that ran on its CPU. A path without labels is one
	// attribute for all samples.
	//
	// A label comes from the profile or, if the profile lacks it, from the sample, as in a Selector. If
	// neither has it, it is a number label of the sample, with any unit, in decimal. If a sample has
	// several values, the first counts.
	Path []string
}

// StateStacks has the sums by stack of the samples with one state.
type StateStacks struct {
	// Status is StateKnown, or the reason why the state is unknown.
	Status StateStatus
	// State is the attribute's value. It is null if Status is not StateKnown, or if the attribute was
	// null.
	State  history.Value
	Stacks *Stacks
}

// StateStatus is StateKnown, or a reason why a sample's state is unknown.
type StateStatus uint8

// If several reasons apply, the status is the first of them.
const (
	StateKnown       StateStatus = iota
	StateNoLabel                 // the sample lacks a label of the path
	StateNoAttribute             // the history lacks the attribute of the path
	StateNoInstant               // the profile's time is before the start of the history, or after its end

	firstState // number of the group of the first state
)

var stateStatuses = [...]string{"known", "no label", "no attribute", "no instant"}

// String returns the status as readable text.
func (s StateStatus) String() string {
	if int(s) < len(stateStatuses) {
		return stateStatuses[s]
	}
	return "unknown"
}

// MergeByState is Merge by an attribute's state at each profile's time. It returns each state's stacks,
// sorted by kind and value, and then the stacks of samples with an unknown state, by reason. Each sample
// is in one of these groups. Rows and states come from the same snapshot: it has both the rows and the
// states of a transaction, or neither.
//
// A sample's time is its profile's time: the shorter the profiles are compared with the states, the more
// exact the result. An open interval is a state like any other. A history ends with the latest instant
// written for any attribute, and a later profile has StateNoInstant. A Change at the profile's time
// avoids this, in the transaction that inserts the profile, even if the value stays the same. An
// attribute written by Add is null after its last end.
//
// It costs two to three times as much as MergeBy by the path's labels: the cost of MergeBy, 10 to 20 ns a
// row, and 50 to 150 ns for each distinct pair of an attribute and a time in a granule that the previous
// granule lacks (go test -bench MergeByState). It allocates some hundred bytes for each distinct state
// and set of labels, and 28 for each stack in a group, of which 12 remain.
//
// Gauge values are added up too, as with Query.SumGauges.
//
// Errors are as for CheckKinds and columnstore.Snapshot.History, and columnstore.ErrQuery if the history
// is nil, or if the path is empty or has a brace that does not enclose a label.
func (db *DB) MergeByState(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, states States) ([]StateStacks, error) {
	j, err := newStateJoin(db, snap, states)
	if err != nil {
		return nil, err
	}
	p := db.plan(ctx, snap, q, t)
	if err := p.oneKind(ctx, p.types, nil); err != nil {
		return nil, err
	}
	groups, err := p.sums(ctx, columnstore.AggregateOptions{By: []string{ColumnStacktrace}, AsOf: j.asOf(), NoCounts: true})
	if err != nil {
		return nil, err
	}
	const stack = 12 // its code and value
	if err := p.fits(groups, stack*len(groups.Sums)); err != nil {
		return nil, err
	}
	var out []StateStacks
	numbers := groups.Columns[1].Values.Uint64s
	for number, stacks := range divide(p, groups, numbers, int(firstState)+len(j.values)) {
		if stacks == nil {
			continue
		}
		group := StateStacks{Stacks: stacks}
		if number < int(firstState) {
			group.Status = StateStatus(number)
		} else {
			group.State = j.values[number-int(firstState)]
		}
		out = append(out, group)
	}
	slices.SortFunc(out, func(a, b StateStacks) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), a.State.Compare(b.State))
	})
	return out, nil
}

// stateJoin finds the states of a query's samples. A subject is a set of label values. A group is a
// StateStatus or, from firstState on, a state.
type stateJoin struct {
	view    *history.View
	path    attrpath.Path
	columns []string
	labelOf []int // by column: index in path.labels

	states sync.Mutex // guards the fields below
	number map[history.Value]uint32
	values []history.Value // by number minus firstState
}

// newStateJoin parses the path and finds the columns that can have its labels.
func newStateJoin(db *DB, snap *columnstore.Snapshot, states States) (*stateJoin, error) {
	path, err := attrpath.Parse(states.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: states: %w", columnstore.ErrQuery, err)
	}
	if states.History == nil {
		return nil, fmt.Errorf("%w: States.History is nil", columnstore.ErrQuery)
	}
	j := &stateJoin{path: path, number: map[history.Value]uint32{}}
	if j.view, err = snap.History(states.History); err != nil {
		return nil, err
	}
	all, err := db.table.Columns(snap)
	if err != nil {
		return nil, err
	}
	for i, name := range path.Labels {
		columns := textColumns(name)
		if rows.IDType(name) != 0 {
			columns = append(columns, name)
		}
		for _, column := range all {
			if family, rest, _ := strings.Cut(column, "."); family == ColumnPprofNumLabels && isFirstNumber(rest, name) {
				columns = append(columns, column)
			}
		}
		j.columns = append(j.columns, columns...)
		j.labelOf = append(j.labelOf, slices.Repeat([]int{i}, len(columns))...)
	}
	return j, nil
}

// isFirstNumber reports whether a column of number labels has the first values of a label.
func isFirstNumber(column, label string) bool {
	name, k, _ := rows.CutNumber(column)
	name, _ = rows.CutUnit(name)
	return k == 0 && name == label
}

func (j *stateJoin) asOf() *columnstore.AsOf {
	return &columnstore.AsOf{Time: ColumnTimestamp, Of: j.columns, New: func(take func(bytes int64) error) columnstore.CaseFinder {
		return &stateFinder{
			join: j, take: take, known: map[history.Value]uint32{}, common: make([]stateGroup, 0, 8),
			labels: []stateLabels{{values: make([]string, len(j.path.Labels))}}, index: map[stateLabel]uint32{},
		}
	}}
}

// state returns the number of a value's group, and assigns it if the value is new.
func (j *stateJoin) state(v history.Value, take func(bytes int64) error) (uint32, error) {
	j.states.Lock()
	defer j.states.Unlock()
	number, known := j.number[v]
	if known {
		return number, nil
	}
	const state = 200 // bytes in the map and the slice, including growth
	if err := take(int64(state + len(v.Text()))); err != nil {
		return 0, err
	}
	number = uint32(firstState) + uint32(len(j.values))
	j.number[v] = number
	j.values = append(j.values, v)
	return number, nil
}

// stateFinder finds states for one goroutine. It is a columnstore.CaseFinder.
type stateFinder struct {
	join   *stateJoin
	take   func(bytes int64) error
	labels []stateLabels         // by subject
	index  map[stateLabel]uint32 // subjects with one more value
	known  map[history.Value]uint32
	common []stateGroup // first elements of known; they suffice for most attributes

	missing []int64
}

type stateGroup struct {
	value history.Value
	group uint32
}

// stateLabel is a label value that is added to a subject.
type stateLabel struct {
	number uint32
	label  int
	value  string
}

// stateLabels has the label values of a subject, and the attribute that they identify.
type stateLabels struct {
	values []string // by label; empty if there is none yet

	found     bool // the attribute was looked up
	status    StateStatus
	attribute history.Attribute
	times     []int64 // times of the last call, and their groups
	groups    []uint32
}

// Subject adds the value of a label to a subject, unless the subject has a value for that label.
func (f *stateFinder) Subject(subject uint32, column int, v columnstore.Cell) (uint32, error) {
	label := f.join.labelOf[column]
	if v.Null || f.labels[subject].values[label] != "" {
		return subject, nil
	}
	return f.with(stateLabel{subject, label, f.join.text(column, v)})
}

// text returns the value of a label as text.
func (j *stateJoin) text(column int, v columnstore.Cell) string {
	switch name := j.columns[column]; {
	case name == ColumnTraceID:
		return rows.IDText(uuid.UUID(v.Bytes))
	case name == ColumnSpanID:
		return rows.IDText(v.Word)
	case strings.HasPrefix(name, ColumnPprofNumLabels+"."):
		return strconv.FormatInt(encoding.ToInt64(v.Word), 10)
	}
	return string(v.Bytes)
}

// with returns the subject with one more value, and adds it if it is new.
func (f *stateFinder) with(key stateLabel) (uint32, error) {
	if key.value == "" {
		return key.number, nil
	}
	number, known := f.index[key]
	if known {
		return number, nil
	}
	const labels, value = 400, 16 // bytes in the map and the slice, including growth
	values := slices.Clone(f.labels[key.number].values)
	if err := f.take(int64(labels + value*len(values) + len(key.value))); err != nil {
		return 0, err
	}
	values[key.label] = key.value
	number = uint32(len(f.labels))
	f.labels = append(f.labels, stateLabels{values: values})
	f.index[key] = number
	return number, nil
}

// Groups sets a subject's groups at ascending times.
func (f *stateFinder) Groups(subject uint32, times []int64, groups []uint32) error {
	l := &f.labels[subject]
	if !l.found {
		l.found = true
		l.status = f.find(l)
	}
	view, status, lo, hi := f.join.view, l.status, 0, 0
	if status == StateKnown {
		status = StateNoInstant
		if view.Instants() {
			lo, _ = slices.BinarySearch(times, view.Start())
			hi = sort.Search(len(times), func(i int) bool { return times[i] > view.End() })
		}
	}
	if lo >= hi {
		lo, hi = 0, 0
	}
	for i := range groups {
		if i < lo || i >= hi {
			groups[i] = uint32(status)
		}
	}
	return f.states(l, times[lo:hi], groups[lo:hi])
}

// states sets the groups at times within the history. It keeps the last answers, because granules in a
// bucket mostly ask for the same times.
func (f *stateFinder) states(l *stateLabels, times []int64, groups []uint32) error {
	f.missing = f.missing[:0]
	k := 0
	for i, t := range times {
		for k < len(l.times) && l.times[k] < t {
			k++
		}
		if groups[i] = 0; k < len(l.times) && l.times[k] == t {
			groups[i] = l.groups[k]
		} else {
			f.missing = append(f.missing, t)
		}
	}
	if len(f.missing) == 0 {
		return nil
	}
	if err := f.look(l.attribute, times, groups); err != nil {
		return err
	}
	if more := len(times) - cap(l.times); more > 0 {
		const time = 2 * 12 // bytes, including growth
		if err := f.take(int64(time * more)); err != nil {
			return err
		}
	}
	l.times, l.groups = append(l.times[:0], times...), append(l.groups[:0], groups...)
	return nil
}

// look sets the groups that are 0, at the missing times.
func (f *stateFinder) look(a history.Attribute, times []int64, groups []uint32) error {
	intervals, err := f.join.view.Sample([]history.Attribute{a}, f.missing)
	if err != nil {
		return err
	}
	i := 0
	for k := range intervals.Len() {
		_, in := intervals.At(k)
		group, err := f.group(in.Value)
		if err != nil {
			return err
		}
		for ; i < len(times) && times[i] <= in.End; i++ {
			if groups[i] == 0 {
				groups[i] = group
			}
		}
	}
	return nil
}

// group returns a state's group.
func (f *stateFinder) group(v history.Value) (uint32, error) {
	for i := range f.common {
		if f.common[i].value.Equal(v) {
			return f.common[i].group, nil
		}
	}
	group, known := f.known[v]
	if !known {
		var err error
		if group, err = f.join.state(v, f.take); err != nil {
			return 0, err
		}
		f.known[v] = group
		if len(f.common) < cap(f.common) {
			f.common = append(f.common, stateGroup{v, group})
		}
	}
	return group, nil
}

// find looks up the attribute of a label set.
func (f *stateFinder) find(l *stateLabels) StateStatus {
	if slices.Contains(l.values, "") {
		return StateNoLabel
	}
	var err error
	if l.attribute, err = f.join.view.Lookup(f.join.path.Names(l.values)...); err != nil {
		return StateNoAttribute
	}
	return StateKnown
}
