package partial_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/events"
)

type event = events.Event

type list = events.List

var (
	name    = events.Name
	same    = events.Same
	provide = events.Provider(name, nil)
)

// whole returns the whole history of events: the oracle.
func whole(t testing.TB, l list, start, end int64) *history.View {
	return events.Whole(t, l, name, nil, start, end)
}

// seeds returns how many random histories a test of one goroutine has: the race detector finds nothing in it.
func seeds(n uint64) uint64 {
	if effort.Race {
		return n / 10
	}
	return effort.Less(n, 10)
}

// TestQueries compares random questions, those at checkpoints and beside them among them, with
// the whole history (P1 to P4).
func TestQueries(t *testing.T) {
	const histories, each = 120, 60
	for seed := range seeds(histories) {
		askAll(t, seed, rand.New(rand.NewPCG(seed, 1)), each)
	}
	t.Log(seeds(histories)*each*4, "questions")
}

// FuzzQueries has any events, any distance of checkpoints and any questions.
func FuzzQueries(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("events of few attributes, and few questions"))
	f.Add(make([]byte, 500))
	f.Fuzz(func(t *testing.T, data []byte) { askAll(t, 0, events.Rand(data), 10) })
}

// askAll asks a random history.
func askAll(t *testing.T, seed uint64, r *rand.Rand, questions int) {
	start := r.Int64N(100) - 50
	l := events.Draw(r, start)
	end := l[len(l)-1].At + r.Int64N(3)
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
	checkMarks(t, l, every, marks)
	instant := func() int64 {
		if r.IntN(2) == 0 {
			return start + r.Int64N(end-start+1)
		}
		return min(max(marks[r.IntN(len(marks))]+r.Int64N(3)-1, start), end)
	}
	for range questions {
		events.Ask(t, seed, r, p, full, instant)
	}
}

// checkMarks counts the events between checkpoints (P3).
func checkMarks(t *testing.T, l list, every int, marks []int64) {
	t.Helper()
	n := 0
	for _, mark := range marks[:len(marks)-1] {
		before := n
		for n < len(l) && l[n].At <= mark {
			n++
		}
		if got := n - before; got < every || got > every && l[before+every-1].At != mark {
			t.Fatalf("%d events up to the checkpoint at %d, want %d and those of its instant", got, mark, every)
		}
	}
	if rest := len(l) - n; rest > every && l[n+every-1].At != l[len(l)-1].At {
		t.Fatalf("%d events behind the last checkpoint, want %d", rest, every)
	}
}

// TestStates has a provider that makes states of what the writer knows: the value of an attribute, and since
// when it holds. A replay must know the same as the build.
func TestStates(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		var l list
		for at := range int64(200) {
			l = append(l, event{At: 2 * at, N: r.IntN(4), Value: history.Int(r.Int64N(3))})
		}
		h, err := history.New(history.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		ongoing := func(a history.Attribute) (history.Value, int64, error) {
			in, err := w.Ongoing(a)
			return in.Value, in.Start, err
		}
		for _, e := range l {
			change := func(a history.Attribute, v history.Value) error { return w.Change(e.At, a, v) }
			if err := follow(w, ongoing, change, e); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(400); err != nil {
			t.Fatal(err)
		}
		full, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		p, err := partial.Build(t.Context(), l, func(w *partial.Writer, e event) error { return follow(w, w.State, w.Change, e) }, partial.Options{End: 400, Every: 15})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			events.Ask(t, seed, r, p, full, func() int64 { return r.Int64N(400) })
		}
	}
}

// namer makes attributes of paths.
type namer interface {
	Attribute(path ...string) (history.Attribute, error)
}

// follow changes an attribute, and keeps how long its former value held, and which one it was.
func follow(w namer, state func(history.Attribute) (history.Value, int64, error), change func(history.Attribute, history.Value) error, e event) error {
	var of [3]history.Attribute
	for i, name := range []string{"value", "held", "was"} {
		a, err := w.Attribute(name, fmt.Sprint(e.N))
		if err != nil {
			return err
		}
		of[i] = a
	}
	v, since, err := state(of[0])
	if err != nil || v.Equal(e.Value) {
		return err
	}
	return errors.Join(change(of[1], history.Int(e.At-since)), change(of[2], v), change(of[0], e.Value))
}

// TestReaders has several goroutines ask at once (P5).
func TestReaders(t *testing.T) {
	l := events.Draw(rand.New(rand.NewPCG(7, 7)), 0)
	end := l[len(l)-1].At
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
		l = append(l, event{At: i, N: 0, Value: history.Int(i)})
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
		c.now[i].Value = history.Int(49) // no change any more
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
	l[3].At = 1
	if _, err := partial.Build(t.Context(), l, provide, partial.Options{Every: 10}); !errors.Is(err, history.ErrOrder) {
		t.Errorf("out of order: %v", err)
	}
	if _, err := partial.Build(t.Context(), l, provide, partial.Options{}); !errors.Is(err, history.ErrQuery) {
		t.Errorf("no distance: %v", err)
	}
}
