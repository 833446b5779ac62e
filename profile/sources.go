package profile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/means"
	"github.com/granarydb/granary/schema"
)

// A gauge mean over several stores is made from each store's sums by source, and the number of times.
// Package means adds up the means at a point in time. Stacks are inserted into another store, which is
// queried with Query.Times.

// Times are the numbers of times by source, for a store whose profiles are sums over several times.
type Times struct {
	// Label is the profile label that names the source.
	Label string
	// Of has the number of times of each source, by the label's value.
	Of map[string]int64
}

// SourceLine has the sums of one source over time, for one combination of the requested labels.
type SourceLine struct {
	Labels []Label // requested labels, sorted by name; nil if Points are numbers of times
	Source []Label // of the profiles, sorted by name
	Points []Point // at least one, sorted by time
}

// SourceRange returns the parts of the means of Range: the sums of a query over time by source and by the
// labels of the options, and the number of times at which each source was profiled in a step, as for
// Query.SumGauges. A source's sum, divided by its number of times in the step, is its part of the mean. A
// source can have times and no sums. Lines are in no order. Top is not used.
//
// It costs as much as Range and one more columnstore.Table.Aggregate by time and labels. Errors are as
// for Range.
func (db *DB) SourceRange(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, opts RangeOptions) (sums, times []SourceLine, err error) {
	q.SumGauges = true
	p := db.plan(ctx, snap, q, t)
	g := p.grouping(opts.By)
	if times, err = p.sourceTimes(ctx, opts.Step); err != nil {
		return nil, nil, err
	}
	groups, err := p.sum(ctx, p.types, columnstore.AggregateOptions{
		By: append(append([]string{ColumnTimestamp}, g.columns()...), ColumnLabels), Step: int64(opts.Step),
	})
	if err == nil {
		err = p.fits(groups, gaugeBytes*len(groups.Sums))
	}
	if err != nil {
		return nil, nil, err
	}
	index := map[[2]int]int{} // by group and source
	sources := sourceIndex{columns: db.labelColumns(groups)}
	for row, sum := range groups.Sums {
		at := [2]int{int(g.group(groups.Columns[1:], row)), sources.of(row)}
		i, known := index[at]
		if !known {
			i, index[at] = len(sums), len(sums)
			sums = append(sums, SourceLine{Labels: g.labels[at[0]], Source: sources.labels[at[1]]})
		}
		sums[i].Points = append(sums[i].Points, Point{groups.Columns[0].Values.Int64s[row], sum})
	}
	for i := range sums {
		sums[i].Points = sumPoints(sums[i].Points)
	}
	return sums, times, nil
}

// sourceTimes returns the numbers of times by source and step. A step of 0 is a single step from 0 on.
func (p *plan) sourceTimes(ctx context.Context, step time.Duration) ([]SourceLine, error) {
	if step < 0 {
		return nil, fmt.Errorf("%w: step %v: want at least 0", columnstore.ErrQuery, step)
	}
	labels, err := p.sourceColumns()
	if err != nil {
		return nil, err
	}
	groups, err := p.read(ctx, p.ofProfiles(p.types), columnstore.AggregateOptions{By: append([]string{ColumnTimestamp}, labels...)})
	if err == nil {
		err = p.fits(groups, gaugeBytes*len(groups.Counts))
	}
	if err != nil {
		return nil, err
	}
	sources := sourceIndex{columns: p.db.labelColumns(groups)}
	var lines []SourceLine
	for row, at := range groups.Columns[0].Values.Int64s {
		i := sources.of(row)
		if i == len(lines) {
			lines = append(lines, SourceLine{Source: sources.labels[i]})
		}
		start := int64(0)
		if step > 0 {
			start = schema.RoundDown(at, int64(step))
		}
		lines[i].Points = append(lines[i].Points, Point{start, 1})
	}
	for i := range lines {
		lines[i].Points = sumPoints(lines[i].Points)
	}
	return lines, nil
}

