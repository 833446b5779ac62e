package partial_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/internal/damaged"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/events"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reopen returns a history of the images of another one.
func reopen(kept, image []byte, l list) (*partial.History[event], error) {
	_, v, err := history.OpenImage(history.Options{}, kept)
	if err != nil {
		return nil, err
	}
	return partial.Open(v, image, l, provide)
}

// TestImage reopens random histories: answers, checkpoints and the image are those of the first.
func TestImage(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		start := r.Int64N(100) - 50
		l := events.Draw(r, start)
		end := l[len(l)-1].At + r.Int64N(3)
		p, err := partial.Build(t.Context(), l, provide, partial.Options{Start: start, End: end, Every: 1 + r.IntN(50)})
		must(t, err)
		image := p.AppendImage([]byte("before"))[len("before"):]
		q, err := reopen(p.Kept().AppendImage(nil), image, l)
		must(t, err)
		if !slices.Equal(p.Checkpoints(), q.Checkpoints()) || p.Intervals() != q.Intervals() || !bytes.Equal(q.AppendImage(nil), image) {
			t.Fatalf("seed %d: checkpoints at %d, want %d; %d intervals, want %d", seed, q.Checkpoints(), p.Checkpoints(), q.Intervals(), p.Intervals())
		}
		full := whole(t, l, start, end)
		for range 20 {
			events.Ask(t, seed, r, q, full, func() int64 { return start + r.Int64N(end-start+1) })
		}
	}
}

// fixedImage returns the images of one history, and its events.
func fixedImage(t testing.TB) (kept, image []byte, l list) {
	l = events.Draw(rand.New(rand.NewPCG(4, 6)), 0)
	p, err := partial.Build(t.Context(), l, provide, partial.Options{Every: 20})
	must(t, err)
	return p.Kept().AppendImage(nil), p.AppendImage(nil), l
}

// askAnything asks a history whose bytes may be any: answers or errors, but no panic and no end without them.
func askAnything(t *testing.T, p *partial.History[event]) {
	n, ctx := p.Names().Len(), context.Background()
	times := []int64{p.Start(), p.End(), p.Start() + int64(uint64(p.End()-p.Start())/2)}
	all := append(slices.Clone(times), p.Checkpoints()...)
	for _, at := range all[:min(len(all), len(times)+1)] {
		_, slice := p.Slice(ctx, at, nil)
		check(t, slice)
		for a := range history.Attribute(min(n, 20)) {
			_, state := p.At(ctx, a, at)
			check(t, state)
			_, _ = p.Interpolate(ctx, a, at)
		}
	}
	_, _, err := p.Sample(ctx, nil, times)
	check(t, err)
	for a := range history.Attribute(min(n, 20)) {
		found := 0
		for _, err := range p.Range(ctx, a, p.Start(), p.End()) {
			check(t, err)
			if found++; found > 1<<16 {
				t.Fatal("too many intervals")
			}
		}
	}
	p.AppendImage(nil)
}

// check takes errors of replays of other events alone.
func check(t *testing.T, err error) {
	t.Helper()
	var of *partial.EventsError
	if err != nil && !errors.Is(err, partial.ErrDiffers) && !errors.As(err, &of) {
		t.Fatal(err)
	}
}

// imageOf is the image of checkpoints of a history.
func imageOf(t testing.TB) damaged.Image {
	kept, image, l := fixedImage(t)
	return damaged.Image{
		Name: "checkpoints", Bytes: image, Bad: partial.ErrImage,
		Open: func(image []byte) (any, error) { return reopen(kept, image, l) },
		Use:  func(t *testing.T, opened any) { askAnything(t, opened.(*partial.History[event])) },
	}
}

// TestImage_EveryByte changes the image of checkpoints: an error, or a history that can be asked.
func TestImage_EveryByte(t *testing.T) {
	effort.Long(t)
	i := imageOf(t)
	i.EveryByte(t, 10_000)
}

func TestImage_RandomChanges(t *testing.T) { damaged.RandomChanges(t, []damaged.Image{imageOf(t)}) }

// TestOpen_Errors has histories that kept nothing, and images of others.
func TestOpen_Errors(t *testing.T) {
	kept, image, l := fixedImage(t)
	h, err := history.New(history.Options{})
	must(t, err)
	if _, err := partial.Open(h.Empty(), image, l, provide); !errors.Is(err, partial.ErrImage) {
		t.Errorf("no instant: %v", err)
	}
	d, err := h.Begin()
	must(t, err)
	a, err := d.Attribute("a")
	must(t, err)
	must(t, d.Change(l[len(l)-1].At, a, history.Int(1))) // the end of the image
	v, err := d.Commit()
	must(t, err)
	if _, err := partial.Open(v, image, l, provide); !errors.Is(err, partial.ErrImage) {
		t.Errorf("not closed: %v", err)
	}
	if _, err := reopen(kept, nil, l); !errors.Is(err, partial.ErrImage) {
		t.Errorf("no image: %v", err)
	}
	if _, err := reopen(whole(t, l, 0, l[len(l)-1].At+1).AppendImage(nil), image, l); !errors.Is(err, partial.ErrImage) {
		t.Errorf("of another history: %v", err)
	}
	for what, opts := range map[string]partial.Options{
		"a history with attributes":     {Every: 1, History: h},
		"a history with another start":  {Every: 1, Start: 3, History: h},
		"a history with another writer": {Every: 1, History: h},
	} {
		if what == "a history with another writer" {
			_, err := h.Begin()
			must(t, err)
		}
		if _, err := partial.Build(t.Context(), l, provide, opts); !errors.Is(err, history.ErrQuery) && !errors.Is(err, history.ErrBusy) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzOpen opens any image of a kept history with any image of checkpoints, and asks what is opened: an
// error, or answers.
func FuzzOpen(f *testing.F) {
	kept, image, l := fixedImage(f)
	f.Add(kept, image)
	f.Add(kept[:len(kept)/2], image)
	f.Add(kept, image[:len(image)/2])
	f.Fuzz(func(t *testing.T, kept, image []byte) {
		if len(kept) > 1<<16 || len(image) > 1<<16 {
			t.Skip("larger than what is tried")
		}
		p, err := reopen(kept, image, l)
		if err != nil {
			if !errors.Is(err, partial.ErrImage) && !errors.Is(err, history.ErrImage) && !errors.Is(err, history.ErrLimit) {
				t.Fatal(err)
			}
			return
		}
		askAnything(t, p)
	})
}
