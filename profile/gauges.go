package profile

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/means"
	"github.com/granarydb/granary/schema"
)

// IsGauge reports whether a type's values are measured at an instant, such as the heap in use. The sum of
// such values of one program at two times has no meaning. Gauges are recognised by the sample type's
// name: inuse_..., goroutine..., threadcreate (Query.SumGauges).
func (t Type) IsGauge() bool {
	return strings.HasPrefix(t.Sample, "inuse_") || strings.HasPrefix(t.Sample, "goroutine") || t.Sample == "threadcreate"
}

// means returns groups of sums as gauge means over times.
func (p *plan) means(ctx context.Context, times *gaugeTimes, opts columnstore.AggregateOptions) (*columnstore.Groups, error) {
	if times.labels == nil {
		groups, err := p.sums(ctx, opts)
		if err == nil {
			err = p.fits(groups, meanBytes*len(groups.Sums))
		}
		if err != nil {
			return nil, err
		}
		times.divide(groups, times.ofRow(groups))
		return groups, nil
	}
	found := &divisors{list: []int64{0}, index: map[int64]uint32{0: 0}}
	opts.AsOf = times.asOf(found)
	groups, err := p.sums(ctx, opts)
	if err == nil {
		err = p.fits(groups, (meanBytes+gaugeBytes)*len(groups.Sums))
	}
	if err != nil {
		return nil, err
	}
	columns := slices.IndexFunc(groups.Columns, func(c columnstore.GroupColumn) bool { return c.Name == "" })
	numbers := groups.Columns[columns].Values.Uint64s
	groups.Columns = slices.Delete(groups.Columns, columns, columns+1)
	times.divide(groups, func(row int) int64 { return found.list[numbers[row]] })
	return groups, nil
}

// meanBytes is the bytes of a mean and its place in the order of stacks.
const meanBytes = 16

// gaugeTimes are the numbers of times at which the sources of gauges were profiled.
type gaugeTimes struct {
	labels  []string         // the columns that make a source; nil if all numbers are equal
	numbers map[string]int64 // by key
	only    Type             // type of rows without a type column
	step    int64            // numbers are by step, unless it is 0
	given   map[string]int64 // Query.Times, by the value of the only label; else nil
	key     []byte           // scratch
}

// gaugeBytes is the bytes of a key, its value and their place in a map.
const gaugeBytes = 100

// gaugeTimes counts the times of the query's profiles that have rows of the types, by source and, if step
// is above 0, by step.
func (p *plan) gaugeTimes(ctx context.Context, types []Type, step int64) (*gaugeTimes, error) {
	if given := p.q.Times; given != nil {
		return &gaugeTimes{given: given.Of, labels: []string{ColumnLabels + "." + given.Label}, only: types[0]}, nil
	}
	labels, err := p.sourceColumns()
	if err != nil {
		return nil, err
	}
	t := &gaugeTimes{numbers: map[string]int64{}, only: types[0], labels: labels, step: step}
	groups, err := p.read(ctx, p.ofProfiles(types), columnstore.AggregateOptions{
		By: append([]string{ColumnTimestamp, ColumnSampleType, ColumnSampleUnit}, t.labels...), NoCounts: true,
	})
	if err != nil {
		return nil, err
	}
	at := groups.Columns[0].Values.Int64s
	if err := p.fits(groups, gaugeBytes*len(at)); err != nil {
		return nil, err
	}
	for row := range at {
		if t.step > 0 {
			at[row] = schema.RoundDown(at[row], step)
		}
		t.numbers[string(t.keyOf(groups, row))]++
	}
	return t.simplified(groups), nil
}

// sourceColumns returns the columns of the profile labels that tell sources apart, not nil.
func (p *plan) sourceColumns() ([]string, error) {
	columns, err := p.db.table.Columns(p.snap)
	return slices.DeleteFunc(columns, func(c string) bool { return !p.db.tellsApart(c) }), err
}

// tellsApart reports whether a column is of a profile label that tells sources apart.
func (db *DB) tellsApart(column string) bool {
	label, ok := strings.CutPrefix(column, ColumnLabels+".")
	return ok && !slices.Contains(db.opts.Without, label)
}

// simplified returns t without labels and steps if they make no difference. t was counted from groups.
func (t *gaugeTimes) simplified(groups *columnstore.Groups) *gaugeTimes {
	simple := &gaugeTimes{numbers: map[string]int64{}, only: t.only}
	for row := range groups.Columns[0].Values.Int64s {
		n, key := t.numbers[string(t.keyOf(groups, row))], simple.keyOf(groups, row)
		if known := simple.numbers[string(key)]; known != 0 && known != n {
			return t
		}
		simple.numbers[string(key)] = n
	}
	return simple
}

// keyOf returns the type, source and time of a row. It is valid until the next call.
func (t *gaugeTimes) keyOf(groups *columnstore.Groups, row int) []byte {
	typ := t.typeOf(groups, row)
	t.key = means.AppendText(means.AppendText(t.key[:0], typ.Sample), typ.SampleUnit)
	if t.labels == nil {
		return t.key
	}
	for _, column := range t.labels {
		t.key = means.AppendText(t.key, means.Text(groups.Column(column), row))
	}
	if t.step > 0 {
		t.key = binary.AppendVarint(t.key, groups.Column(ColumnTimestamp).Values.Int64s[row])
	}
	return t.key
}

// typeOf returns the sample type and unit of a row.
func (t *gaugeTimes) typeOf(groups *columnstore.Groups, row int) Type {
	if c := groups.Column(ColumnSampleType); c != nil {
		return Type{Sample: c.Values.Strings[row], SampleUnit: groups.Column(ColumnSampleUnit).Values.Strings[row]}
	}
	return t.only
}

// ofRow returns the function that finds the number of times of a row, if it does not depend on the source: at least 1, or 0 for a row of no
// gauge.
func (t *gaugeTimes) ofRow(groups *columnstore.Groups) func(row int) int64 {
	return func(row int) int64 {
		if !t.typeOf(groups, row).IsGauge() {
			return 0
		}
		return max(1, t.numbers[string(t.keyOf(groups, row))])
	}
}

// divide divides the sums of gauges by numbers of times.
func (t *gaugeTimes) divide(groups *columnstore.Groups, times func(row int) int64) {
	d := means.Division{
		Groups: groups, Columns: keyColumns(groups), Apart: t.labels == nil, Times: times,
		Stack: slices.IndexFunc(groups.Columns, func(c columnstore.GroupColumn) bool { return c.Name == ColumnStacktrace }),
	}
	d.Divide()
}

// keyColumns returns the indexes of the columns. Columns that can have the same label
// (grouping) are in one list, because groups that differ only in which of them has the label are one
// group.
func keyColumns(groups *columnstore.Groups) (all [][]int) {
	place := map[string]int{} // in all
	for i := range groups.Columns {
		name := groups.Columns[i].Name
		if k, known := place[name]; known {
			all[k] = append(all[k], i)
			continue
		}
		if label, ok := strings.CutPrefix(name, ColumnLabels+"."); ok {
			for _, other := range newGrouping([]string{label}).columns() {
				place[other] = len(all)
			}
		}
		all = append(all, []int{i})
	}
	return all
}
