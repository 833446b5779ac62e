package profile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/means"
	"github.com/granarydb/granary/internal/pattern"
	"github.com/granarydb/granary/internal/rows"
	"github.com/granarydb/granary/internal/symbols"
	codec "github.com/granarydb/granary/profile/pprof"
)

// pprofBuilder builds a pprof profile from groups.
type pprofBuilder struct {
	out       *pprof.Profile
	types     []Type
	groups    *columnstore.Groups
	stacks    *symbols.Walker
	assembler *codec.Assembler

	plan  *plan
	bytes int // of the samples
}

func newPprofBuilder(ctx context.Context, p *plan, types []Type, groups *columnstore.Groups) *pprofBuilder {
	b := &pprofBuilder{out: &pprof.Profile{}, types: types, groups: groups, stacks: p.symbols(&groups.Columns[0]).Walk(pattern.Until(ctx)), plan: p}
	b.assembler = codec.NewAssembler(b.out)
	for _, t := range types {
		b.out.SampleType = append(b.out.SampleType, &pprof.ValueType{Type: t.Sample, Unit: t.SampleUnit})
	}
	if slices.ContainsFunc(types, Type.isOfAnyPeriod) {
		b.out.PeriodType = &pprof.ValueType{}
	} else if len(types) > 0 {
		b.out.PeriodType = &pprof.ValueType{Type: types[0].Period, Unit: types[0].PeriodUnit}
	}
	return b
}

// Bytes of a sample: with its key in a map, and for each of its frames, there and as it is encoded.
const (
	sampleBytes = 200
	frameBytes  = 24
)

// rowsAtOnce is the number of rows or samples between two looks at the context.
const rowsAtOnce = 256

// addSamples adds a sample for each stack and set of labels in rows, with a value for each sample type. Errors are those
// of the context and of plan.fits.
func (b *pprofBuilder) addSamples(ctx context.Context, rows []int) error {
	type key struct {
		stack  uint32
		labels string
	}
	samples := map[key]*pprof.Sample{}
	for i, row := range rows {
		if i%rowsAtOnce == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		code := b.groups.Columns[0].Codes[row]
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
	b.bytes += sampleBytes * len(order)
	for i, k := range order {
		if i%rowsAtOnce == 0 {
			if err := cmp.Or(ctx.Err(), b.plan.fits(b.groups, b.bytes+b.assembler.Bytes())); err != nil {
				return err
			}
		}
		s := samples[k]
		if !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 }) {
			continue // values of several profiles cancelled out
		}
		locations := b.stacks.Locations(k.stack)
		b.bytes += frameBytes * len(locations)
		s.Location = make([]*pprof.Location, 0, len(locations))
		for _, y := range locations {
			s.Location = append(s.Location, b.assembler.Location(&y.LocationRecord))
		}
		b.out.Sample = append(b.out.Sample, s)
	}
	return ctx.Err()
}

// sampleLabels has a sample's labels in pprof's form.
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
		name, k, _ := rows.CutNumber(column)
		switch {
		case c.Values.Type == encoding.UUID || c.Values.Type == encoding.Uint64:
			l.text[c.Name] = []string{means.Text(c, row)}
		case family == ColumnPprofLabels:
			l.text[name] = put(l.text[name], k, c.Values.Strings[row])
		default:
			number, unit := rows.CutUnit(name)
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

// put sets the k-th value of a label, and extends the values if necessary.
func put[T any](values []T, k int, v T) []T {
	if k >= len(values) {
		values = append(values, make([]T, k+1-len(values))...)
	}
	values[k] = v
	return values
}
