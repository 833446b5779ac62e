package profile

import (
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
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
