package trace

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/ihs"
)

// memory returns a target in memory, and a function that returns its last view.
func memory() (Target, func() *history.View) {
	var h *history.History
	var tx *history.Draft
	var view *history.View
	begin := func(start int64) (w *history.Writer, err error) {
		if h == nil {
			if h, err = history.New(history.Options{Start: start}); err != nil {
				return nil, err
			}
		}
		if tx, err = h.Begin(); err != nil {
			return nil, err
		}
		return tx.Writer, nil
	}
	commit := func() (err error) {
		view, err = tx.Commit()
		return err
	}
	return Target{Begin: begin, Commit: commit}, func() *history.View { return view }
}

// sameStates fails the test unless two views have the same attributes and intervals.
func sameStates(t testing.TB, got, want *history.View) {
	t.Helper()
	if got.Len() != want.Len() || got.Start() != want.Start() || got.End() != want.End() {
		t.Fatalf("%d attributes from %d to %d, want %d from %d to %d", got.Len(), got.Start(), got.End(), want.Len(), want.Start(), want.End())
	}
	for a := range history.Attribute(want.Len()) {
		path, err := got.Path(a)
		wantPath, err2 := want.Path(a)
		if err := errors.Join(err, err2); err != nil || strings.Join(path, "\x00") != strings.Join(wantPath, "\x00") {
			t.Fatalf("attribute %d is %q, want %q: %v", a, path, wantPath, err)
		}
		at := want.Start()
		for in, err := range got.Range(a, got.Start(), got.End(), history.RangeOptions{}) {
			of, err2 := want.At(a, at)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			if in.Start != of.Start || in.End != of.End || !in.Value.Equal(of.Value) {
				t.Fatalf("%q: %+v, want %+v", path, in, of)
			}
			at = in.End + 1
		}
		if at != want.End()+1 {
			t.Fatalf("%q ends before %d, want %d", path, at, want.End())
		}
	}
}

// TestViewInto: a view of changes of all kinds, of a tree whose attributes begin late, some without a value, and
// not closed, is the same in a target.
func TestViewInto(t *testing.T) {
	h, err := history.New(history.Options{Start: -5})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b/c", "b/d", "b", "e/f/g", "h", "i"}
	now, changes := int64(-5), 0
	var view *history.View
	for range 400 {
		tx, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			now += random.Int64N(3)
			which := random.IntN(min(len(names), 1+changes/4000))
			a, err := tx.Attribute(strings.Split(names[which], "/")...)
			if err != nil {
				t.Fatal(err)
			}
			n := random.Int64N(4)
			values := []history.Value{
				history.Int(n), history.Float(float64(n) / 2), history.String(strings.Repeat("x", int(n))),
				history.Bytes([]byte{byte(n), 0xff}),
				history.Bool(n > 1),
				{},
				history.Int(7),
			}
			v := values[which]
			if n == 3 {
				v = history.Value{}
			}
			if err := tx.Change(now, a, v); err != nil && !errors.Is(err, history.ErrFinal) {
				t.Fatal(err)
			}
			changes++
		}
		if view, err = tx.Commit(); err != nil {
			t.Fatal(err)
		}
		now++
	}
	to, got := memory()
	shown, last := 0, int64(0)
	n, err := ViewInto(t.Context(), view, func(done, total int64) {
		if shown++; done < last || done > total {
			t.Errorf("%d after %d, of %d", done, last, total)
		}
		last = done
	}, to)
	if err != nil {
		t.Fatal(err)
	}
	sameStates(t, got(), view)
	intervals := 0
	for a := range history.Attribute(view.Len()) {
		for _, err := range view.Range(a, view.Start(), view.End(), history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			intervals++
		}
	}
	if n != intervals || shown < 2 || !got().Closed() {
		t.Errorf("%d intervals, want %d; %d calls of progress, closed %t", n, intervals, shown, got().Closed())
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	to, _ = memory()
	if _, err := ViewInto(cancelled, view, nil, to); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

// TestSetInto: a set in a target has the states of Load.
func TestSetInto(t *testing.T) {
	want, err := Load(t.Context(), "synth:70:300", LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := ihs.Open("synth:70:300", ihs.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	to, got := memory()
	if n, err := SetInto(t.Context(), s, nil, to); err != nil || n != want.Intervals || n != s.Len() {
		t.Fatalf("%d intervals, want %d: %v", n, want.Intervals, err)
	}
	sameStates(t, got(), want.View)
}
