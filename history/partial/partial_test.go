package partial_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
)

// event is an operation on attribute n: a change, a push or a pop, or nothing.
type event struct {
	at    int64
	n, op int
	value history.Value
}

// list is events in memory; a position is the number of an event.
type list []event

func (l list) Open(_ context.Context, position []byte) (partial.Reader[event], error) {
	if position == nil {
		return &reader{l, 0}, nil
	}
	n, size := binary.Uvarint(position)
	if size != len(position) || n > uint64(len(l)) {
		return nil, fmt.Errorf("no position: %x", position)
	}
	return &reader{l, int(n)}, nil
}

type reader struct {
	list list
	next int
}

func (r *reader) Next() (int64, event, error) {
	if r.next == len(r.list) {
		return 0, event{}, io.EOF
	}
	r.next++
	e := r.list[r.next-1]
	return e.at, e, nil
}

func (r *reader) Position() ([]byte, error) { return binary.AppendUvarint(nil, uint64(r.next)), nil }
func (r *reader) Close() error              { return nil }

func name(n int) []string { return []string{"all", fmt.Sprint(n)} }

func provide(w *partial.Writer, e event) error {
	a, err := w.Attribute(name(e.n)...)
	if err != nil {
		return err
	}
	switch e.op {
	case 0:
		return w.Change(a, e.value)
	case 1:
		return w.Push(a, e.value)
	case 2:
		_, err = w.Pop(a)
	}
	return err
}

