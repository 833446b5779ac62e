package partial_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/internal/events"
)

// TestGrowth has events come in parts, and asks what there is in between: also once it was reopened, and once the history
// has grown further.
func TestGrowth(t *testing.T) {
	asked := 0
	for seed := range seeds(100) {
		asked += growAll(t, seed, rand.New(rand.NewPCG(seed, 8)), 8)
	}
	t.Log(asked, "histories that go on were asked")
}

// growAll grows a random history, and returns how often it was asked.
func growAll(t *testing.T, seed uint64, r *rand.Rand, questions int) (asked int) {
	start := r.Int64N(100) - 50
	l := &events.Growing{List: events.Draw(r, start)}
	opts := partial.Options{Start: start, End: l.List[len(l.List)-1].At + r.Int64N(3), Every: 1 + r.IntN(40)}
	g, err := partial.Grow(t.Context(), l, provide, opts)
	must(t, err)
	var old []*partial.History[event]
	forced := false
	for n := 0; n < len(l.List); {
		more := min(len(l.List)-n, r.IntN(60))
		n += more
		l.There.Store(int64(n))
		if read, err := g.Read(t.Context()); err != nil || read != more {
			t.Fatalf("seed %d: %d events are read, want %d: %v", seed, read, more, err)
		}
		if r.IntN(4) == 0 && n > 0 && n < len(l.List) && l.List[n].At > l.List[n-1].At {
			forced = true
			must(t, g.Checkpoint(l.List[n-1].At+r.Int64N(l.List[n].At-l.List[n-1].At)))
		}
		h, err := g.History()
		must(t, err)
		events.AskGrowing(t, seed, r, h, l.List, questions)
		events.AskGrowing(t, seed, r, again(t, h, l), l.List, questions)
		old = append(old, h)
	}
	p, err := g.Finish()
	must(t, err)
	full := whole(t, l.List, start, opts.End)
	for range questions {
		events.Ask(t, seed, r, p, full, func() int64 { return start + r.Int64N(opts.End-start+1) })
	}
	for _, h := range old {
		events.AskGrowing(t, seed, r, h, l.List, questions)
	}
	if q, err := partial.Build(t.Context(), l, provide, opts); err != nil || !forced && !bytes.Equal(p.AppendImage(nil), q.AppendImage(nil)) || !q.Closed() {
		t.Fatalf("seed %d: the history that grew differs from one that was built: %v", seed, err)
	}
	return 2*len(old) + 1
}

// again reopens a history that goes on: its image and what it tells are those of the first.
func again(t *testing.T, h *partial.History[event], l partial.Events[event]) *partial.History[event] {
	t.Helper()
	_, v, err := history.OpenImage(history.Options{}, h.Kept().AppendImage(nil))
	must(t, err)
	image := h.AppendImage(nil)
	q, err := partial.Open(v, image, l, provide)
	must(t, err)
	if q.End() != h.End() || q.Intervals() != h.Intervals() || !bytes.Equal(q.AppendImage(nil), image) {
		t.Fatalf("reopened up to %d with %d intervals, want %d and %d", q.End(), q.Intervals(), h.End(), h.Intervals())
	}
	return q
}

// TestGrowth_Readers asks histories while the next events come (P5).
func TestGrowth_Readers(t *testing.T) {
	l := &events.Growing{List: events.Draw(rand.New(rand.NewPCG(7, 7)), 0)}
	g, err := partial.Grow(t.Context(), l, provide, partial.Options{Every: 10})
	must(t, err)
	var wg sync.WaitGroup
	for n := 0; n < len(l.List); n += 25 {
		l.There.Store(int64(n))
		_, err := g.Read(t.Context())
		must(t, err)
		h, err := g.History()
		must(t, err)
		wg.Go(func() {
			if h.End() < 0 {
				return
			}
			full := events.Whole(t, l.List, name, nil, 0, l.List[len(l.List)-1].At)
			for at := range h.End() + 1 {
				all, err := h.Slice(context.Background(), at, nil)
				if err != nil {
					t.Error(err)
					return
				}
				for a, got := range all {
					if want, _ := full.At(history.Attribute(a), at); got.Start != want.Start || !got.Value.Equal(want.Value) || got.End != min(want.End, h.End()) {
						t.Errorf("attribute %d at %d is %v, want %v", a, at, got, want)
						return
					}
				}
			}
		})
	}
	l.There.Store(int64(len(l.List)))
	_, err = g.Read(t.Context())
	must(t, err)
	_, err = g.Finish()
	must(t, err)
	wg.Wait()
}

