package profile

import (
	"context"
	"fmt"
	"slices"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/means"
)

// SourceStacks has the sums of one source by stack.
type SourceStacks struct {
	Labels []Label // of the profiles, sorted by name
	// Times is the number of times at which the source was profiled, as for Query.SumGauges.
	Times int64
	// Stacks is nil if none of the source's samples is selected.
	Stacks *Stacks
}

// MergeSources is SourceProfiles by stack alone: the sums of Merge by source. It costs 10 ns a row more than Merge, and one more
// columnstore.Table.Aggregate by time and labels. Errors are as for Merge.
func (db *DB) MergeSources(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query) ([]SourceStacks, error) {
	q.SumGauges = true
	p := db.plan(ctx, snap, q, t)
	lines, err := p.sourceTimes(ctx, 0)
	if err != nil {
		return nil, err
	}
	columns, err := p.sourceColumns()
	if err != nil {
		return nil, err
	}
	numbers := &sourceNumbers{index: map[string]uint32{}}
	for i, l := range lines {
		numbers.index[keyOfSource(columns, l.Source)] = uint32(i)
	}
	groups, err := p.sum(ctx, p.types, columnstore.AggregateOptions{By: []string{ColumnStacktrace}, AsOf: numbers.asOf(columns), NoCounts: true})
	if err != nil {
		return nil, err
	}
	if err := p.fits(groups, groupedStack*len(groups.Sums)); err != nil {
		return nil, err
	}
	out := make([]SourceStacks, len(lines))
	for i, stacks := range divide(p, groups, groups.Columns[1].Values.Uint64s, len(lines)) {
		out[i] = SourceStacks{Labels: lines[i].Source, Times: lines[i].Points[0].Value, Stacks: stacks}
	}
	return out, nil
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
