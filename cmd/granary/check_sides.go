package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/check"
	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// Labels of runs.
const (
	labelOps   = "ops"   // the number of operations that a profile measured
	labelBench = "bench" // the benchmark
)

// checked is one type of one side, by kind.
type checked struct {
	typ    profile.Type
	kind   string // the label __name__, and the benchmark
	bench  string
	side   check.Side
	merged *merged // all runs
}

// checkedPair is a type of both sides.
type checkedPair struct {
	measured check.Measured
	sides    [2]*checked
}

func measuredOf(pairs []checkedPair) (all []check.Measured) {
	for _, p := range pairs {
		all = append(all, p.measured)
	}
	return all
}

// read reads both sides and returns the types that both have.
func (o *checkOptions) read(cmd *cobra.Command, args []string) ([]checkedPair, error) {
	var of [2][]*checked
	sides := o.sidesOf(args)
	for i, side := range sides {
		err := withInputs(cmd, side.selection, side.inputs, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) (err error) {
			of[i], err = o.collect(ctx, db, snap, q, len(side.db) == 0)
			return err
		})
		if err != nil { // also of a part of the inputs: a gate must not decide by the rest
			return nil, fmt.Errorf("%s: %w", side.name, err)
		}
		addEmptyRuns(of[i])
		if len(of[i]) == 0 {
			return nil, fmt.Errorf("%s: no samples to compare", side.name)
		}
	}
	pairs := o.pair(of)
	if len(pairs) == 0 {
		return nil, fmt.Errorf("no type of values is on both sides: %s has %s, %s has %s", sides[0].name, typesOf(of[0]), sides[1].name, typesOf(of[1]))
	}
	return pairs, nil
}

func typesOf(all []*checked) string {
	var names []string
	for _, c := range all {
		if name := typeName(c.typ); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return listed(names, ", ")
}

// collect returns what the profiles of a query measured, by type and kind. withStates says that histories are of the inputs, not
// those of a directory, which the query does not choose from.
func (o *checkOptions) collect(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, withStates bool) ([]*checked, error) {
	types, err := o.types(ctx, db, snap, q)
	if err != nil {
		return nil, err
	}
	q.SumKinds = true // they are apart by kind
	windows, err := o.windows(ctx, db, snap, q)
	if err != nil {
		return nil, err
	}
	var all []*checked
	for _, t := range types {
		if t == statesType {
			if withStates {
				states, err := collectStates(ctx, db, snap)
				if err != nil {
					return nil, err
				}
				all = append(all, states...)
			}
			continue
		}
		kinds, err := o.collectType(ctx, db, snap, q, t, windows)
		if err != nil {
			return nil, err
		}
		all = append(all, kinds...)
	}
	return all, nil
}

// types returns the types that are compared: the named ones, or all of the profiles, and the states of traces.
func (o *checkOptions) types(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) (types []profile.Type, err error) {
	if o.sampleIndex == "" {
		types, err = presentTypes(ctx, db, snap, q)
		return append(types, statesType), err
	}
	for name := range strings.SplitSeq(o.sampleIndex, ",") {
		t := statesType
		if name != t.Sample {
			if t, err = findType(ctx, db, snap, q, name); err != nil {
				return nil, err
			}
		}
		types = append(types, t)
	}
	return types, nil
}

// windows returns the queries of the runs: one, or with --run DURATION one for each span of time.
func (o *checkOptions) windows(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) ([]profile.Query, error) {
	step := int64(o.window())
	if step == 0 {
		return []profile.Query{q}, nil
	}
	first, last, err := spanOfTimes(ctx, db, snap)
	if err != nil {
		return nil, err
	}
	if first = max(first, q.From); q.To != 0 {
		last = min(last, q.To-1)
	}
	if (last-first)/step >= check.MaxRuns {
		return nil, cli.Usage(fmt.Errorf("--run %s makes more than %d runs of %s", o.run, check.MaxRuns, time.Duration(last-first)))
	}
	var all []profile.Query
	for from := first; from <= last; from += step {
		w := q
		w.From, w.To = max(1, from), from+step
		if q.To != 0 {
			w.To = min(w.To, q.To)
		}
		all = append(all, w)
	}
	return all, nil
}

// collectType returns the runs of a type, by kind.
func (o *checkOptions) collectType(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type, windows []profile.Query) ([]*checked, error) {
	by := []string{profile.NameLabel, labelBench, labelOps}
	if o.window() == 0 && !slices.Contains(by, o.run) {
		by = append(by, o.run)
	}
	var all []*checked
	for _, w := range windows {
		groups, err := db.MergeBy(ctx, snap, t, w, by...)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			if g.Stacks.Len() == 0 {
				continue
			}
			label := func(name string) string {
				if i := slices.IndexFunc(g.Labels, func(l profile.Label) bool { return l.Name == name }); i >= 0 {
					return g.Labels[i].Value
				}
				return ""
			}
			kind := strings.Trim(label(profile.NameLabel)+" "+label(labelBench), " ")
			i := slices.IndexFunc(all, func(c *checked) bool { return c.kind == kind })
			if i < 0 {
				i = len(all)
				c, err := o.newChecked(ctx, db, snap, q, t, kind, g.Labels)
				if err != nil {
					return nil, err
				}
				c.bench = label(labelBench)
				all = append(all, c)
			}
			all[i].side.Runs = append(all[i].side.Runs, runOf(g.Stacks, label(labelOps)))
		}
	}
	if err := setPeriods(ctx, db, snap, q, t, all); err != nil {
		return nil, err
	}
	return all, nil
}

