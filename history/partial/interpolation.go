package partial

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/granarydb/granary/history"
)

// Interpolation is a counter's approximate value at an instant, and a bound of the error.
type Interpolation struct {
	Value, Error float64
}

// Interpolate approximates a counter's value at t without reading events. It is exact where the interval is
// kept, and elsewhere on a straight line between the kept values before and behind it. It assumes that the
// counter is monotone between two checkpoints: the true value is between the two, so the error of the line
// is known. Null is 0. Only before the first checkpoint, where no value is kept, are events replayed, as in
// At, which is exact everywhere.
//
// It returns the errors of At, and history.ErrKind for a value that is not a number. It costs three states
// of a history.View.
func (h *History[E]) Interpolate(ctx context.Context, a history.Attribute, t int64) (Interpolation, error) {
	in, err := h.kept.at(a, t)
	if err != nil {
		return Interpolation{}, err
	}
	if _, isGap := h.marks.gap(in); !isGap || in.Start == h.kept.view.Start() {
		if in, err = h.At(ctx, a, t); err != nil {
			return Interpolation{}, err
		}
		return InterpolationOf(a, in.Value)
	}
	before, err := h.kept.at(a, in.Start-1)
	if err != nil {
		return Interpolation{}, err
	}
	behind, err := h.kept.at(a, in.End+1)
	if err != nil {
		return Interpolation{}, err
	}
	from, fromMost, err := bounds(a, before.Value)
	if err != nil {
		return Interpolation{}, err
	}
	to, toMost, err := bounds(a, behind.Value)
	if err != nil {
		return Interpolation{}, err
	}
	share := float64(uint64(t)-uint64(before.End)) / float64(uint64(behind.Start)-uint64(before.End))
	lo, hi := min(from, to), max(fromMost, toMost)
	x := min(max(from*(1-share)+to*share, lo), hi)
	return Interpolation{x, math.Nextafter(max(x-lo, hi-x), math.Inf(1))}, nil
}

// InterpolationOf returns a counter's known value. It is exact, except for an int between two float64s:
// then it is the lower, and the error is their distance. Null is 0. The error is history.ErrKind for a
// value that is not a number.
func InterpolationOf(a history.Attribute, v history.Value) (Interpolation, error) {
	lo, hi, err := bounds(a, v)
	return Interpolation{lo, hi - lo}, err
}

// bounds returns the float64s next to a value, which are equal if the value is a float64.
func bounds(a history.Attribute, v history.Value) (lo, hi float64, err error) {
	switch v.Kind() {
	case history.KindNull:
		return 0, 0, nil
	case history.KindFloat:
		return v.Float(), v.Float(), nil
	case history.KindInt:
		x, accuracy := new(big.Float).SetInt64(v.Int()).Float64()
		switch accuracy {
		case big.Above:
			return math.Nextafter(x, math.Inf(-1)), x, nil
		case big.Below:
			return x, math.Nextafter(x, math.Inf(1)), nil
		}
		return x, x, nil
	}
	return 0, 0, fmt.Errorf("%w: attribute %d is %s, not a counter", history.ErrKind, a, v.Kind())
}
