package partial_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
)

var errBroken = errors.New("broken")

// counted is a number of events, of which each changes attribute 0. Its calls can fail.
type counted struct {
	n            int
	position     int                   // bytes of a position
	fails        map[string]bool       // Open, Next, Position, Close
	before       func(n int)           // is called before each event
	provideFails func(event int) error // nil: never
}

type countedReader struct {
	*counted
	next int
}

func (c *counted) Open(_ context.Context, position []byte) (partial.Reader[int], error) {
	if c.fails["Open"] {
		return nil, errBroken
	}
	r := &countedReader{c, 0}
	if position != nil {
		if _, err := fmt.Sscan(string(position), &r.next); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *countedReader) Next() (int64, int, error) {
	if r.fails["Next"] && r.next > 15 {
		return 0, 0, errBroken
	}
	if r.before != nil {
		r.before(r.next)
	}
	if r.next == r.n {
		return 0, 0, io.EOF
	}
	r.next++
	return int64(r.next), r.next, nil
}

func (r *countedReader) Position() ([]byte, error) {
	if r.fails["Position"] {
		return nil, errBroken
	}
	return fmt.Appendf(nil, "%*d", r.position, r.next), nil
}

func (r *countedReader) Close() error {
	if r.fails["Close"] {
		return errBroken
	}
	return nil
}

func (c *counted) provide(w *partial.Writer, n int) error {
	if c.provideFails != nil {
		if err := c.provideFails(n); err != nil {
			return err
		}
	}
	a, err := w.Attribute("count")
	if err != nil {
		return err
	}
	return w.Change(a, history.Int(int64(n)))
}

func (c *counted) build(t *testing.T, every int) (*partial.History[int], error) {
	return partial.Build(t.Context(), c, c.provide, partial.Options{Every: every})
}

// TestBuild_Errors has each call of the events fail, and the provider.
func TestBuild_Errors(t *testing.T) {
	for _, call := range []string{"Open", "Next", "Position", "Close"} {
		c := &counted{n: 100, fails: map[string]bool{call: true}}
		if p, err := c.build(t, 10); !errors.Is(err, errBroken) || p != nil {
			t.Errorf("%s fails: %v", call, err)
		}
	}
	c := &counted{n: 100, provideFails: func(n int) error {
		if n == 50 {
			return errBroken
		}
		return nil
	}}
	if _, err := c.build(t, 10); !errors.Is(err, errBroken) {
		t.Errorf("the provider fails: %v", err)
	}
	for size, ok := range map[int]bool{partial.MaxPosition: true, partial.MaxPosition + 1: false} {
		c := &counted{n: 100, position: size}
		if _, err := c.build(t, 10); ok && err != nil || !ok && !errors.Is(err, partial.ErrPosition) {
			t.Errorf("positions of %d bytes: %v", size, err)
		}
	}
	if _, err := partial.Build(t.Context(), c, c.provide, partial.Options{Start: math.MinInt64, Every: 1}); !errors.Is(err, history.ErrQuery) {
		t.Errorf("from the least instant: %v", err)
	}
}

// TestReplay_Errors has each call fail in a replay. A kept interval needs none of them.
func TestReplay_Errors(t *testing.T) {
	c := &counted{n: 100}
	p, err := c.build(t, 10)
	if err != nil {
		t.Fatal(err)
	}
	kept := p.Checkpoints()[1]
	for _, call := range []string{"Open", "Next", "Close", "provider"} {
		c.fails = map[string]bool{call: true}
		if call == "provider" {
			c.provideFails = func(int) error { return errBroken }
		}
		var of *partial.EventsError
		if _, err := p.At(t.Context(), 0, kept+5); !errors.Is(err, errBroken) || !errors.As(err, &of) || len(of.Position) == 0 {
			t.Errorf("%s fails: %v", call, err)
		}
		if got, err := p.At(t.Context(), 0, kept); err != nil || got.Value.Int() != kept {
			t.Errorf("%s fails, and %v is kept: %v", call, got, err)
		}
		for in, err := range p.Range(t.Context(), 0, kept, kept+5) {
			if in.Start == kept+1 && !errors.Is(err, errBroken) {
				t.Errorf("%s fails in a range: %v, %v", call, in, err)
			}
		}
	}
}

// TestReplay_Canceled cancels amid a long replay.
func TestReplay_Canceled(t *testing.T) {
	const events, stop = 100_000, 10_000
	c := &counted{n: events}
	p, err := c.build(t, events)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	last := 0
	c.before = func(n int) {
		if last = n; n == stop {
			cancel()
		}
	}
	if _, err := p.At(ctx, 0, events-1); !errors.Is(err, context.Canceled) || last > stop+2048 {
		t.Errorf("canceled at %d of %d, went on to %d: %v", stop, events, last, err)
	}
}

// TestEmpty has a history without events.
func TestEmpty(t *testing.T) {
	c := &counted{}
	p, err := partial.Build(t.Context(), c, c.provide, partial.Options{Start: 5, End: 10, Every: 1})
	if err != nil {
		t.Fatal(err)
	}
	if p.Start() != 5 || p.End() != 10 || p.Names().Len() != 0 || p.Intervals() != 0 {
		t.Errorf("from %d to %d, %d attributes, %d intervals", p.Start(), p.End(), p.Names().Len(), p.Intervals())
	}
	if all, err := p.Slice(t.Context(), 7, nil); err != nil || len(all) != 0 {
		t.Errorf("slice: %v, %v", all, err)
	}
	if _, err := p.At(t.Context(), 0, 7); !errors.Is(err, history.ErrAttribute) {
		t.Errorf("no attribute: %v", err)
	}
}

// TestTimes has events at both ends of time.
func TestTimes(t *testing.T) {
	l := list{
		{At: math.MinInt64 + 1, Value: history.Int(1)},
		{At: math.MinInt64 + 2, Value: history.Int(2)},
		{At: -1, Value: history.Int(3)},
		{At: 0, Value: history.Int(4)},
		{At: math.MaxInt64 - 1, Value: history.Int(5)},
		{At: math.MaxInt64, Value: history.Int(6)},
	}
	const start = math.MinInt64 + 1
	full := whole(t, l, start, math.MaxInt64)
	for every := range 8 {
		p, err := partial.Build(t.Context(), l, provide, partial.Options{Start: start, End: math.MaxInt64, Every: every + 1})
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Names().Lookup(name(0)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range l {
			for _, at := range []int64{max(e.At, start+1) - 1, e.At, min(e.At, math.MaxInt64-1) + 1} {
				want, _ := full.At(a, at)
				if got, err := p.At(t.Context(), a, at); err != nil || !same(got, want) {
					t.Errorf("every %d, at %d: %v, want %v: %v", every+1, at, got, want, err)
				}
			}
		}
	}
}

// TestPixels compares pixels with those of the whole history.
func TestPixels(t *testing.T) {
	c := &counted{n: 1000}
	p, err := c.build(t, 100)
	if err != nil {
		t.Fatal(err)
	}
	of, all, err := p.Pixels(t.Context(), nil, 0, 1000, 37)
	if err != nil || len(of) != 37 || len(all) != 37 {
		t.Fatalf("%d of %d pixels: %v", len(all), 37, err)
	}
	for i, at := range history.PixelTimes(0, 1000, 37) {
		if all[i].Start > at || all[i].End < at || all[i].Value.Int() != at {
			t.Errorf("pixel %d at %d is %v", i, at, all[i])
		}
	}
	if _, _, err := p.Pixels(t.Context(), nil, 0, 1000, 0); !errors.Is(err, history.ErrQuery) {
		t.Errorf("no pixels: %v", err)
	}
	if _, _, err := p.Pixels(t.Context(), nil, 0, 2000, 10); !errors.Is(err, history.ErrOutside) {
		t.Errorf("outside: %v", err)
	}
}