// SourceProfile has a source's profiles, added up.
type SourceProfile struct {
	Labels []Label // of the profiles, sorted by name
	// Times is the number of times at which the source was profiled, as for Query.SumGauges.
	Times int64
	// Profile has the sums of the selected samples. It is nil if there are none.
	Profile *pprof.Profile
}

// SourceProfiles returns the query's profiles with values of a type, added up by source, in no order. It
// adds up gauges too, as with Query.SumGauges. Each profile is like a result of DB.Profile. The profiles
// belong to the caller. It costs as much as DB.Profile, and one more columnstore.Table.Aggregate by time
// and labels. Errors are as for DB.Profile.
func (db *DB) SourceProfiles(ctx context.Context, snap *columnstore.Snapshot, q Query, t Type) ([]SourceProfile, error) {
	q.SumGauges = true
	p := db.plan(ctx, snap, q, t)
	lines, err := p.sourceTimes(ctx, 0)
	if err != nil {
		return nil, err
	}
	labels, err := p.sourceColumns()
	if err != nil {
		return nil, err
	}
	groups, err := p.sum(ctx, p.types, columnstore.AggregateOptions{By: append(p.sampleColumns(), labels...)})
	if err != nil {
		return nil, err
	}
	if err := p.fits(groups, (sampleBytes+8)*len(groups.Sums)); err != nil {
		return nil, err
	}
	sources := sourceIndex{columns: db.labelColumns(groups)}
	samples := *groups
	samples.Columns = groups.Columns[:len(groups.Columns)-len(sources.columns)] // the source columns are last
	var rows [][]int                                                            // by source
	for row := range groups.Sums {
		i := sources.of(row)
		if i == len(rows) {
			rows = append(rows, nil)
		}
		rows[i] = append(rows[i], row)
	}
	made := make(map[string]*pprof.Profile, len(rows))
	bytes := 0
	for i, of := range rows {
		b := newPprofBuilder(ctx, p, p.types, &samples)
		b.bytes = bytes
		if err := b.addSamples(ctx, of); err != nil {
			return nil, err
		}
		bytes = b.bytes + b.assembler.Bytes()
		b.assembler.ProgramFirst()
		made[labelsKey(sources.labels[i])] = b.out
	}
	headers, err := p.headers(ctx)
	if err != nil {
		return nil, err
	}
	headed := sourceIndex{columns: db.labelColumns(headers)}
	var profiles []*pprof.Profile
	for row := range headers.Counts {
		i := headed.of(row)
		if i == len(profiles) {
			profiles = append(profiles, made[labelsKey(headed.labels[i])])
		}
		if profiles[i] != nil { // otherwise none of the source's samples has the call path
			joinHeader(profiles[i], headers, row)
		}
	}
	out := make([]SourceProfile, len(lines))
	for i, l := range lines {
		out[i] = SourceProfile{Labels: l.Source, Times: l.Points[0].Value, Profile: made[labelsKey(l.Source)]}
	}
	return out, nil
}

// labelColumns returns the distinct columns of the profile labels that tell sources apart, ordered by name.
func (db *DB) labelColumns(groups *columnstore.Groups) (labels []columnstore.GroupColumn) {
	for _, c := range groups.Columns {
		if db.tellsApart(c.Name) {
			labels = append(labels, c)
		}
	}
	slices.SortFunc(labels, func(a, b columnstore.GroupColumn) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(labels, func(a, b columnstore.GroupColumn) bool { return a.Name == b.Name })
}

// sourceIndex numbers sources, which are profiles with equal labels.
type sourceIndex struct {
	columns []columnstore.GroupColumn // of labels of profiles
	labels  [][]Label                 // by number
	index   map[string]int
	key     []byte
}

// of returns the number of a row's source.
func (s *sourceIndex) of(row int) int {
	s.key = s.key[:0]
	for i := range s.columns {
		s.key = means.AppendText(s.key, means.Text(&s.columns[i], row))
	}
	i, known := s.index[string(s.key)]
	if known {
		return i
	}
	if s.index == nil {
		s.index = map[string]int{}
	}
	n := len(s.labels)
	s.index[string(s.key)] = n
	s.labels = append(s.labels, labelsAt(s.columns, row))
	return n
}
