package profile

import (
	"github.com/granarydb/granary/columnstore"
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
	// the thread that ran on its CPU. A path without labels is one attribute for all samples.
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

// A state is known, or it is not for the first of these reasons that holds.
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