// whole returns the whole history of events: the oracle.
func whole(t testing.TB, l list, start, end int64) *history.View {
	h, err := history.New(history.Options{Start: start})
	if err != nil {
		t.Fatal(err)
	}
	w, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l {
		a, err := w.Attribute(name(e.n)...)
		switch {
		case err != nil:
		case e.op == 0:
			err = w.Change(e.at, a, e.value)
		case e.op == 1:
			err = w.Push(e.at, a, e.value)
		case e.op == 2:
			_, err = w.Pop(e.at, a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(end); err != nil {
		t.Fatal(err)
	}
	v, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// draw returns random events. Attribute n has values of one kind; each fourth is a stack.
func draw(r *rand.Rand, start int64) (l list) {
	at, attributes, step := start+r.Int64N(3), 1+r.IntN(9), 1+r.Int64N(5)
	for range 1 + r.IntN(300) {
		n := r.IntN(attributes)
		e := event{at: at, n: n}
		v := r.Int64N(4)
		switch n % 4 {
		case 0:
			e.value = history.Int(v)
		case 1:
			e.value = history.String(fmt.Sprint("s", v))
		case 2:
			e.value = history.Float(float64(v) / 2)
		case 3:
			e.op, e.value = 1+r.IntN(3), history.Bool(v%2 == 0)
		}
		if r.IntN(4) == 0 {
			e.value = history.Value{}
		}
		l = append(l, e)
		at += r.Int64N(step)
	}
	return l
}

func same(a, b history.Interval) bool {
	return a.Start == b.Start && a.End == b.End && a.Open == b.Open && a.Value.Equal(b.Value)
}

// TestQueries compares random questions, those at checkpoints and beside them among them, with
// the whole history (P1 to P4).
func TestQueries(t *testing.T) {
	const histories = 120
	questions := 0
	for seed := range uint64(histories) {
		r := rand.New(rand.NewPCG(seed, 1))
		start := r.Int64N(100) - 50
		l := draw(r, start)
		end := l[len(l)-1].at + r.Int64N(3)
		full := whole(t, l, start, end)
		every := []int{1, 2, 3, 10, 50, len(l), len(l) + 1}[r.IntN(7)]
		p, err := partial.Build(t.Context(), l, provide, partial.Options{Start: start, End: end, Every: every})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if p.Start() != start || p.End() != end || p.Names().Len() != full.Len() {
			t.Fatalf("seed %d: from %d to %d, %d attributes", seed, p.Start(), p.End(), p.Names().Len())
		}
		marks := p.Checkpoints()
		instant := func() int64 {
			if r.IntN(2) == 0 {
				return start + r.Int64N(end-start+1)
			}
			return min(max(marks[r.IntN(len(marks))]+r.Int64N(3)-1, start), end)
		}
		for range 60 {
			questions += 4
			ask(t, seed, r, p, full, instant)
		}
	}
	t.Log(questions, "questions")
}

func ask(t *testing.T, seed uint64, r *rand.Rand, p *partial.History[event], full *history.View, instant func() int64) {
	t.Helper()
	ctx, a, at := t.Context(), history.Attribute(r.IntN(full.Len())), instant()
	want, _ := full.At(a, at)
	got, err := p.At(ctx, a, at)
	if err != nil || !same(got, want) {
		t.Fatalf("seed %d: attribute %d at %d is %v, want %v: %v", seed, a, at, got, want, err)
	}
	all, err := p.Slice(ctx, at, nil)
	if err != nil || len(all) != full.Len() {
		t.Fatalf("seed %d: slice at %d has %d: %v", seed, at, len(all), err)
	}
	for a, got := range all {
		if want, _ := full.At(history.Attribute(a), at); !same(got, want) {
			t.Fatalf("seed %d: attribute %d in the slice at %d is %v, want %v", seed, a, at, got, want)
		}
	}
	from, to := at, instant()
	from, to = min(from, to), max(from, to)
	var ranged, wanted []history.Interval
	for in, err := range p.Range(ctx, a, from, to) {
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		ranged = append(ranged, in)
	}
	for in := range full.Range(a, from, to, history.RangeOptions{}) {
		wanted = append(wanted, in)
	}
	if !slices.EqualFunc(ranged, wanted, same) {
		t.Fatalf("seed %d: attribute %d from %d to %d: %v, want %v", seed, a, from, to, ranged, wanted)
	}
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
		if a, in := sampled.At(i); of[i] != a || !same(ins[i], in) {
			t.Fatalf("seed %d: sample %d is %d %v, want %d %v", seed, i, of[i], ins[i], a, in)
		}
	}
}

// TestReaders has several goroutines ask at once (P5).
func TestReaders(t *testing.T) {
	l := draw(rand.New(rand.NewPCG(7, 7)), 0)
	end := l[len(l)-1].at
	full := whole(t, l, 0, end)
	p, err := partial.Build(t.Context(), l, provide, partial.Options{Every: 20})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for at := range end + 1 {
				for a := range history.Attribute(full.Len()) {
					want, _ := full.At(a, at)
					if got, err := p.At(t.Context(), a, at); err != nil || !same(got, want) {
						t.Errorf("attribute %d at %d is %v, want %v: %v", a, at, got, want, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// changing is events that are other ones after the build.
type changing struct{ now list }

func (c *changing) Open(ctx context.Context, position []byte) (partial.Reader[event], error) {
	return c.now.Open(ctx, position)
}

// TestErrors has events that differ at the replay, that fail, and that end too early.
func TestErrors(t *testing.T) {
	var l list
	for i := range int64(100) {
		l = append(l, event{at: i, n: 0, value: history.Int(i)})
	}
	c := &changing{now: l}
	p, err := partial.Build(t.Context(), c, provide, partial.Options{Every: 10})
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.Names().Lookup(name(0)...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.At(t.Context(), a, 55); err != nil {
		t.Fatal(err)
	}
	c.now = slices.Clone(l)
	for i := 50; i < 60; i++ {
		c.now[i].value = history.Int(49) // no change any more
	}
	var of *partial.EventsError
	if _, err := p.At(t.Context(), a, 55); !errors.Is(err, partial.ErrDiffers) {
		t.Errorf("other events: %v", err)
	}
	c.now = l[:52]
	if _, err := p.At(t.Context(), a, 55); !errors.Is(err, partial.ErrDiffers) {
		t.Errorf("events end early: %v", err)
	}
	c.now = nil
	if _, err := p.At(t.Context(), a, 55); !errors.As(err, &of) || len(of.Position) == 0 {
		t.Errorf("no position: %v", err)
	}
	if _, err := p.At(t.Context(), a, 100); !errors.Is(err, history.ErrOutside) {
		t.Errorf("outside: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.At(ctx, a, 55); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	l[3].at = 1
	if _, err := partial.Build(t.Context(), l, provide, partial.Options{Every: 10}); !errors.Is(err, history.ErrOrder) {
		t.Errorf("out of order: %v", err)
	}
	if _, err := partial.Build(t.Context(), l, provide, partial.Options{}); !errors.Is(err, history.ErrQuery) {
		t.Errorf("no distance: %v", err)
	}
}