// newChecked returns a kind with all of its runs merged, whose labels __name__ and bench are those of one of its groups.
func (o *checkOptions) newChecked(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type, kind string, labels []profile.Label) (*checked, error) {
	for _, name := range []string{profile.NameLabel, labelBench} {
		value := ""
		for _, l := range labels {
			if l.Name == name {
				value = l.Value
			}
		}
		only, err := profile.ParseSelector("{" + name + "=" + strconv.Quote(value) + "}")
		if err != nil {
			return nil, err
		}
		q.Selector = q.Selector.And(only)
	}
	m, err := merge(ctx, db, snap, q, t)
	if err != nil {
		return nil, err
	}
	callers := func(function string) (names []string) {
		for _, c := range m.Sandwich(function).Callers {
			names = append(names, c.Name)
		}
		return names
	}
	return &checked{typ: t, kind: kind, merged: m, side: check.Side{Callers: callers}}, nil
}

// runOf returns the run of stacks.
func runOf(stacks *profile.Stacks, operations string) check.Run {
	r := check.Run{Total: float64(stacks.Magnitude), Functions: map[string]check.Cost{}}
	if n, err := strconv.ParseFloat(operations, 64); err == nil && n >= 1 && n < 1e18 {
		r.Operations = n
	}
	for _, f := range stacks.Top() {
		r.Functions[f.Name] = check.Cost{Self: float64(f.Flat), Total: float64(f.Cum)}
	}
	return r
}

// setPeriods sets the value of a sample, for a type that is sampled by its own values.
func setPeriods(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type, all []*checked) error {
	if t.Sample != t.Period || t.SampleUnit != t.PeriodUnit || t.IsGauge() {
		return nil
	}
	infos, err := db.Profiles(ctx, snap, t, q)
	if err != nil {
		return err
	}
	period := int64(0)
	for _, info := range infos {
		period = max(period, info.Period)
	}
	for _, c := range all {
		for i := range c.side.Runs {
			c.side.Runs[i].Period = float64(period)
		}
	}
	return nil
}

// addEmptyRuns adds the runs of benchmarks whose profiles have no sample of a type, which the store does not know. Each run of a
// benchmark has all types.
func addEmptyRuns(all []*checked) {
	most := map[string]int{}
	for _, c := range all {
		most[c.bench] = max(most[c.bench], len(c.side.Runs))
	}
	for _, c := range all {
		for c.bench != "" && len(c.side.Runs) < most[c.bench] {
			empty := c.side.Runs[0]
			empty.Total, empty.Functions = 0, map[string]check.Cost{}
			c.side.Runs = append(c.side.Runs, empty)
		}
	}
}

// pair returns the types that both sides have. A kind without a name can be any, as its file may have been renamed.
func (o *checkOptions) pair(of [2][]*checked) (pairs []checkedPair) {
	same := func(a, b *checked) bool { return a.typ.Sample == b.typ.Sample && a.typ.SampleUnit == b.typ.SampleUnit }
	alone := func(of []*checked, a *checked) bool {
		return !slices.ContainsFunc(of, func(c *checked) bool { return c != a && same(a, c) })
	}
	for _, a := range of[0] {
		for _, b := range of[1] {
			if !same(a, b) || a.kind != b.kind && (a.kind != "" && b.kind != "" || !alone(of[0], a) || !alone(of[1], b)) {
				continue
			}
			m := check.Measured{Sample: a.typ.Sample, Unit: a.typ.SampleUnit, Kind: cmp.Or(a.kind, b.kind), IsGauge: a.typ.IsGauge(), Sides: [2]check.Side{a.side, b.side}}
			pairs = append(pairs, checkedPair{m, [2]*checked{a, b}})
		}
	}
	if o.sampleIndex != "" {
		return pairs
	}
	return slices.DeleteFunc(pairs, func(p checkedPair) bool {
		t := p.sides[0].typ
		isCount := t.Sample == "samples" && len(pairs) > 1              // of the samples of another type
		isLeft := t.IsGauge() && p.sides[0].side.Runs[0].Operations > 0 // the heap at a benchmark's end is that of package testing
		return isCount || isLeft
	})
}

// draw draws the difference of the first type that is worse, or of the first type.
func (o *checkOptions) draw(cmd *cobra.Command, pairs []checkedPair, report *check.Report) error {
	i := slices.IndexFunc(pairs, func(p checkedPair) bool { return p.sides[0].merged != nil })
	if i < 0 {
		return errors.New("--svg: states have no stacks to draw")
	}
	for j, t := range report.Types {
		if t.IsWorse() && pairs[j].sides[0].merged != nil {
			i = j
			break
		}
	}
	p, t := pairs[i], report.Types[i]
	o2 := diffOptions{}
	switch t.By {
	case check.PerTotal:
		o2.normalize = true
	case check.PerOperation:
		o2.scale = operations(p.measured.Sides[0]) / operations(p.measured.Sides[1])
	default:
		o2.scale = float64(t.Runs[0]) / float64(t.Runs[1])
	}
	d, err := compare(p.sides[0].merged, p.sides[1].merged, &o2)
	if errors.Is(err, profile.ErrScale) {
		return fmt.Errorf("--svg: %w", err)
	} else if err != nil {
		return err
	}
	return cli.WriteOutput(cmd, o.svg, func(w io.Writer) error { return d.draw(w, 0) })
}

// operations returns the operations of all runs.
func operations(s check.Side) (n float64) {
	for _, r := range s.Runs {
		n += r.Operations
	}
	return n
}
