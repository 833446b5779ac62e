package union

import (
	"context"
	"iter"
	"slices"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
)

// Member is a history of one provider's attributes: a partial.History, [Complete], or a History. Any number
// of goroutines may query it.
type Member interface {
	Names() history.Names
	Start() int64
	End() int64
	At(ctx context.Context, a history.Attribute, t int64) (history.Interval, error)
	Slice(ctx context.Context, t int64, old []history.Interval) ([]history.Interval, error)
	Range(ctx context.Context, a history.Attribute, from, to int64) iter.Seq2[history.Interval, error]
	RangeAll(ctx context.Context, attributes []history.Attribute, from, to int64, f func(history.Attribute, history.Interval) error) error
	Sample(ctx context.Context, attributes []history.Attribute, times []int64) ([]history.Attribute, []history.Interval, error)
	Interpolate(ctx context.Context, a history.Attribute, t int64) (partial.Interpolation, error)
	Mean(ctx context.Context, a history.Attribute, from, to int64) (partial.Interpolation, error)
}

// complete is a view as a member.
type complete struct{ view *history.View }

// Complete returns a view as a member. The member's queries return ctx.Err() if ctx has ended before they
// begin, but Sample checks its times first. Sample and RangeAll also check ctx while they run.
func Complete(v *history.View) Member { return complete{v} }

// Names returns the view's attributes.
func (c complete) Names() history.Names { return c.view.Names }

// Start returns the view's first instant.
func (c complete) Start() int64 { return c.view.Start() }

// End returns the view's last instant.
func (c complete) End() int64 { return c.view.End() }

// At is View.At.
func (c complete) At(ctx context.Context, a history.Attribute, t int64) (history.Interval, error) {
	if err := ctx.Err(); err != nil {
		return history.Interval{}, err
	}
	return c.view.At(a, t)
}

// Slice returns the intervals of View.Slice, and reuses the memory of old.
func (c complete) Slice(ctx context.Context, t int64, old []history.Interval) ([]history.Interval, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := c.view.Slice(t)
	if err != nil {
		return nil, err
	}
	all := old[:0]
	for _, in := range s.All() {
		all = append(all, in)
	}
	return all, nil
}

// Range is View.Range.
func (c complete) Range(ctx context.Context, a history.Attribute, from, to int64) iter.Seq2[history.Interval, error] {
	if err := ctx.Err(); err != nil {
		return func(yield func(history.Interval, error) bool) { yield(history.Interval{}, err) }
	}
	return c.view.Range(a, from, to, history.RangeOptions{})
}

// RangeAll calls View.Range for each of attributes, one after another. It checks ctx before each of them.
func (c complete) RangeAll(ctx context.Context, attributes []history.Attribute, from, to int64, f func(history.Attribute, history.Interval) error) error {
	for _, a := range attributes {
		for in, err := range c.Range(ctx, a, from, to) {
			if err == nil {
				err = f(a, in)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sampleCells bounds the number of attributes times instants that Sample handles between two checks of ctx. A
// single attribute may exceed it.
const sampleCells = 1 << 20

// Sample is View.Sample.
func (c complete) Sample(ctx context.Context, attributes []history.Attribute, times []int64) ([]history.Attribute, []history.Interval, error) {
	if attributes == nil {
		attributes = c.view.All()
	}
	s, err := c.view.Sample([]history.Attribute{}, times) // checks the times
	if err == nil {
		err = ctx.Err()
	}
	var of []history.Attribute
	var all []history.Interval
	for part := range slices.Chunk(attributes, max(1, sampleCells/max(1, len(times)))) {
		if err == nil {
			s, err = c.view.SampleInto(s, part, times)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, nil, err
		}
		of, all = slices.Grow(of, s.Len()), slices.Grow(all, s.Len())
		for i := range s.Len() {
			a, in := s.At(i)
			of, all = append(of, a), append(all, in)
		}
	}
	return of, all, err
}

// Interpolate returns a counter's known value, as partial.InterpolationOf does.
func (c complete) Interpolate(ctx context.Context, a history.Attribute, t int64) (partial.Interpolation, error) {
	in, err := c.At(ctx, a, t)
	if err != nil {
		return partial.Interpolation{}, err
	}
	return partial.InterpolationOf(a, in.Value)
}

// Mean returns a counter's mean over [from, to], from the intervals of Range.
func (c complete) Mean(ctx context.Context, a history.Attribute, from, to int64) (partial.Interpolation, error) {
	return partial.MeanOf(a, c.Range(ctx, a, from, to), from, to)
}
