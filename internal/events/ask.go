package events

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/granarydb/granary/history"
)

// Asker is a history that answers questions about states.
type Asker interface {
	At(ctx context.Context, a history.Attribute, t int64) (history.Interval, error)
	Slice(ctx context.Context, t int64, old []history.Interval) ([]history.Interval, error)
	Range(ctx context.Context, a history.Attribute, from, to int64) iter.Seq2[history.Interval, error]
	RangeAll(ctx context.Context, attributes []history.Attribute, from, to int64, f func(history.Attribute, history.Interval) error) error
	Sample(ctx context.Context, attributes []history.Attribute, times []int64) ([]history.Attribute, []history.Interval, error)
}

// Ask asks one question of each kind at random, at instants that a function returns, and compares the answers
// with the answers of the whole history.
func Ask(t testing.TB, seed uint64, r *rand.Rand, p Asker, full *history.View, instant func() int64) {
	t.Helper()
	ctx, a, at := t.Context(), history.Attribute(r.IntN(full.Len())), instant()
	want, _ := full.At(a, at)
	got, err := p.At(ctx, a, at)
	if err != nil || !Same(got, want) {
		t.Fatalf("seed %d: attribute %d at %d is %v, want %v: %v", seed, a, at, got, want, err)
	}
	all, err := p.Slice(ctx, at, nil)
	if err != nil || len(all) != full.Len() {
		t.Fatalf("seed %d: slice at %d has %d: %v", seed, at, len(all), err)
	}
	for a, got := range all {
		if want, _ := full.At(history.Attribute(a), at); !Same(got, want) {
			t.Fatalf("seed %d: attribute %d in the slice at %d is %v, want %v", seed, a, at, got, want)
		}
	}
	from, to := at, instant()
	from, to = min(from, to), max(from, to)
	var ranged, wanted []history.Interval
	for in, failed := range p.Range(ctx, a, from, to) {
		ranged, err = append(ranged, in), failed
	}
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for in, failed := range full.Range(a, from, to, history.RangeOptions{}) {
		wanted, err = append(wanted, in), failed
	}
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(ranged, wanted, Same) {
		t.Fatalf("seed %d: attribute %d from %d to %d: %v, want %v", seed, a, from, to, ranged, wanted)
	}
	askAll(t, seed, p, full, from, to)
	attributes := []history.Attribute{a, history.Attribute(r.IntN(full.Len())), a}[:1+r.IntN(3)]
	times := []int64{at, instant(), instant(), instant(), at}
	sampled, err := full.Sample(attributes, times)
	if err != nil {
		t.Fatal(err)
	}
	of, ins, err := p.Sample(ctx, attributes, times)
	if err != nil || len(ins) != sampled.Len() {
		t.Fatalf("seed %d: %d samples, want %d: %v", seed, len(ins), sampled.Len(), err)
	}
	for i := range ins {
		if a, in := sampled.At(i); of[i] != a || !Same(ins[i], in) {
			t.Fatalf("seed %d: sample %d is %d %v, want %d %v", seed, i, of[i], ins[i], a, in)
		}
	}
}

// askAll compares the intervals of all attributes in a range.
func askAll(t testing.TB, seed uint64, p Asker, full *history.View, from, to int64) {
	t.Helper()
	got := make([][]history.Interval, full.Len())
	err := p.RangeAll(t.Context(), full.All(), from, to, func(a history.Attribute, in history.Interval) error {
		got[a] = append(got[a], in)
		return nil
	})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for a, got := range got {
		var want []history.Interval
		for in, err := range full.Range(history.Attribute(a), from, to, history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, in)
		}
		if !slices.EqualFunc(got, want, Same) {
			t.Fatalf("seed %d: attribute %d of all from %d to %d: %v, want %v", seed, a, from, to, got, want)
		}
	}
}
