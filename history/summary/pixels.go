package summary

import (
	"fmt"
	"math/bits"

	"github.com/granarydb/granary/history"
)

// mostPixels bounds the pixels in a query, because no picture has more.
const mostPixels = 1 << 20

// Pixels splits a range of instants as evenly as possible: of N instants in n parts, part i begins iN/n
// behind the start, rounded down. If there are fewer instants than parts, each instant is a part.
type Pixels struct {
	// From and To are the range, both included.
	From, To int64

	bounds []uint64 // [i+1]: the last instant of pixel i, counted from From; [0] is -1
	rate   float64  // pixels per instant
}

// Len returns the number of pixels, at most the number of instants.
func (p *Pixels) Len() int { return len(p.bounds) - 1 }

// Of returns pixel i's first and last instant.
func (p *Pixels) Of(i int) (first, last int64) {
	return p.From + int64(p.bounds[i]+1), p.From + int64(p.bounds[i+1])
}

func (p *Pixels) set(from, to int64, pixels int) {
	p.From, p.To = from, to
	span, n := uint64(to)-uint64(from), uint64(pixels) // span is one less than the instants
	if span < n {
		n = span + 1
	}
	p.rate = float64(n) / (float64(span) + 1)
	p.bounds = append(p.bounds[:0], ^uint64(0))
	if n == 1 {
		p.bounds = append(p.bounds, span)
		return
	}
	var high uint64 // high word of N, which is 2^64 for all of int64
	if span == ^uint64(0) {
		high = 1
	}
	step, rest := bits.Div64(high, span+1, n)
	at, fraction := ^uint64(0), uint64(0)
	for range n {
		at += step
		if fraction += rest; fraction >= n {
			fraction -= n
			at++
		}
		p.bounds = append(p.bounds, at)
	}
}

// past returns how many pixels end at or before offset, at least lo.
func (p *Pixels) past(lo int, offset uint64) int {
	n := p.Len()
	if lo == n || p.bounds[lo+1] > offset {
		return lo
	}
	if offset >= p.bounds[n] {
		return n
	}
	hi := min(max(int(float64(offset)*p.rate), lo), n-1) // a guess that is off by few
	for p.bounds[hi+1] <= offset {
		hi++
	}
	for hi > lo && p.bounds[hi] > offset {
		hi--
	}
	return hi
}

// check returns the error for these arguments.
func check(v *history.View, attributes []history.Attribute, from, to int64, pixels int) error {
	if pixels <= 0 || pixels > mostPixels || to < from {
		return fmt.Errorf("%w: %d pixels from %d to %d", history.ErrQuery, pixels, from, to)
	}
	if _, err := v.Sample([]history.Attribute{}, []int64{from, to}); err != nil {
		return err
	}
	for _, a := range attributes {
		if err := v.Known(a); err != nil {
			return err
		}
	}
	return nil
}
