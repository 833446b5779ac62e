package filter

import (
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/catalog"
)

// seriesSet is a filter's verdict on a generation's series, a bit for each: series whose rows all match,
// and series whose rows can match.
type seriesSet struct{ all, some []uint64 }

func newSeriesSet(n int, all, some bool) seriesSet {
	return seriesSet{newBitset(n, all), newBitset(n, some)}
}

// newBitset returns n equal bits, and one more for code 0.
func newBitset(n int, on bool) catalog.Bitset {
	return slices.Repeat([]uint64{-encoding.FromBool(on)}, n/64+1)
}

// of returns the verdict on one series.
func (s *seriesSet) of(code uint32) truth {
	switch bit := uint64(1) << (code % 64); {
	case s.all[code/64]&bit != 0:
		return yes
	case s.some[code/64]&bit != 0:
		return maybe
	}
	return no
}