// TestGrowth_Counters has a counter between its checkpoints, and its mean, while it grows.
func TestGrowth_Counters(t *testing.T) {
	c := &counted{n: 100}
	g, err := partial.Grow(t.Context(), c, c.provide, partial.Options{Every: 10})
	must(t, err)
	_, err = g.Read(t.Context())
	must(t, err)
	h, err := g.History()
	must(t, err)
	for at := range h.End() + 1 {
		got, err := h.Interpolate(t.Context(), 0, at)
		if off := got.Value - float64(at); err != nil || off > got.Error || -off > got.Error {
			t.Fatalf("at %d the counter is %v: %v", at, got, err)
		}
	}
	mean, err := h.Mean(t.Context(), 0, 1, h.End())
	if off := mean.Value - float64(1+h.End())/2; err != nil || off > mean.Error || -off > mean.Error {
		t.Fatalf("mean %v: %v", mean, err)
	}
	for what, ask := range map[string]func() error{
		"Interpolate": func() error { _, err := h.Interpolate(t.Context(), 0, h.End()+1); return err },
		"Mean":        func() error { _, err := h.Mean(t.Context(), 0, 1, h.End()+1); return err },
		"Slice":       func() error { _, err := h.Slice(t.Context(), h.End()+1, nil); return err },
		"Sample":      func() error { _, _, err := h.Sample(t.Context(), nil, []int64{1, h.End() + 1}); return err },
		"Pixels":      func() error { _, _, err := h.Pixels(t.Context(), nil, 0, h.End()+1, 5); return err },
	} {
		var late *partial.NotYetError
		if err := ask(); !errors.As(err, &late) || late.At != h.End()+1 || late.Until != h.End() || !errors.Is(err, history.ErrOutside) {
			t.Errorf("%s behind the end: %v", what, err)
		}
	}
	if _, err := h.Slice(t.Context(), -1, nil); !errors.Is(err, history.ErrOutside) {
		t.Errorf("before the start: %v", err)
	}
	if _, err := h.At(t.Context(), 1, 5); !errors.Is(err, history.ErrAttribute) {
		t.Errorf("no such attribute: %v", err)
	}
	if _, _, err := h.Sample(t.Context(), []history.Attribute{1}, []int64{5}); !errors.Is(err, history.ErrAttribute) {
		t.Errorf("a sample of no such attribute: %v", err)
	}
	must(t, g.Close())
}

// TestGrowth_Errors has errors that stay, and errors after which reading goes on. What was read up to the last
// checkpoint is there in both cases.
func TestGrowth_Errors(t *testing.T) {
	fails := map[string]bool{}
	c := &counted{n: 100, fails: fails}
	g, err := partial.Grow(t.Context(), c, c.provide, partial.Options{Every: 10})
	must(t, err)
	fails["Next"] = true
	var of *partial.EventsError
	if n, err := g.Read(t.Context()); n != 16 || !errors.As(err, &of) || !errors.Is(err, errBroken) {
		t.Errorf("%d events, then Next fails: %v", n, err)
	}
	fails["Next"], fails["Position"] = false, true
	if n, err := g.Read(t.Context()); n != 4 || !errors.As(err, &of) {
		t.Errorf("%d events, then Position fails: %v", n, err)
	}
	fails["Position"] = false
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	c.before = func(n int) {
		if n == 40 {
			c.provideFails = func(int) error { return errBroken }
		}
	}
	if n, err := g.Read(canceled); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d events, canceled: %v", n, err)
	}
	_, err = g.Read(t.Context())
	if _, again := g.Read(t.Context()); !errors.Is(err, errBroken) || !errors.Is(again, errBroken) || !errors.Is(g.Checkpoint(1000), errBroken) {
		t.Errorf("the provider fails: %v, %v", err, again)
	}
	c.provideFails, c.before = nil, nil
	h, err := g.History()
	must(t, err)
	if in, err := h.At(t.Context(), 0, 25); h.End() != 40 || err != nil || in.Value.Int() != 25 {
		t.Errorf("up to %d; at 25 %v: %v", h.End(), in, err)
	}
	if _, err := g.Finish(); !errors.Is(err, errBroken) {
		t.Errorf("finished: %v", err)
	}
	must(t, g.Close())
}

