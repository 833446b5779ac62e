package columnstore

import (
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
)

// seriesSet is what a filter says of the series of a generation, each a bit: those of
// which all rows hold, and those of which some can.
type seriesSet struct{ all, some []uint64 }

func newSeriesSet(n int, all, some bool) seriesSet {
	words := n/64 + 1
	return seriesSet{slices.Repeat([]uint64{-encoding.FromBool(all)}, words), slices.Repeat([]uint64{-encoding.FromBool(some)}, words)}
}

// of returns what is known of one series.
func (s *seriesSet) of(code uint32) truth {
	switch bit := uint64(1) << (code % 64); {
	case s.all[code/64]&bit != 0:
		return yes
	case s.some[code/64]&bit != 0:
		return maybe
	}
	return no
}

// ofSeries says what the filter says of each series; in a bucket, if one is given. The
// set is the caller's.
func (f *filter) ofSeries(gen *granule.Generation, columns *granule.SeriesColumns, b *bucket) seriesSet {
	switch f.op {
	case opTrue:
		return newSeriesSet(columns.Len(), true, true)
	case opNot:
		s := f.args[0].ofSeries(gen, columns, b)
		for i := range s.all {
			s.all[i], s.some[i] = ^s.some[i], ^s.all[i]
		}
		return s
	case opAnd, opOr:
		and := f.op == opAnd
		out := newSeriesSet(columns.Len(), and, and)
		for _, arg := range f.args {
			s := arg.ofSeries(gen, columns, b)
			for i := range out.all {
				if and {
					out.all[i], out.some[i] = out.all[i]&s.all[i], out.some[i]&s.some[i]
				} else {
					out.all[i], out.some[i] = out.all[i]|s.all[i], out.some[i]|s.some[i]
				}
			}
		}
		return out
	}
	l := f.leaf
	switch {
	case l.series:
		set := l.seriesOf(gen, columns)
		return seriesSet{slices.Clone(set), slices.Clone(set)}
	case b != nil && l.schema.Columns()[l.column].Dynamic && !b.columns[l.name]:
		return newSeriesSet(columns.Len(), l.null, l.null)
	}
	return newSeriesSet(columns.Len(), false, true)
}

// seriesOf returns the series for which a leaf on a column of theirs holds, a bit each.
// Each distinct value is looked at once.
func (l *leaf) seriesOf(gen *granule.Generation, columns *granule.SeriesColumns) []uint64 {
	if set, ok := l.sets[gen]; ok {
		return set
	}
	set := newSeriesSet(columns.Len(), l.null, l.null).all
	column := columns.Column(l.name)
	for i, value := range column.Values {
		holds := l.testText(value)
		if holds == l.null {
			continue
		}
		for _, series := range column.Series[i] {
			set[series/64] ^= 1 << (series % 64)
		}
	}
	l.sets[gen] = set
	return set
}

// testText is test of a string.
func (l *leaf) testText(value string) bool {
	if l.text != nil { // most conditions, on thousands of values
		return value == *l.text
	}
	return l.test([]byte(value))
}

// ofPart says what the filter says of all rows of a part, as far as that is told without
// looking at them.
func (f *filter) ofPart(p *granule.Part) truth {
	switch f.op {
	case opTrue:
		return yes
	case opNot:
		switch f.args[0].ofPart(p) {
		case yes:
			return no
		case no:
			return yes
		}
		return maybe
	case opAnd, opOr:
		decides, out := truthOf(f.op == opOr), truthOf(f.op == opAnd)
		for _, arg := range f.args {
			switch arg.ofPart(p) {
			case decides:
				return decides
			case maybe:
				out = maybe
			}
		}
		return out
	}
	return f.leaf.ofPart(p)
}

func (l *leaf) ofPart(p *granule.Part) truth {
	if l.series {
		if code, constant := p.Series().Constant(); constant {
			return truthOf(l.testSeries(p.Generation(), uint32(code)))
		}
		if len(l.work.columns(p.Generation()).Column(l.name).Values) == 0 {
			return truthOf(l.null) // nobody has the label
		}
		return maybe
	}
	if all, ok := l.prune(p); ok {
		return truthOf(all)
	}
	column := p.Find(l.column, l.name)
	switch {
	case column == nil:
		return truthOf(l.null)
	case l.id != nil && !column.MayHave(*l.id):
		return no
	}
	return maybe
}

// testSeries decides for one series.
func (l *leaf) testSeries(gen *granule.Generation, code uint32) bool {
	set := l.sets[gen]
	if set == nil {
		set = l.seriesOf(gen, l.work.columns(gen))
	}
	return set[code/64]>>(code%64)&1 == 1
}
