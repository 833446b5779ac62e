package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

// The values of --cumulative.
const (
	countGrowth = "growth"
	countWhole  = "whole"
	countSum    = "sum"
)

const cumulativeHelp = `Some values count from the start of a process: the allocations of Go's heap, and
the contentions and delay of its block and mutex profiles. Several profiles of
one program with equal labels, apart from file, become differences, in the order
of their times. --cumulative chooses how:

  growth  each as what came since the one before, the first as nothing
  whole   likewise, but the first as a whole
  sum     none is a difference, as with go tool pprof

Where a value fell, another process begins. The only profile of a process counts
as a whole. One with a duration is a difference already, as of ?seconds=10.`

// maxHeld bounds the bytes of the profiles that totals holds.
const maxHeld = 256 << 20

// totals holds the profiles whose values count from the start of a process until the inputs end, because their
// differences are taken in the order of their times, and the only one of a process counts as a whole.
type totals struct {
	how     string
	deltas  *profile.Deltas // nil for countSum
	probe   *profile.Deltas // tells which profiles to hold, in memory alone: the file of deltas has only stored ones
	held    []heldProfile
	bytes   int
	types   []string // the cumulative types
	counted map[profile.Counting]int
}

// heldProfile is an input whose profile waits for those before it.
type heldProfile struct {
	name   string
	data   []byte
	opts   profile.InsertOptions
	source uuid.UUID
	at     int64
}

func newTotals(how string) *totals {
	t := &totals{how: how, counted: map[profile.Counting]int{}}
	if how != countSum {
		t.deltas, t.probe = profile.NewDeltas(profile.DeltaOptions{}), profile.NewDeltas(profile.DeltaOptions{})
	}
	return t
}

// hold holds a profile.
func (t *totals) hold(h heldProfile) {
	h.source, h.at = h.opts.Subtracted.Source, h.opts.Subtracted.Time
	t.held = append(t.held, h)
	t.bytes += len(h.data)
}

// release calls insert with the held profiles, by their times. examine returns how a Deltas counts one without storing it.
func (t *totals) release(examine func(heldProfile, *profile.Deltas) profile.Counting, insert func(heldProfile) error) {
	held := t.held
	t.held, t.bytes = nil, 0
	slices.SortStableFunc(held, func(a, b heldProfile) int { return cmp.Compare(a.at, b.at) })
	alone := alone(held, examine)
	for i, h := range held {
		var done profile.Subtraction
		h.opts.FirstWhole, h.opts.Subtracted = t.how == countWhole || alone[i], &done
		if insert(h) != nil {
			continue
		}
		as := done.Counted
		if as.IsAnew() {
			as = profile.CountedFirst
			if alone[i] {
				as = profile.CountedAsSent
			}
		}
		t.counted[as]++
		for _, name := range done.Types {
			if !slices.Contains(t.types, name) {
				t.types = append(t.types, name)
			}
		}
	}
}

// alone returns which profiles, by their times, are the only ones of a process: they start anew, and so does the next of their
// source. Files of many processes in one folder are such.
func alone(held []heldProfile, examine func(heldProfile, *profile.Deltas) profile.Counting) []bool {
	of, deltas := map[uuid.UUID]int{}, profile.NewDeltas(profile.DeltaOptions{})
	for _, h := range held {
		of[h.source]++
	}
	counted := make([]profile.Counting, len(held))
	for i, h := range held {
		if counted[i] = profile.CountedFirst; of[h.source] > 1 {
			counted[i] = examine(h, deltas)
		}
	}
	out, continues := make([]bool, len(held)), map[uuid.UUID]bool{}
	for i, h := range slices.Backward(held) {
		out[i] = counted[i].IsAnew() && !continues[h.source]
		if counted[i] != profile.CountedLate {
			continues[h.source] = !counted[i].IsAnew()
		}
	}
	return out
}

// countNote tells how profiles were counted. A command with flags of inputs has one.
type countNote struct {
	types []string // the cumulative types
	text  string   // "" if none is a difference
}

// note returns how profiles were counted.
func (t *totals) note() countNote {
	if len(t.counted) == 0 || len(t.counted) == 1 && t.counted[profile.CountedAsSent] > 0 {
		return countNote{}
	}
	var parts []string
	part := func(n int, as string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, as))
		}
	}
	part(t.counted[profile.CountedGrowth], "as what came since the one before")
	part(t.counted[profile.CountedLate], "as nothing, since a later one came before")
	first := "as nothing, the first of a source, which --cumulative whole counts"
	if t.how == countWhole {
		first = "as a whole, the first of a source"
	}
	part(t.counted[profile.CountedFirst], first)
	part(t.counted[profile.CountedAsSent], "as a whole, the only one of a process")
	return countNote{t.types, fmt.Sprintf("values since the start of a process (%s): %s", cli.Printable(strings.Join(t.types, ", ")), strings.Join(parts, ", "))}
}

// noteTotals reports on standard error, once, how profiles were counted, if an answer about sample types has a cumulative one.
func (f *inputFlags) noteTotals(cmd *cobra.Command, types ...string) {
	if f.note == nil || f.note.text == "" {
		return
	}
	if slices.ContainsFunc(f.note.types, func(name string) bool { return slices.Contains(types, name) }) {
		fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s\n", f.note.text)
		f.note.text = ""
	}
}

// addHeld inserts the held profiles.
func (l *loaded) addHeld(ctx context.Context, told func(error) error) (err error) {
	examine := func(h heldProfile, deltas *profile.Deltas) profile.Counting {
		var of profile.Subtraction
		h.opts.Deltas, h.opts.Subtracted = deltas, &of
		tx := l.store.Begin()
		_, _ = format.InsertTx(ctx, l.db, tx, h.data, format.Hints{}, h.opts) // insert gets the error too
		tx.Abort()
		return of.Counted
	}
	l.totals.release(examine, func(h heldProfile) error {
		if err != nil {
			return err
		}
		_, failed := l.insert(ctx, h, false)
		err = told(failed)
		return failed
	})
	return err
}
