package partial

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/granarydb/granary/history"
)

// Interpolation is the value of a counter at an instant, and how far the true one is away at most.
type Interpolation struct {
	Value, Error float64
}

// Interpolate returns about the value of a counter at t, without a look at the events: exact where the interval is
// kept, else on a straight line between the kept values before and behind it. It takes the counter for
// monotone between two checkpoints: the true value is between the two, so the error of the line is known.
// Null is 0. Only before the first checkpoint, where no value is kept, events are replayed, as At does; At
// is the exact answer everywhere.
//
// The errors are as for At, and history.ErrKind for a value that is no number. It costs three states of a
// history.View.
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

// InterpolationOf returns the value of a counter that is known. It is exact, but for an int between two float64: then it
// is the lower one, and the error their distance. Null is 0. The error is history.ErrKind for a value that is no number.
func InterpolationOf(a history.Attribute, v history.Value) (Interpolation, error) {
	lo, hi, err := bounds(a, v)
	return Interpolation{lo, hi - lo}, err
}

// bounds returns the numbers next to a value, which are equal if it is one.
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
