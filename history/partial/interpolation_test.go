package partial_test

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
)

// counter returns events of a counter that rises or falls, of ints or floats. Some begin near the ends of int64.
func counter(r *rand.Rand) (l list) {
	v, step, down := r.Int64N(100), int64(1)<<r.IntN(20), r.IntN(2) == 0
	isFloat := r.IntN(3) == 0
	if !isFloat && r.IntN(3) == 0 {
		v = math.MaxInt64 - 400*step
	}
	for at := range int64(1 + r.IntN(300)) {
		e := event{At: 2 * at, Value: history.Int(v)}
		x := v
		if down {
			x = -v
			e.Value = history.Int(x)
		}
		if isFloat {
			e.Value = history.Float(float64(x) / 3)
		}
		l = append(l, e)
		if r.IntN(3) > 0 {
			v += r.Int64N(step)
		}
	}
	return l
}

// number returns a value exactly. Null is 0.
func number(v history.Value) *big.Float {
	x := new(big.Float).SetPrec(200)
	switch v.Kind() {
	case history.KindInt:
		x.SetInt64(v.Int())
	case history.KindFloat:
		x.SetFloat64(v.Float())
	}
	return x
}

// TestInterpolate compares the lines at all instants with the true values: none is farther away than it says.
func TestInterpolate(t *testing.T) {
	lines, exact, off := 0, 0, 0
	for seed := range seeds(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := counter(r)
		p, err := partial.Build(t.Context(), l, provide, partial.Options{Every: 1 + r.IntN(60)})
		if err != nil {
			t.Fatal(err)
		}
		for at := range p.End() + 1 {
			got, err := p.Interpolate(t.Context(), 1, at)
			if err != nil {
				t.Fatalf("seed %d at %d: %v", seed, at, err)
			}
			in, err := p.At(t.Context(), 1, at)
			if err != nil {
				t.Fatal(err)
			}
			want := number(in.Value)
			d := new(big.Float).SetPrec(200).Sub(want, big.NewFloat(got.Value))
			if d.Abs(d).Cmp(big.NewFloat(got.Error)) > 0 {
				t.Fatalf("seed %d at %d: %v, and the value is %v", seed, at, got, want)
			}
			switch lines++; {
			case got.Error == 0:
				exact++
			case d.Sign() != 0:
				off++
			}
		}
	}
	if exact < lines/100 || off < lines/4 {
		t.Errorf("%d of %d lines are exact, %d differ: is it a line?", exact, lines, off)
	}
	t.Logf("%d lines, %d say that they are exact, %d differ", lines, exact, off)
}

// replayedMean returns Mean with a replay of each gap.
func replayedMean(p *partial.History[event]) func(context.Context, history.Attribute, int64, int64) (partial.Interpolation, error) {
	return func(ctx context.Context, a history.Attribute, from, to int64) (partial.Interpolation, error) {
		return partial.MeanOf(a, p.Range(ctx, a, from, to), from, to)
	}
}

// TestMean compares means with the true ones, which are sums over all instants: none is farther away than it says, and
// one with a replay is exact but for the last digit of a float64.
func TestMean(t *testing.T) {
	wide, lines := 0, 0
	for seed := range seeds(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := counter(r)
		p, err := partial.Build(t.Context(), l, provide, partial.Options{Every: 1 + r.IntN(60)})
		if err != nil {
			t.Fatal(err)
		}
		replayed := replayedMean(p)
		for range 20 {
			from, to := r.Int64N(p.End()+1), r.Int64N(p.End()+1)
			from, to = min(from, to), max(from, to)
			want, n, spread := new(big.Float).SetPrec(400), 0, 0.0
			for at := from; at <= to; at++ {
				for n < len(l) && l[n].At <= at {
					n++
				}
				if n > 0 {
					want.Add(want, number(l[n-1].Value))
				}
			}
			want.Quo(want, new(big.Float).SetInt64(to-from+1))
			for _, mean := range []func(context.Context, history.Attribute, int64, int64) (partial.Interpolation, error){p.Mean, replayed} {
				got, err := mean(t.Context(), 1, from, to)
				if err != nil {
					t.Fatal(err)
				}
				d := new(big.Float).SetPrec(400).Sub(want, big.NewFloat(got.Value))
				if d.Abs(d).Cmp(big.NewFloat(got.Error)) > 0 {
					t.Fatalf("seed %d from %d to %d: %v, and the mean is %v", seed, from, to, got, want)
				}
				spread = got.Error / (1 + math.Abs(got.Value))
			}
			if spread > 1e-15 {
				t.Fatalf("seed %d from %d to %d: a replay is %v off", seed, from, to, spread)
			}
			got, _ := p.Mean(t.Context(), 1, from, to)
			if lines++; got.Error > 1e-9*(1+math.Abs(got.Value)) {
				wide++
			}
		}
	}
	if wide < lines/4 || wide > lines*9/10 {
		t.Errorf("%d of %d means are no exact ones", wide, lines)
	}
}