// TestGrowth_Checkpoint makes checkpoints at instants without events.
func TestGrowth_Checkpoint(t *testing.T) {
	l := &events.Growing{List: list{{At: 10, Value: history.Int(1)}, {At: 20, Value: history.Int(2)}, {At: 30, Value: history.Int(3)}}}
	g, err := partial.Grow(t.Context(), l, provide, partial.Options{Every: 100})
	must(t, err)
	must(t, g.Checkpoint(5))
	l.There.Store(2)
	_, err = g.Read(t.Context())
	must(t, err)
	if err := g.Checkpoint(19); !errors.Is(err, history.ErrOrder) {
		t.Errorf("before the last event: %v", err)
	}
	must(t, g.Checkpoint(30))
	must(t, g.Checkpoint(30))
	h, err := g.History()
	must(t, err)
	if in, err := h.At(t.Context(), 1, 29); err != nil || !same(in, history.Interval{Start: 20, End: 30, Value: history.Int(2), Open: true}) {
		t.Errorf("at 29 is %v: %v", in, err)
	}
	if got := h.Checkpoints(); len(got) != 2 || got[1] != 30 {
		t.Errorf("checkpoints at %d", got)
	}
	p, err := g.Finish()
	must(t, err)
	if got := p.Checkpoints(); len(got) != 2 || p.End() != 30 || !p.Closed() {
		t.Errorf("checkpoints at %d of a history up to %d", got, p.End())
	}
	if _, err := g.Read(t.Context()); !errors.Is(err, history.ErrDone) {
		t.Errorf("read behind the end: %v", err)
	}
	g, err = partial.Grow(t.Context(), l, provide, partial.Options{Every: 100})
	must(t, err)
	must(t, g.Checkpoint(10))
	if _, err := g.Read(t.Context()); !errors.Is(err, history.ErrOrder) {
		t.Errorf("an event at a checkpoint: %v", err)
	}
	must(t, g.Close())
}

// TestGrowth_Others lets others write the history in between, which is refused while events are read.
func TestGrowth_Others(t *testing.T) {
	kept, err := history.New(history.Options{})
	must(t, err)
	c := &counted{n: 30, before: func(int) {
		if _, err := kept.Begin(); !errors.Is(err, history.ErrBusy) {
			t.Errorf("a writer beside: %v", err)
		}
	}}
	g, err := partial.Grow(t.Context(), c, c.provide, partial.Options{Every: 10, History: kept})
	must(t, err)
	_, err = g.Read(t.Context())
	must(t, err)
	_, err = g.History()
	must(t, err)
	d, err := kept.Begin()
	must(t, err)
	if _, err := g.Read(t.Context()); !errors.Is(err, history.ErrBusy) {
		t.Errorf("beside a writer: %v", err)
	}
	d.Abort()
	if _, err := g.Read(t.Context()); err != nil {
		t.Errorf("once it has ended: %v", err)
	}
	must(t, g.Close())
	if _, err := kept.Begin(); err != nil {
		t.Errorf("behind the growth: %v", err)
	}
}
