package iceberg

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/profile"
)

// isShown reports whether profiles with a type show it by default: cpu, not samples.
func isShown(t profile.Type) bool { return t.Sample == t.Period && t.SampleUnit == t.PeriodUnit }

// typeLists returns which types belong together: each set of profiles' types, unless another set has them
// and more. A value of 0 is not a row, so a set can lack some of its profiles' types. Lists with a default
// type come first, because the first list's default is used for all.
func (in *loading) typeLists() (whole [][]profile.Type) {
	var lists [][]profile.Type
	for _, types := range in.types {
		slices.SortFunc(types, func(a, b profile.Type) int { return strings.Compare(a.String(), b.String()) })
		lists = append(lists, types)
	}
	slices.SortFunc(lists, func(a, b []profile.Type) int { // the longest first, and one order whatever the order of maps
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	var others [][]profile.Type
	for _, types := range lists {
		within := func(other []profile.Type) bool {
			return !slices.ContainsFunc(types, func(t profile.Type) bool { return !slices.Contains(other, t) })
		}
		switch {
		case slices.ContainsFunc(whole, within) || slices.ContainsFunc(others, within):
		case slices.ContainsFunc(types, isShown):
			whole = append(whole, types)
		default:
			others = append(others, types)
		}
	}
	return append(whole, others...)
}

// note tells the store which types belong together, by an empty profile with these types.
func (in *loading) note(ctx context.Context) error {
	for _, types := range in.typeLists() {
		p := &pprof.Profile{PeriodType: &pprof.ValueType{Type: types[0].Period, Unit: types[0].PeriodUnit}}
		for _, t := range types {
			p.SampleType = append(p.SampleType, &pprof.ValueType{Type: t.Sample, Unit: t.SampleUnit})
			if isShown(t) {
				p.DefaultSampleType = t.Sample
			}
		}
		if _, err := in.db.Insert(ctx, p, profile.InsertOptions{}); err != nil {
			return err
		}
	}
	return nil
}
