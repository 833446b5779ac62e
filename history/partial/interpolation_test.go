package partial_test

import (
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
	for seed := range uint64(300) {
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
	if _, err := p.Interpolate(t.Context(), 1, 100); !errors.Is(err, history.ErrOutside) {
		t.Errorf("outside: %v", err)
	}
}
