package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
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
// It costs what columnstore.Table.Aggregate does three times, and about 1 us a sample. The
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
	kinds, err := db.Kinds(snap)
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
	kinds, err := db.Kinds(snap)
	return inOrder(kinds, present), err
}

// inOrder returns the types of the first kind that has all of those present,
// so that a type whose values are all zero is there as well. If no kind has,
// those present, in the order of the kinds.
func inOrder(kinds []Kind, present []Type) []Type {
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
func shownFirst(kinds []Kind, types []Type) string {
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

// pprofBuilder makes a pprof profile of groups.
type pprofBuilder struct {
	out       *pprof.Profile
	types     []Type
	groups    *columnstore.Groups
	stacks    *walker
	locations map[*symbol]*pprof.Location
	mappings  map[pprof.Mapping]*pprof.Mapping // by all but where they start
	program   *pprof.Mapping
	functions map[pprof.Function]*pprof.Function
}

func newPprofBuilder(types []Type, groups *columnstore.Groups) *pprofBuilder {
	b := &pprofBuilder{
		out: &pprof.Profile{}, types: types, groups: groups,
		stacks:    newSymbols(groups.Columns[0].Lists, groups.Columns[0].Codes).walk(),
		locations: map[*symbol]*pprof.Location{},
		mappings:  map[pprof.Mapping]*pprof.Mapping{},
		functions: map[pprof.Function]*pprof.Function{},
	}
	for _, t := range types {
		b.out.SampleType = append(b.out.SampleType, &pprof.ValueType{Type: t.Sample, Unit: t.SampleUnit})
	}
	if len(types) > 0 {
		b.out.PeriodType = &pprof.ValueType{Type: types[0].Period, Unit: types[0].PeriodUnit}
	}
	return b
}

// addSamples joins the sample types of each stack and set of labels again.
func (b *pprofBuilder) addSamples() {
	type key struct {
		stack  uint32
		labels string
	}
	samples := map[key]*pprof.Sample{}
	for row, code := range b.groups.Columns[0].Codes {
		t := slices.IndexFunc(b.types, func(t Type) bool {
			return t.Sample == b.groups.Columns[1].Values.Strings[row] && t.SampleUnit == b.groups.Columns[2].Values.Strings[row]
		})
		labels := b.labels(row)
		k := key{code, labels.key()}
		s := samples[k]
		if s == nil {
			s = &pprof.Sample{Value: make([]int64, len(b.types)), Label: labels.text, NumLabel: labels.numbers, NumUnit: labels.units}
			samples[k] = s
		}
		s.Value[t] += b.groups.Sums[row]
	}
	order := slices.SortedFunc(maps.Keys(samples), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.stack, b.stack), cmp.Compare(a.labels, b.labels))
	})
	for _, k := range order {
		s := samples[k]
		if !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 }) {
			continue // values of several profiles cancelled out
		}
		for _, y := range b.stacks.locations(k.stack) {
			s.Location = append(s.Location, b.location(y))
		}
		b.out.Sample = append(b.out.Sample, s)
	}
}

// sampleLabels is the labels of one sample, as pprof has them.
type sampleLabels struct {
	text    map[string][]string
	numbers map[string][]int64
	units   map[string][]string
}

func (l sampleLabels) key() string {
	if len(l.text) == 0 && len(l.numbers) == 0 {
		return ""
	}
	numbers := make(map[string]string, len(l.numbers))
	for name, values := range l.numbers {
		numbers[name] = fmt.Sprint(values)
	}
	return fmt.Sprintf("%q %q %q", l.text, numbers, l.units) // maps print sorted, names and texts quoted
}

func (b *pprofBuilder) labels(row int) sampleLabels {
	var l sampleLabels // maps are made for samples with labels only
	for i := range b.groups.Columns[3:] {
		c := &b.groups.Columns[3+i]
		if c.Values.Null(row) {
			continue
		}
		if l.text == nil {
			l = sampleLabels{map[string][]string{}, map[string][]int64{}, map[string][]string{}}
		}
		family, column, _ := strings.Cut(c.Name, ".")
		name, k, _ := cutNumber(column)
		switch {
		case c.Values.Type == encoding.UUID || c.Values.Type == encoding.Uint64:
			l.text[c.Name] = []string{valueText(c, row)}
		case family == ColumnPprofLabels:
			l.text[name] = put(l.text[name], k, c.Values.Strings[row])
		default:
			number, unit := cutUnit(name)
			l.numbers[number] = put(l.numbers[number], k, c.Values.Int64s[row])
			l.units[number] = put(l.units[number], k, unit)
		}
	}
	for name, units := range l.units {
		if !slices.ContainsFunc(units, func(u string) bool { return u != "" }) {
			delete(l.units, name) // no unit at all is how pprof says it
		}
	}
	return l
}

// put sets the k-th value of a label.
func put[T any](values []T, k int, v T) []T {
	if k >= len(values) {
		values = append(values, make([]T, k+1-len(values))...)
	}
	values[k] = v
	return values
}

func (b *pprofBuilder) location(from *symbol) *pprof.Location {
	if l := b.locations[from]; l != nil {
		return l
	}
	l := &pprof.Location{ID: uint64(len(b.out.Location) + 1), Address: from.address, IsFolded: from.folded}
	if from.mapping != nil {
		l.Mapping = b.mapping(from.mapping)
		l.Address += l.Mapping.Start - from.mapping.Start
		if from.program {
			b.program = l.Mapping
		}
	}
	for _, ln := range from.lines {
		out := pprof.Line{Line: ln.line, Column: ln.column}
		if !ln.noFunction {
			out.Function = b.function(pprof.Function{Name: ln.function, SystemName: ln.systemName, Filename: ln.file, StartLine: ln.startLine})
		}
		l.Line = append(l.Line, out)
	}
	b.locations[from] = l
	b.out.Location = append(b.out.Location, l)
	return l
}

// mapping returns the output's mapping for m. Processes have one binary at
// different addresses; the first one's stand for all.
func (b *pprofBuilder) mapping(m *pprof.Mapping) *pprof.Mapping {
	key := *m
	key.Limit -= key.Start
	key.Start = 0
	out := b.mappings[key]
	if out == nil {
		clone := *m
		out = &clone
		b.mappings[key] = out
		out.ID = uint64(len(b.out.Mapping) + 1)
		b.out.Mapping = append(b.out.Mapping, out)
	}
	return out
}

// programFirst moves the program's mapping to where pprof looks for it.
func (b *pprofBuilder) programFirst() {
	slices.SortStableFunc(b.out.Mapping, func(x, y *pprof.Mapping) int {
		switch {
		case x == b.program && y != b.program:
			return -1
		case y == b.program && x != b.program:
			return 1
		}
		return 0
	})
	for i, m := range b.out.Mapping {
		m.ID = uint64(i + 1)
	}
}

func (b *pprofBuilder) function(f pprof.Function) *pprof.Function {
	out := b.functions[f]
	if out == nil {
		out = &f
		b.functions[f] = out
		out.ID = uint64(len(b.out.Function) + 1)
		b.out.Function = append(b.out.Function, out)
	}
	return out
}
