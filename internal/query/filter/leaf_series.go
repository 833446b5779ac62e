package filter

import (
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
)

// keepSeries removes the series for which the leaf does not hold from a set. A small set is tested series
// by series.
func (l *leaf) keepSeries(s seriesSet, gen *granule.Generation, columns *granule.SeriesColumns) {
	codes, few := catalog.Bitset(s.some).Few(s.some, fewSeries)
	if !few {
		for i, word := range l.matchingSeries(gen, columns) {
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

// matchingSeries returns the set of series for which a leaf on a series column holds. The set is
// cached and must not be changed.
func (l *leaf) matchingSeries(gen *granule.Generation, columns *granule.SeriesColumns) catalog.Bitset {
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

// seriesSet is ofSeries for a leaf on a series column.
func (l *leaf) seriesSet(gen *granule.Generation, columns *granule.SeriesColumns) seriesSet {
	set := l.matchingSeries(gen, columns)
	return seriesSet{slices.Clone(set), slices.Clone(set)}
}

// valuesOf returns a generation's cache after it tested each distinct value once. An equality finds its
// value by search.
func (l *leaf) valuesOf(gen *granule.Generation, columns *granule.SeriesColumns) *leafKnown {
	known := l.knownOf(gen)
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

// testSeries evaluates one series. If few values match, it searches their lists of series and computes no
// set.
func (l *leaf) testSeries(gen *granule.Generation, columns *granule.SeriesColumns, code uint32) bool {
	const few = 4
	known := l.valuesOf(gen, columns)
	if known.set != nil || len(known.values) > few {
		return l.matchingSeries(gen, columns).Has(code)
	}
	column := columns.Column(l.name)
	for _, value := range known.values {
		if _, has := slices.BinarySearch(column.Series[value], code); has {
			return !l.null
		}
	}
	return l.null
}

// fewSeries is the largest number of series that are looked up in the index. For more, the query visits
// all granules in a bucket.
const fewSeries = 64
