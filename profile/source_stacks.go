package profile

import (
	"context"
	"fmt"
	"slices"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/means"
	"github.com/granarydb/granary/internal/symbols"
)

// StackSums are sums by stack for another store to add up: of gauges by source, because their means are made from the sums and the
// numbers of times of sources over all stores.
type StackSums struct {
	Sources []SourceSums

	codes   []uint32 // of the distinct stacks, ascending
	symbols *symbols.Resolver
}

// SourceSums has the sums of one source, or of all profiles if they are no gauges.
type SourceSums struct {
	Labels []Label // of a source's profiles, sorted by name
	// Times is the number of times at which a source was profiled, as for Query.SumGauges. It is 0 without a source.
	Times  int64
	Stacks []uint32 // indexes of stacks, in the order of StackSums.IDs, ascending
	Values []int64  // by index in Stacks
}

// MergeSources returns the sums of a type's values in a query's profiles, by stack, and of a gauge by source. It costs as much as Merge, and
// for gauges 10 ns a row and one more columnstore.Table.Aggregate by time and labels. Errors are as for Merge.
func (db *DB) MergeSources(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query) (*StackSums, error) {
	q.SumGauges = true
	p := db.plan(ctx, snap, q, t)
	opts := columnstore.AggregateOptions{By: []string{ColumnStacktrace}, NoCounts: true}
	out := &StackSums{Sources: []SourceSums{{}}}
	if t.IsGauge() {
		lines, err := p.sourceTimes(ctx, 0)
		if err != nil {
			return nil, err
		}
		columns, err := p.sourceColumns()
		if err != nil {
			return nil, err
		}
		numbers := &sourceNumbers{index: map[string]uint32{}}
		out.Sources = make([]SourceSums, len(lines))
		for i, l := range lines {
			numbers.index[keyOfSource(columns, l.Source)] = uint32(i)
			out.Sources[i] = SourceSums{Labels: l.Source, Times: l.Points[0].Value}
		}
		opts.AsOf = numbers.asOf(columns)
	}
	groups, err := p.sum(ctx, p.types, opts)
	if err != nil {
		return nil, err
	}
	const identified = 16 + 4 // bytes of a stack's id, and of its index
	if err := p.fits(groups, (groupedStack+identified)*len(groups.Sums)); err != nil {
		return nil, err
	}
	numbers := make([]uint64, len(groups.Sums))
	if t.IsGauge() {
		numbers = groups.Columns[1].Values.Uint64s
	}
	lists := &groups.Columns[0]
	out.codes = slices.Compact(slices.Sorted(slices.Values(lists.Codes)))
	out.symbols = p.symbols(&columnstore.GroupColumn{Lists: lists.Lists, Codes: out.codes})
	for i, stacks := range divide(p, groups, numbers, len(out.Sources)) {
		if stacks != nil {
			out.Sources[i].Stacks, out.Sources[i].Values = indexesIn(out.codes, stacks.codes), stacks.values
		}
	}
	return out, nil
}

// indexesIn returns the indexes of some codes among all, both ascending.
func indexesIn(all, some []uint32) []uint32 {
	out, at := make([]uint32, len(some)), 0
	for i, code := range some {
		for all[at] != code {
			at++
		}
		out[i] = uint32(at)
	}
	return out
}

// keyOfSource returns a source's values in the columns of labels that tell sources apart.
func keyOfSource(columns []string, labels []Label) string {
	var key []byte
	for _, column := range columns {
		i := slices.IndexFunc(labels, func(l Label) bool { return ColumnLabels+"."+l.Name == column })
		if i < 0 {
			key = means.AppendText(key, "")
		} else {
			key = means.AppendText(key, labels[i].Value)
		}
	}
	return string(key)
}

// sourceNumbers groups rows by the number of their source.
type sourceNumbers struct{ index map[string]uint32 } // by keyOfSource

func (n *sourceNumbers) asOf(columns []string) *columnstore.AsOf {
	return &columnstore.AsOf{Of: columns, New: func(take func(bytes int64) error) columnstore.CaseFinder {
		return &numberFinder{newSubjects(take), n}
	}}
}

// numberFinder finds the numbers of sources.
type numberFinder struct {
	*subjects
	numbers *sourceNumbers
}

// Subject implements columnstore.CaseFinder.
func (f *numberFinder) Subject(subject uint32, _ int, v columnstore.Cell) (uint32, error) {
	next, _, err := f.next(subject, v)
	return next, err
}

// Groups implements columnstore.CaseFinder.
func (f *numberFinder) Groups(subject uint32, _ []int64, groups []uint32) error {
	number, known := f.numbers.index[f.keys[subject]]
	if !known {
		return fmt.Errorf("%w: a source without profiles", columnstore.ErrQuery)
	}
	groups[0] = number
	return nil
}

// subjects are the subjects of a columnstore.CaseFinder for text columns, by their values: a subject has those of the first columns.
type subjects struct {
	take  func(bytes int64) error
	index map[string]uint32 // by key
	keys  []string          // by subject: the values, as means.AppendText has them
	key   []byte            // scratch
}

func newSubjects(take func(bytes int64) error) *subjects {
	return &subjects{take: take, index: map[string]uint32{}, keys: []string{""}}
}

// next returns the subject with one more value, and whether it is new.
func (s *subjects) next(subject uint32, v columnstore.Cell) (next uint32, isNew bool, err error) {
	s.key = means.AppendText(append(s.key[:0], s.keys[subject]...), string(v.Bytes))
	if next, known := s.index[string(s.key)]; known {
		return next, false, nil
	}
	if err := s.take(gaugeBytes + int64(len(s.key))); err != nil {
		return 0, false, err
	}
	next = uint32(len(s.keys))
	s.keys = append(s.keys, string(s.key))
	s.index[s.keys[next]] = next
	return next, true, nil
}
