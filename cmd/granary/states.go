package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/states"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/trace/golang"
)

const stateHelp = `With --state the answer has the samples that were taken in a state: of an input
that is a Go execution trace, or with --db of a history beside the profiles. The
state is that of the sample's goroutine, or of --of. What ran while goroutine 17
waited for a lock is --of Goroutines/17 --state 'waiting (sync)'.`

// stateChoice holds the flags that choose samples by the state of an attribute at their time.
type stateChoice struct {
	state, of, history string
	isSet              bool
	tenant             *string
}

// stateFlags adds the flags.
func (s *selection) stateFlags(cmd *cobra.Command) {
	c := &stateChoice{tenant: &s.tenant}
	s.states = c
	cmd.Flags().StringVar(&c.state, "state", "", "only samples that were taken while the goroutine, or --of, was in the `STATE`, such as 'waiting (sync)' or running")
	cmd.Flags().StringVar(&c.of, "of", "", "with --state: the `ATTRIBUTE` with the state, such as Goroutines/17 or, with a label of samples, 'Goroutines/{goid}', which is the default")
	cmd.Flags().StringVar(&c.history, "history", "", "with --state: the `NAME` of the history with the states, if there are several")
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		c.isSet = cmd.Flags().Changed("state")
		if !c.isSet && (c.of != "" || c.history != "") {
			return cli.Usage(errors.New("--of and --history are for --state"))
		}
		if before == nil {
			return nil
		}
		return before(cmd, args)
	}
}

// asksStates reports whether the answer needs states.
func (s *selection) asksStates() bool { return s.states != nil && s.states.isSet }

// merge merges the chosen samples of a query for one type.
func (s *selection) merge(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) (*merged, error) {
	if !s.asksStates() {
		return merge(ctx, db, snap, q, t)
	}
	join, err := s.states.join(snap, db)
	if err != nil {
		return nil, err
	}
	groups, err := db.MergeByState(ctx, snap, t, q, join)
	if err != nil {
		return nil, err
	}
	var there []string
	for _, g := range groups {
		text := g.Status.String() + " (of the attribute at the sample's time)"
		if g.Status == profile.StateKnown {
			if text = states.StateText(g.State); text == s.states.state {
				return &merged{Stacks: g.Stacks}, nil
			}
		}
		there = append(there, fmt.Sprintf("%s %s", cli.Printable(text), profile.FormatValue(g.Stacks.Total, t.SampleUnit)))
	}
	if len(there) == 0 {
		return nil, errors.New("there are no samples to choose from by their state")
	}
	return nil, fmt.Errorf("no sample was taken while %s was %q; there are: %s", pathText(join.Path), s.states.state, strings.Join(there, ", "))
}

func pathText(names []string) string { return cli.Printable(strings.Join(names, "/")) }

// join returns the history and the attribute of the flags.
func (c *stateChoice) join(snap *columnstore.Snapshot, db *profile.DB) (out profile.States, err error) {
	names := profile.TenantHistories(db.Store(), *c.tenant)
	name := c.history
	switch {
	case name == "" && len(names) == 1:
		name = names[0]
	case len(names) == 0:
		return out, errors.New("there are no states: --state is for an input that is a Go execution trace, and for --db with a history beside the profiles")
	case !slices.Contains(names, name):
		slices.Sort(names)
		return out, cli.Usage(fmt.Errorf("--history %q: want one of %s", name, cli.Printable(strings.Join(names, ", "))))
	}
	out.History = profile.TenantHistory(db.Store(), *c.tenant, name)
	if c.of == "" {
		view, err := snap.History(out.History)
		if err != nil {
			return out, err
		}
		out.Path = []string{golang.Goroutines, "{goid}"}
		if _, err := view.Lookup(golang.Goroutines, "0", "goid"); err == nil { // numbers are those of places
			out.Path[1] = "{track}"
		}
		return out, nil
	}
	if out.Path, err = states.AttributePath(c.of); err != nil {
		return out, cli.Usage(fmt.Errorf("--of: %w", err))
	}
	return out, nil
}

// pprof returns the stacks as a profile of their type.
func (m *merged) pprof() *pprof.Profile {
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: m.Type.Sample, Unit: m.Type.SampleUnit}},
		PeriodType: &pprof.ValueType{Type: m.Type.Period, Unit: m.Type.PeriodUnit},
	}
	locations, functions := map[profile.Frame]*pprof.Location{}, map[profile.Frame]*pprof.Function{}
	for frames, value := range m.All() {
		sample := &pprof.Sample{Value: []int64{value}}
		for _, f := range frames {
			l := locations[f]
			if l == nil {
				of := profile.Frame{Function: f.Function, File: f.File}
				if functions[of] == nil {
					functions[of] = &pprof.Function{ID: uint64(len(functions) + 1), Name: f.Function, SystemName: f.Function, Filename: f.File}
					p.Function = append(p.Function, functions[of])
				}
				l = &pprof.Location{ID: uint64(len(locations) + 1), Line: []pprof.Line{{Function: functions[of], Line: f.Line}}}
				locations[f] = l
				p.Location = append(p.Location, l)
			}
			sample.Location = append(sample.Location, l)
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}