// TestMean_Wild has values that are no numbers, and an int64 for nearly all of time.
func TestMean_Wild(t *testing.T) {
	for _, v := range []history.Value{history.Float(math.NaN()), history.Float(math.Inf(-1))} {
		p, err := partial.Build(t.Context(), list{{At: 1, Value: history.Float(1)}, {At: 3, Value: v}, {At: 4, Value: history.Float(2)}}, provide, partial.Options{Every: 1})
		must(t, err)
		if got, err := p.Mean(t.Context(), 1, 0, 4); err != nil || !math.IsNaN(got.Value) || !math.IsInf(got.Error, 1) {
			t.Errorf("with %v: %v, %v", v, got, err)
		}
		if got, err := p.Mean(t.Context(), 1, 1, 2); err != nil || got.Value != 1 || got.Error != 0 {
			t.Errorf("beside %v: %v, %v", v, got, err)
		}
	}
	none := func(yield func(history.Interval, error) bool) {
		yield(history.Interval{Start: 5, End: 9, Value: history.Int(1)}, nil)
	}
	if got, err := partial.MeanOf(1, none, 10, 20); err != nil || !math.IsNaN(got.Value) || !math.IsInf(got.Error, 1) {
		t.Errorf("no instant: %v, %v", got, err)
	}
	opts := partial.Options{Start: math.MinInt64 + 1, End: math.MaxInt64, Every: 10}
	p, err := partial.Build(t.Context(), list{{At: opts.Start, Value: history.Int(math.MaxInt64)}}, provide, opts)
	must(t, err)
	if got, err := p.Mean(t.Context(), 1, opts.Start, opts.End); err != nil || got.Value != 1<<63 || got.Error != 1 {
		t.Errorf("all of time: %v, %v", got, err)
	}
}

func TestInterpolate_Errors(t *testing.T) {
	var l list
	for at := range int64(50) {
		l = append(l, event{At: at, Value: history.String(string(rune('a' + at%20)))})
	}
	p, err := partial.Build(t.Context(), l, provide, partial.Options{Every: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{3, p.Checkpoints()[0], p.Checkpoints()[0] + 5} {
		if _, err := p.Interpolate(t.Context(), 1, at); !errors.Is(err, history.ErrKind) {
			t.Errorf("a text at %d: %v", at, err)
		}
	}
	for _, mean := range []func(context.Context, history.Attribute, int64, int64) (partial.Interpolation, error){p.Mean, replayedMean(p)} {
		if _, err := mean(t.Context(), 1, 3, 20); !errors.Is(err, history.ErrKind) {
			t.Errorf("a mean of texts: %v", err)
		}
		if _, err := mean(t.Context(), 1, 3, 100); !errors.Is(err, history.ErrOutside) {
			t.Errorf("a mean outside: %v", err)
		}
		if _, err := mean(t.Context(), 1, 4, 3); !errors.Is(err, history.ErrQuery) {
			t.Errorf("a mean of no instant: %v", err)
		}
	}
	if _, err := p.Interpolate(t.Context(), 1, 100); !errors.Is(err, history.ErrOutside) {
		t.Errorf("outside: %v", err)
	}
}
