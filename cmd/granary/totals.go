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

A single one counts as a whole, and one with a duration is a difference already,
as those of ?seconds=10. A profile with a value that fell is a first one too.`

// maxHeld bounds the bytes of the profiles that totals holds.
const maxHeld = 256 << 20

// totals holds the profiles whose values count from the start of a process until the inputs end, because their
// differences are taken in the order of their times, and a single one of a source counts as a whole.
type totals struct {
	how     string
	deltas  *profile.Deltas // nil for countSum
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
		t.deltas = profile.NewDeltas(profile.DeltaOptions{})
	}
	return t
}

// hold holds a profile.
func (t *totals) hold(h heldProfile) {
	h.source, h.at = h.opts.Subtracted.Source, h.opts.Subtracted.Time
	t.held = append(t.held, h)
	t.bytes += len(h.data)
}

// release calls insert with the held profiles, by their times.
func (t *totals) release(insert func(heldProfile) error) {
	held, of := t.held, map[uuid.UUID]int{}
	t.held, t.bytes = nil, 0
	slices.SortStableFunc(held, func(a, b heldProfile) int { return cmp.Compare(a.at, b.at) })
	for _, h := range held {
		of[h.source]++
	}
	for _, h := range held {
		var done profile.Subtraction
		h.opts.FirstWhole, h.opts.Subtracted = t.how == countWhole || of[h.source] == 1, &done
		if insert(h) != nil || of[h.source] == 1 && done.Counted.IsAnew() {
			continue
		}
		t.counted[done.Counted]++
		for _, name := range done.Types {
			if !slices.Contains(t.types, name) {
				t.types = append(t.types, name)
			}
		}
	}
}

// countNote tells how profiles were counted. A command with flags of inputs has one.
type countNote struct {
	types []string // the cumulative types
	text  string   // "" if none is a difference
}

// note returns how profiles were counted.
func (t *totals) note() countNote {
	if len(t.counted) == 0 {
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
	part(t.counted[profile.CountedFirst]+t.counted[profile.CountedRestart], first)
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
	l.totals.release(func(h heldProfile) error {
		if err != nil {
			return err
		}
		_, failed := l.insert(ctx, h, false)
		err = told(failed)
		return failed
	})
	return err
}
