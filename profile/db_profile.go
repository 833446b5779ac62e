package profile

import (
	"context"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
)

// Profile merges a query's profiles into one pprof profile. It has samples by stack and labels, as go
// tool pprof -proto has them for files, but gauges are means unless Query.SumGauges is set. It has the
// least time, the sum of the durations, and the greatest period. Its sample types are only, or the types
// of all profiles, with 0 where a profile lacks a type; pprof keeps only types that all profiles have. It
// lacks labels of whole profiles, and comments, because the store does not keep them, and the patterns
// drop_frames and keep_frames, because inserts have applied them. Without rows the profile has no
// samples.
//
// Profiles with the same time, duration, period and labels count as one. With Query.Function or Frames,
// or a Selector for sample labels, the profile has only the selected samples. With Query.NoSampleLabels
// it has samples by stack alone.
//
// It costs as much as three calls of columnstore.Table.Aggregate, and about 1 us a sample. The profile
// belongs to the caller. Errors are as for CheckKinds for each type, and a MixedError if the profiles
// have several period types, which a Type or a Selector avoids. With a type of AnyPeriod the profile has the period type that all
// have, or none.
func (db *DB) Profile(ctx context.Context, snap *columnstore.Snapshot, q Query, only ...Type) (*pprof.Profile, error) {
	p := db.plan(ctx, snap, q, only...)
	types, err := p.outputTypes(ctx)
	if err != nil {
		return nil, err
	}
	groups, err := p.sum(ctx, types, columnstore.AggregateOptions{By: p.sampleColumns()})
	if err != nil {
		return nil, err
	}
	if err := p.fits(groups, sampleBytes*len(groups.Sums)); err != nil {
		return nil, err
	}
	b := newPprofBuilder(ctx, p, types, groups)
	rows := make([]int, len(groups.Sums))
	for i := range rows {
		rows[i] = i
	}
	if err := b.addSamples(ctx, rows); err != nil {
		return nil, err
	}
	b.assembler.ProgramFirst()
	lists, err := db.typeLists(snap)
	if err != nil {
		return nil, err
	}
	b.out.DefaultSampleType = shownFirst(lists.all, types)
	if err := p.addHeader(ctx, b.out); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(types, Type.isOfAnyPeriod) {
		b.out.Period = 0
	}
	return b.out, nil
}

// sampleColumns returns the columns that tell the samples in a profile apart, and the columns of their
// types.
func (p *plan) sampleColumns() []string {
	by := []string{ColumnStacktrace, ColumnSampleType, ColumnSampleUnit}
	if !p.q.NoSampleLabels {
		by = append(by, ColumnTraceID, ColumnSpanID, ColumnPprofLabels, ColumnPprofNumLabels)
	}
	return by
}

// outputTypes returns the sample types of the answer.
func (p *plan) outputTypes(ctx context.Context) ([]Type, error) {
	present, err := p.presentTypes(ctx)
	if err != nil {
		return nil, err
	}
	several := slices.ContainsFunc(present, func(t Type) bool { return t.Period != present[0].Period || t.PeriodUnit != present[0].PeriodUnit })
	if ofAny := slices.ContainsFunc(p.types, Type.isOfAnyPeriod); ofAny && !several && len(present) > 0 {
		types := slices.Clone(p.types)
		for i := range types {
			types[i].Period, types[i].PeriodUnit = present[0].Period, present[0].PeriodUnit
		}
		return types, nil
	} else if several && !ofAny {
		s, err := p.kindSources(ctx)
		if err != nil {
			return nil, err
		}
		return nil, &MixedError{Periods: true, Kinds: s.kinds(s.sources, s.kindOf, func(u Type) bool { return slices.Contains(present, u) })}
	}
	if len(p.types) > 0 {
		return p.types, nil
	}
	lists, err := p.db.typeLists(p.snap)
	if err != nil {
		return nil, err
	}
	return inOrder(lists.all, present), nil
}

// inOrder returns the types of the first list that has all present types, because that includes types
// whose values are all zero. If no list has all of them, it returns the present types, in the order of
// the lists.
func inOrder(lists []typeList, present []Type) []Type {
	var all, out typeSet
	for _, l := range lists {
		if !slices.ContainsFunc(present, func(t Type) bool { return !slices.Contains(l.Types, t) }) {
			return slices.Clone(l.Types)
		}
		all.add(l.Types...)
	}
	out.add(slices.DeleteFunc(all.types, func(t Type) bool { return !slices.Contains(present, t) })...)
	out.add(present...)
	return out.types
}

// shownFirst returns the name of the type to show first: the default of the first list whose default is
// in types. An empty name means the last type, as in pprof.
func shownFirst(lists []typeList, types []Type) string {
	for _, l := range lists {
		if i := slices.IndexFunc(types, func(t Type) bool { return t.Includes(l.shown(lists)) }); i >= 0 && i < len(types)-1 {
			return types[i].Sample
		} else if i >= 0 {
			return ""
		}
	}
	return ""
}

// addHeader sets the time, the duration and the period.
func (p *plan) addHeader(ctx context.Context, out *pprof.Profile) error {
	groups, err := p.headers(ctx)
	if err != nil {
		return err
	}
	for row := range groups.Counts {
		joinHeader(out, groups, row)
	}
	return nil
}

// headers returns the times, durations, periods and profile labels.
func (p *plan) headers(ctx context.Context) (*columnstore.Groups, error) {
	return p.read(ctx, p.chosen, columnstore.AggregateOptions{By: []string{ColumnTimestamp, ColumnDuration, ColumnPeriod, ColumnLabels}})
}

// joinHeader adds a row of headers to a profile. The profile's time is 0 before the first.
func joinHeader(out *pprof.Profile, headers *columnstore.Groups, row int) {
	at, duration, period := headers.Columns[0].Values.Int64s[row], headers.Columns[1].Values.Int64s[row], headers.Columns[2].Values.Int64s[row]
	if out.TimeNanos == 0 || at < out.TimeNanos {
		out.TimeNanos = at
	}
	out.DurationNanos += duration
	out.Period = max(out.Period, period)
}
