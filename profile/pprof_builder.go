package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
)

// pprofBuilder builds a pprof profile from groups.
type pprofBuilder struct {
	out       *pprof.Profile
	types     []Type
	groups    *columnstore.Groups
	stacks    *walker
	locations map[*symbol]*pprof.Location
	mappings  map[pprof.Mapping]*pprof.Mapping // keyed by the mapping moved to address 0
	program   *pprof.Mapping
	functions map[pprof.Function]*pprof.Function
}

func newPprofBuilder(types []Type, q Query, groups *columnstore.Groups) *pprofBuilder {
	b := &pprofBuilder{
		out: &pprof.Profile{}, types: types, groups: groups,
		stacks:    q.symbols(&groups.Columns[0]).walk(),
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

// addSamples adds one sample for each stack and set of labels, with a value for each sample
// type.
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

// sampleLabels is the labels of one sample in the form of pprof.
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
	return fmt.Sprintf("%q %q %q", l.text, numbers, l.units) // fmt sorts maps, and %q quotes names and texts
}

func (b *pprofBuilder) labels(row int) sampleLabels {
	var l sampleLabels // the maps are allocated only for samples with labels
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
			delete(l.units, name) // in pprof, a label without units has no entry
		}
	}
	return l
}

// put sets the k-th value of a label. It extends the values if necessary.
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
	l := &pprof.Location{ID: uint64(len(b.out.Location) + 1), Address: from.Address, IsFolded: from.Folded}
	if from.Mapping != nil {
		l.Mapping = b.mapping(from.Mapping)
		l.Address += l.Mapping.Start - from.Mapping.Start
		if from.Program {
			b.program = l.Mapping
		}
	}
	for _, ln := range from.Lines {
		out := pprof.Line{Line: ln.Line, Column: ln.Column}
		if !ln.NoFunction {
			out.Function = b.function(pprof.Function{Name: ln.Function, SystemName: ln.SystemName, Filename: ln.File, StartLine: ln.StartLine})
		}
		l.Line = append(l.Line, out)
	}
	b.locations[from] = l
	b.out.Location = append(b.out.Location, l)
	return l
}

// mapping returns the mapping of the output for m. Processes map one binary at different
// addresses; the output has the addresses of the first.
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

// programFirst moves the mapping of the program to the front, where pprof expects it.
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
