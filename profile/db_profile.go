package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
)

// ErrMixed says that a query is about profiles that cannot be one pprof
// profile, because they were sampled by different things.
var ErrMixed = errors.New("profiles of different kinds")

// Profile merges the profiles of a query into one pprof profile, as go tool
// pprof -proto merges files: samples by stack and labels, the given sample
// types or all, the least time, the sum of the durations, the greatest period.
// Labels of whole profiles are not in it; comments and drop_frames patterns are
// not kept by the store. Without rows the profile has no samples.
//
// Profiles of one time, duration, period and set of labels count as one. With
// Query.Function, or a Selector of samples' labels, it has only the samples chosen.
//
// It costs as much as three calls of columnstore.Table.Aggregate, and about 1 us a sample. The
// profile belongs to the caller. Errors are those of Aggregate, and wrap ErrMixed if the
// profiles have several period types: choose a Type or a Selector.
func (db *DB) Profile(ctx context.Context, snap *columnstore.Snapshot, q Query, only ...Type) (*pprof.Profile, error) {
	types, err := db.outputTypes(ctx, snap, q, only)
	if err != nil {
		return nil, err
	}
	groups, err := db.table.Aggregate(ctx, snap, columnstore.AggregateOptions{
		Sum: ColumnValue,
		By: []string{
			ColumnStacktrace, ColumnSampleType, ColumnSampleUnit,
			ColumnTraceID, ColumnSpanID, ColumnPprofLabels, ColumnPprofNumLabels,
		},
		Where: q.Expr(only...), MaxBytes: q.MaxBytes,
	})
	if err != nil {
		return nil, err
	}
	const sample = 200 // a sample and the key that it is found by; its stack is more
	if err := q.fits(groups, sample*len(groups.Sums)); err != nil {
		return nil, err
	}
	b := newPprofBuilder(types, groups)
	b.addSamples()
	b.programFirst()
	kinds, err := db.kinds(snap)
	if err != nil {
		return nil, err
	}
	b.out.DefaultSampleType = shownFirst(kinds, types)
	if err := db.addHeader(ctx, snap, q, only, b.out); err != nil {
		return nil, err
	}
	return b.out, nil
}

// outputTypes returns the sample types that the answer has.
func (db *DB) outputTypes(ctx context.Context, snap *columnstore.Snapshot, q Query, only []Type) ([]Type, error) {
	present, err := db.presentTypes(ctx, snap, q, only...)
	if err != nil {
		return nil, err
	}
	for _, t := range present {
		if first := present[0]; first.Period != t.Period || first.PeriodUnit != t.PeriodUnit {
			return nil, fmt.Errorf("%w: %v and %v; choose by type or by label", ErrMixed, first, t)
		}
	}
	if len(only) > 0 {
		return only, nil
	}
	kinds, err := db.kinds(snap)
	return inOrder(kinds, present), err
}

// inOrder returns the types of the first kind that has all of those present,
// so that a type whose values are all zero is there as well. If no kind has,
// those present, in the order of the kinds.
func inOrder(kinds []kind, present []Type) []Type {
	var all, out typeSet
	for _, k := range kinds {
		if !slices.ContainsFunc(present, func(t Type) bool { return !slices.Contains(k.Types, t) }) {
			return slices.Clone(k.Types)
		}
		all.add(k.Types...)
	}
	out.add(slices.DeleteFunc(all.types, func(t Type) bool { return !slices.Contains(present, t) })...)
	out.add(present...)
	return out.types
}

// shownFirst returns the name of the type to show first, as the first profile
// says that shows one of these. Empty means the last, as it does in pprof.
func shownFirst(kinds []kind, types []Type) string {
	for _, k := range kinds {
		if i := slices.Index(types, k.Types[k.Default]); i >= 0 && i < len(types)-1 {
			return types[i].Sample
		} else if i >= 0 {
			return ""
		}
	}
	return ""
}

// addHeader sets times, durations and periods.
func (db *DB) addHeader(ctx context.Context, snap *columnstore.Snapshot, q Query, only []Type, out *pprof.Profile) error {
	groups, err := db.table.Aggregate(ctx, snap, columnstore.AggregateOptions{
		By:    []string{ColumnTimestamp, ColumnDuration, ColumnPeriod, ColumnLabels},
		Where: q.Expr(only...), MaxBytes: q.MaxBytes,
	})
	if err != nil {
		return err
	}
	for i := range groups.Counts {
		at, duration, period := groups.Columns[0].Values.Int64s[i], groups.Columns[1].Values.Int64s[i], groups.Columns[2].Values.Int64s[i]
		if i == 0 || at < out.TimeNanos {
			out.TimeNanos = at
		}
		out.DurationNanos += duration
		out.Period = max(out.Period, period)
	}
	return nil
}
