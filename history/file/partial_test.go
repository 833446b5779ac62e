package file

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/internal/tile"
)

// some is events at each instant from a start on, up to a number of them: each changes one attribute.
type some struct {
	start int64
	n     int
}

func (s *some) Open(context.Context, []byte) (partial.Reader[int], error) {
	return &someReader{*s}, nil
}

type someReader struct{ some }

func (r *someReader) Next() (int64, int, error) {
	if r.n == 0 {
		return 0, 0, io.EOF
	}
	r.n--
	r.start++
	return r.start - 1, r.n, nil
}

func (r *someReader) Position() ([]byte, error) { return nil, nil }
func (r *someReader) Close() error              { return nil }

func (s *some) provide(w *partial.Writer, n int) error {
	err := w.Change(history.Attribute(n%4), history.Int(int64(n)))
	if errors.Is(err, history.ErrAttribute) || errors.Is(err, history.ErrKind) {
		return nil
	}
	return err
}

// checkpoints returns an image of checkpoints that divide the time from start to end.
func checkpoints(start, end int64, n int) []byte {
	var w fields.Writer
	w.Uint(0)
	w.Uint(uint64(n))
	last := start
	for i := range n {
		at := start + (end-start)*int64(i+1)/int64(n)
		w.Uint(uint64(at - last))
		last = at
	}
	for range n - 1 {
		w.Uint(0)
	}
	return w.Data
}

// askPartial asks a partial history whose kept one has bytes of any kind: an error of a tile or of a replay, or
// answers. It returns the number of errors.
func askPartial(t *testing.T, p *partial.History[int]) (failed int) {
	t.Helper()
	ctx := t.Context()
	count := func(err error) {
		t.Helper()
		var of *partial.EventsError
		switch {
		case err == nil:
		case errors.Is(err, tile.ErrTile) || errors.Is(err, partial.ErrDiffers) || errors.Is(err, partial.ErrImage) || errors.Is(err, history.ErrOutside) || errors.As(err, &of):
			failed++
		default:
			t.Fatal(err)
		}
	}
	right := func(a history.Attribute, in history.Interval, at int64, err error) {
		t.Helper()
		if count(err); err == nil && (in.Start > at || in.End < at || in.Start < p.Start() || in.End > p.End()) {
			t.Fatalf("attribute %d at %d is %v", a, at, in)
		}
	}
	times := append(history.PixelTimes(p.Start(), p.End(), 7), p.Start(), p.End())
	for _, at := range times {
		all, err := p.Slice(ctx, at, nil)
		count(err)
		for a, in := range all {
			right(history.Attribute(a), in, at, nil)
		}
		for a := range history.Attribute(p.Names().Len()) {
			in, err := p.At(ctx, a, at)
			right(a, in, at, err)
			_, _ = p.Interpolate(ctx, a, at)
		}
	}
	of, all, err := p.Sample(ctx, nil, times)
	count(err)
	for i, in := range all {
		if !slices.ContainsFunc(times, func(at int64) bool { return in.Start <= at && at <= in.End }) {
			t.Fatalf("a sample of attribute %d is %v", of[i], in)
		}
	}
	for a := range history.Attribute(p.Names().Len()) {
		found := 0
		for in, err := range p.Range(ctx, a, p.Start(), p.End()) {
			if count(err); err == nil && (in.Start < p.Start() || in.End > p.End()) {
				t.Fatalf("attribute %d is %v", a, in)
			}
			if found++; found > 1<<16 {
				t.Fatal("too many intervals")
			}
		}
	}
	return failed
}

// TestHostile_Partial changes bytes of blocks and makes all checksums right, and asks what is opened as a
// partial history: no panic, and no question without end.
func TestHostile_Partial(t *testing.T) {
	effort.Long(t)
	disk := crashfs.New(crashfs.Options{})
	pair, err := newPair(t, 1, disk)
	must(t, err)
	pair.commit(t, 6000, true) // several tiles a lane
	must(t, pair.sync())
	plain, r, image := apart(t, disk.Get("a"))
	want := pair.synced[1]
	rng := rand.New(rand.NewPCG(1, 2))
	failed, rounds := 0, 600
	if effort.Race {
		rounds /= 20
	}
	for range rounds {
		w := &Writer{file: file{blocks: append([]block(nil), r.blocks...)}}
		bytes := append([]byte(nil), plain...)
		for range 1 + rng.IntN(300) {
			b := w.blocks[rng.IntN(len(w.blocks))]
			bytes[b.offset+rng.Int64N(int64(b.length))] = byte(rng.Uint32()) * byte(rng.IntN(2))
		}
		w.Note = checkpoints(want.Start(), want.End(), []int{1, 1 + rng.IntN(20), int(want.End() - want.Start())}[rng.IntN(3)])
		hostile := crashfs.New(crashfs.Options{})
		hostile.Put("a", w.joined(bytes, image, r.id))
		opened, err := Open("a", options(hostile))
		must(t, err)
		events := &some{want.Start() + rng.Int64N(want.End()-want.Start()), rng.IntN(50)}
		p, err := partial.Open(opened.View, opened.Note, events, events.provide)
		must(t, err)
		failed += askPartial(t, p)
	}
	t.Log(failed, "errors")
	if failed == 0 {
		t.Error("no question has an error")
	}
}
