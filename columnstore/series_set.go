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
	return seriesSet{newBitset(n, all), newBitset(n, some)}
}

// newBitset returns n bits that are alike, and one for code 0.
func newBitset(n int, on bool) bitset {
	return slices.Repeat([]uint64{-encoding.FromBool(on)}, n/64+1)
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
	case opAnd:
		return f.allOfSeries(gen, columns, b)
	case opOr:
		out := newSeriesSet(columns.Len(), false, false)
		for _, arg := range f.args {
			s := arg.ofSeries(gen, columns, b)
			for i := range out.all {
				out.all[i], out.some[i] = out.all[i]|s.all[i], out.some[i]|s.some[i]
			}
		}
		return out
	}
	l := f.leaf
	switch {
	case l.series:
		return l.setOf(gen, columns)
	case l.nowhere(b):
		return newSeriesSet(columns.Len(), l.null, l.null)
	}
	return newSeriesSet(columns.Len(), false, true)
}

// nowhere says whether no row of a bucket, if one is given, has a value in the leaf's column.
func (l *leaf) nowhere(b *bucket) bool {
	return b != nil && l.schema.Columns()[l.column].Dynamic && !b.columns[l.name]
}

// byBucket says whether ofSeries can say another thing of another bucket of a generation.
func (f *filter) byBucket() bool {
	if l := f.leaf; l != nil {
		return !l.series && l.schema.Columns()[l.column].Dynamic
	}
	return slices.ContainsFunc(f.args, (*filter).byBucket)
}

// allOfSeries is ofSeries of And. It begins with the condition on the column that has the
// most values, which mostly leaves few series, and asks the other conditions of these.
func (f *filter) allOfSeries(gen *granule.Generation, columns *granule.SeriesColumns, b *bucket) seriesSet {
	var first *leaf
	most := 0
	for _, arg := range f.args {
		if l := arg.leaf; l != nil && l.series {
			if n := len(columns.Column(l.name).Values); n > most {
				first, most = l, n
			}
		}
	}
	var out seriesSet
	if first != nil {
		out = first.setOf(gen, columns)
	} else {
		out = newSeriesSet(columns.Len(), true, true)
	}
	for _, arg := range f.args {
		switch l := arg.leaf; {
		case l != nil && l == first:
		case l != nil && l.series:
			l.keepSeries(out, gen, columns)
		case l != nil && !l.nowhere(b):
			clear(out.all) // rows decide
		default:
			s := arg.ofSeries(gen, columns, b)
			for i := range out.all {
				out.all[i], out.some[i] = out.all[i]&s.all[i], out.some[i]&s.some[i]
			}
		}
	}
	return out
}

// keepSeries takes the series for which the leaf does not hold out of a set. If it has few,
// these alone are looked at.
func (l *leaf) keepSeries(s seriesSet, gen *granule.Generation, columns *granule.SeriesColumns) {
	codes, few := bitset(s.some).few(s.some, fewSeries)
	if !few {
		for i, word := range l.seriesOf(gen, columns) {
			s.all[i] &= word
			s.some[i] &= word
		}
		return
	}
	for _, code := range codes {
		if !l.testSeries(gen, columns, code) {
			s.all[code/64] &^= 1 << (code % 64)
			s.some[code/64] &^= 1 << (code % 64)
		}
	}
}

// seriesOf returns the series for which a leaf on a column of theirs holds, a bit each.
func (l *leaf) seriesOf(gen *granule.Generation, columns *granule.SeriesColumns) bitset {
	known := l.valuesOf(gen, columns)
	if known.set == nil {
		known.set = newBitset(columns.Len(), l.null)
		column := columns.Column(l.name)
		for _, value := range known.values {
			for _, series := range column.Series[value] {
				known.set[series/64] ^= 1 << (series % 64)
			}
		}
	}
	return known.set
}

// setOf is ofSeries of such a leaf.
func (l *leaf) setOf(gen *granule.Generation, columns *granule.SeriesColumns) seriesSet {
	set := l.seriesOf(gen, columns)
	return seriesSet{slices.Clone(set), slices.Clone(set)}
}

// valuesOf returns what is known of a generation, the values of its series among it. Each
// distinct value is looked at once, unless only one can hold.
func (l *leaf) valuesOf(gen *granule.Generation, columns *granule.SeriesColumns) *leafKnown {
	known := l.in(gen)
	if known.looked {
		return known
	}
	known.looked = true
	column := columns.Column(l.name)
	if l.text != nil && !l.null {
		if place := column.Place(*l.text); place >= 0 {
			known.values = append(known.values, uint32(place))
		}
		return known
	}
	for i, value := range column.Values {
		if l.test([]byte(value)) != l.null {
			known.values = append(known.values, uint32(i))
		}
	}
	return known
}

// testSeries decides for one series, without a look at the others if few values do that.
func (l *leaf) testSeries(gen *granule.Generation, columns *granule.SeriesColumns, code uint32) bool {
	const few = 4
	known := l.valuesOf(gen, columns)
	if known.set != nil || len(known.values) > few {
		return l.seriesOf(gen, columns).has(code)
	}
	column := columns.Column(l.name)
	for _, value := range known.values {
		if _, has := slices.BinarySearch(column.Series[value], code); has {
			return !l.null
		}
	}
	return l.null
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
		columns := l.work.columns(p.Generation())
		if code, constant := p.Series().Constant(); constant {
			return truthOf(l.testSeries(p.Generation(), columns, uint32(code)))
		}
		if len(columns.Column(l.name).Values) == 0 {
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
	case l.id == nil:
		return maybe
	}
	if rows, ok := l.rowsOfID(p, column); ok && len(rows) == 0 || !ok && !column.MayHave(l.idHash) {
		return no
	}
	return maybe
}

// onlyID returns the leaf that holds for one id only and without which the filter does not
// hold, nil if there is none.
func (f *filter) onlyID() *leaf {
	switch {
	case f.op == opAnd, f.op == opOr && len(f.args) == 1:
		for _, arg := range f.args {
			if l := arg.onlyID(); l != nil {
				return l
			}
		}
	case f.leaf != nil && f.leaf.id != nil && !f.leaf.series:
		return f.leaf
	}
	return nil
}

// among returns, in their place, those of some granules of which it is not known, without a
// look at their rows, that none has the only id for which the leaf holds. All are asked one
// after the other: most questions for a trace have nothing to do but this.
func (l *leaf) among(granules []*granule.Granule) []*granule.Granule {
	kept := granules[:0]
	near := 0 // where the part before had the column: they are mostly alike
	for _, g := range granules {
		if base, alone := g.Base(); alone {
			columns := base.Part.Columns()
			if near >= len(columns) || columns[near].Index != l.column || columns[near].Name != l.name {
				if base.Part.Find(l.column, l.name) == nil {
					continue
				}
				near = slices.IndexFunc(columns, func(c granule.Column) bool { return c.Index == l.column && c.Name == l.name })
			}
			if !columns[near].MayHave(l.idHash) {
				continue
			}
		}
		kept = append(kept, g)
	}
	return kept
}

// rowsOfID returns the rows of a part that have the only id for which the leaf holds, if the
// column tells.
func (l *leaf) rowsOfID(p *granule.Part, column *encoding.Column) (rows []int32, ok bool) {
	if l.idPart != p {
		l.idPart = p
		l.idRows, l.idKnown = column.RowsOf(l.idRows[:0], *l.id)
	}
	return l.idRows, l.idKnown
}
