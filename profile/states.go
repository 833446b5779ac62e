package profile

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/history"
)

// States says which state of a history a sample belongs to: that of an attribute, which is
// found by labels of the sample, at the time of the sample's profile.
type States struct {
	// History has the states, with times in Unix nanoseconds. It must be of the store that
	// the profiles are in.
	History *columnstore.History
	// Path is the names that lead to the attribute. In a name, {tid} stands for the value
	// of the label tid, and {{ and }} for one brace; all else stands for itself. So
	// "Threads", "{tid}" is the thread of the sample, and "CPUs", "CPU {cpu}", "Thread" is
	// what ran on its CPU. A path without labels is one attribute for all samples.
	//
	// A name in braces means a label of the profile first, and of the sample where the
	// profile has none, as in a Selector; then a number label of the sample, of any unit, in
	// decimal. Of several values of a sample the first counts.
	Path []string
}

// StateStacks is the sum by stack of the samples that share a state.
type StateStacks struct {
	// Status says whether there is a state, or why not.
	Status StateStatus
	// State is the value of the attribute. It is null if Status is not StateKnown, and
	// where the attribute was null.
	State  history.Value
	Stacks *Stacks
}

// StateStatus says whether the state of a sample is known.
type StateStatus uint8

// What can be with a state. Of several reasons the first one is given.
const (
	StateKnown       StateStatus = iota
	StateNoLabel                 // the sample lacks a label of the path
	StateNoAttribute             // the history has no attribute of the path
	StateNoInstant               // the profile's time is before the start of the history, or after its end

	firstState // number of the group of the first state
)

var stateStatuses = [...]string{"known", "no label", "no attribute", "no instant"}

// String returns the status for people.
func (s StateStatus) String() string {
	if int(s) < len(stateStatuses) {
		return stateStatuses[s]
	}
	return "unknown"
}

// MergeByState is Merge by the state that an attribute was in at the time of each profile:
// the stacks of each state, sorted by kind and value, and then of the samples of which no
// state is known, by the reason. Each sample is in one of them. Rows and states are those of
// the snapshot: what one transaction wrote to both is seen in both.
//
// The time of a sample is that of its profile: it says more the shorter profiles are
// against states. An interval that has not ended is a state like others, but a history ends
// with the latest instant that anything was said of, of any attribute: a profile later than
// that is StateNoInstant. A Change at the profile's time, in the transaction that inserts it,
// sees to that, be it to the value that is there. What Add fed is null behind its last end.
//
// It costs twice to three times what MergeBy does by the labels: that, 10 to 20 ns a row, and
// 50 to 150 ns for each distinct pair of an attribute and a time in a granule that the one
// before did not have (go test -bench MergeByState). It allocates some hundred bytes for
// each distinct state and set of labels, and 28 for each stack of a group, 12 of which stay.
//
// Errors are those of Aggregate and of columnstore.Snapshot.History; columnstore.ErrQuery for
// a path that is empty, or has a brace without a label between it and the next.
func (db *DB) MergeByState(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, states States) ([]StateStacks, error) {
	j, err := db.newStateJoin(snap, states)
	if err != nil {
		return nil, err
	}
	groups, err := db.table.Aggregate(ctx, snap, columnstore.AggregateOptions{
		Sum: ColumnValue, By: []string{ColumnStacktrace}, AsOf: j.asOf(), Where: q.Expr(t), NoCounts: true, MaxBytes: q.MaxBytes,
	})
	if err != nil {
		return nil, err
	}
	const stack = 12 // its code and value
	if err := q.fits(groups, stack*len(groups.Sums)); err != nil {
		return nil, err
	}
	var out []StateStacks
	for number, stacks := range divide(t, groups) {
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
		return cmp.Or(cmp.Compare(a.Status, b.Status), compareValues(a.State, b.State))
	})
	return out, nil
}

// divide returns the stacks of groups that have numbers, by number: nil of one that none
// has.
func divide(t Type, groups *columnstore.Groups) []*Stacks {
	lists, numbers := &groups.Columns[0], groups.Columns[1].Values.Uint64s
	if len(numbers) == 0 {
		return nil
	}
	ends := make([]int, slices.Max(numbers)+1) // of each number's stacks
	for _, n := range numbers {
		ends[n]++
	}
	sizes, at := slices.Clone(ends), 0
	for i, n := range sizes {
		ends[i] = at
		at += n
	}
	codes, values := make([]uint32, at), make([]int64, at)
	for row, n := range numbers {
		codes[ends[n]], values[ends[n]] = lists.Codes[row], groups.Sums[row]
		ends[n]++
	}
	symbols := newSymbols(lists.Lists, lists.Codes)
	out := make([]*Stacks, len(ends))
	for i, n := range sizes {
		if lo, hi := ends[i]-n, ends[i]; n > 0 {
			out[i] = newStacks(t, symbols, codes[lo:hi:hi], values[lo:hi:hi])
		}
	}
	return out
}

// compareValues orders values by kind, numbers by size, texts by bytes.
func compareValues(a, b history.Value) int {
	return cmp.Or(
		cmp.Compare(a.Kind(), b.Kind()),
		cmp.Compare(encoding.FromBool(a.Bool()), encoding.FromBool(b.Bool())),
		cmp.Compare(a.Int(), b.Int()),
		cmp.Compare(a.Float(), b.Float()), cmp.Compare(math.Float64bits(a.Float()), math.Float64bits(b.Float())),
		strings.Compare(a.Text(), b.Text()),
	)
}
