package partial

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/big"

	"github.com/granarydb/granary/history"
)

// Mean approximates a counter's mean over [from, to] and bounds the error, without reading events. It
// assumes that the counter is monotone between two checkpoints, like Interpolate: in a gap it is between
// the kept values before and behind. Null is 0. Only before the first checkpoint, where no value is kept,
// are events replayed.
//
// It returns the errors of Range, and history.ErrKind for a value that is not a number. A value that is NaN
// or infinite makes the mean NaN, and the error infinite. It costs 0.5 us for each kept interval and gap on
// the way.
func (h *History[E]) Mean(ctx context.Context, a history.Attribute, from, to int64) (Interpolation, error) {
	s := newSums()
	for in, err := range h.kept.rangeOf(a, from, to) {
		if err != nil {
			return Interpolation{}, err
		}
		start, end := max(in.Start, from), min(in.End, to)
		_, isGap := h.marks.gap(in)
		switch {
		case !isGap:
			err = s.add(a, in.Value, in.Value, start, end)
		case in.Start == h.kept.view.Start():
			err = s.addAll(a, h.Range(ctx, a, start, end), start, end)
		default:
			var before, behind history.Interval
			if before, err = h.kept.at(a, in.Start-1); err == nil {
				behind, err = h.kept.at(a, in.End+1)
			}
			if err == nil {
				err = s.add(a, before.Value, behind.Value, start, end)
			}
		}
		if err != nil {
			return Interpolation{}, err
		}
	}
	return s.mean(), nil
}

// MeanOf returns a counter's mean over [from, to], for which intervals yields all intervals, from
// History.Range or history.View.Range. It is exact but for the last digit of a float64. With History.Range
// it is Mean by a replay, and does not assume that the counter is monotone. Null is 0. The errors come from
// intervals, and history.ErrKind. Values that are NaN or infinite are treated as in Mean, and so is an
// empty range.
func MeanOf(a history.Attribute, intervals iter.Seq2[history.Interval, error], from, to int64) (Interpolation, error) {
	s := newSums()
	if err := s.addAll(a, intervals, from, to); err != nil {
		return Interpolation{}, err
	}
	return s.mean(), nil
}

// sums are bounds of a sum of values by time, and the time. Rounding does not narrow them.
type sums struct {
	least, most, time *big.Float
	wild              bool // a value was NaN or infinite
}

const sumBits = 256 // exceeds the bits of an int64 for all of time

func newSums() *sums {
	sum := func(mode big.RoundingMode) *big.Float { return new(big.Float).SetPrec(sumBits).SetMode(mode) }
	return &sums{sum(big.ToNegativeInf), sum(big.ToPositiveInf), sum(big.ToNearestEven), false}
}

// add adds a counter that is between two values in [from, to].
func (s *sums) add(a history.Attribute, one, other history.Value, from, to int64) error {
	lo, err := s.number(a, one)
	if err != nil {
		return err
	}
	hi, err := s.number(a, other)
	if err != nil || s.wild {
		return err
	}
	if lo.Cmp(hi) > 0 {
		lo, hi = hi, lo
	}
	width := new(big.Float).SetPrec(sumBits).SetUint64(uint64(to) - uint64(from))
	width.Add(width, big.NewFloat(1))
	s.time.Add(s.time, width)
	s.least.Add(s.least, lo.SetMode(big.ToNegativeInf).Mul(lo, width))
	s.most.Add(s.most, hi.SetMode(big.ToPositiveInf).Mul(hi, width))
	return nil
}

// addAll adds the parts of intervals in [from, to].
func (s *sums) addAll(a history.Attribute, intervals iter.Seq2[history.Interval, error], from, to int64) error {
	for in, err := range intervals {
		if err != nil {
			return err
		}
		start, end := max(in.Start, from), min(in.End, to)
		if start > end {
			continue // outside
		}
		if err := s.add(a, in.Value, in.Value, start, end); err != nil {
			return err
		}
	}
	return nil
}

// number returns a value exactly.
func (s *sums) number(a history.Attribute, v history.Value) (*big.Float, error) {
	x := new(big.Float).SetPrec(sumBits)
	switch v.Kind() {
	case history.KindNull:
		return x, nil
	case history.KindInt:
		return x.SetInt64(v.Int()), nil
	case history.KindFloat:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return x.SetFloat64(f), nil
		}
		s.wild = true
		return x, nil
	}
	return nil, fmt.Errorf("%w: attribute %d is %s, not a counter", history.ErrKind, a, v.Kind())
}

// mean returns the middle of the bounds, and its distance from them.
func (s *sums) mean() Interpolation {
	if s.wild || s.time.Sign() == 0 {
		return Interpolation{math.NaN(), math.Inf(1)}
	}
	s.least.Quo(s.least, s.time)
	s.most.Quo(s.most, s.time)
	middle := new(big.Float).SetPrec(sumBits).Add(s.least, s.most)
	x, _ := middle.Quo(middle, big.NewFloat(2)).Float64()
	at := new(big.Float).SetPrec(sumBits).SetFloat64(x)
	below := new(big.Float).SetMode(big.ToPositiveInf).SetPrec(sumBits).Sub(at, s.least)
	above := new(big.Float).SetMode(big.ToPositiveInf).SetPrec(sumBits).Sub(s.most, at)
	if below.Cmp(above) > 0 {
		above = below
	}
	distance, accuracy := above.Float64()
	if accuracy == big.Below {
		distance = math.Nextafter(distance, math.Inf(1))
	}
	return Interpolation{x, distance}
}
