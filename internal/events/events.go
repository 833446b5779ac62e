package events

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
)

// Operations of an event.
const (
	Change = iota
	Push
	Pop
	Nothing
)

// Event is an operation on attribute N.
type Event struct {
	At    int64
	N, Op int
	Value history.Value
}

// List is events in memory; a position is the number of an event.
type List []Event

// Open implements partial.Events.
func (l List) Open(_ context.Context, position []byte) (partial.Reader[Event], error) {
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
	list List
	next int
}

// Next implements partial.Reader.
func (r *reader) Next() (int64, Event, error) {
	if r.next == len(r.list) {
		return 0, Event{}, io.EOF
	}
	r.next++
	e := r.list[r.next-1]
	return e.At, e, nil
}

// Position implements partial.Reader.
func (r *reader) Position() ([]byte, error) { return binary.AppendUvarint(nil, uint64(r.next)), nil }

// Close implements partial.Reader.
func (r *reader) Close() error { return nil }

// Name returns the path of attribute n in random events.
func Name(n int) []string { return []string{"all", strconv.Itoa(n)} }

// Provider returns a provider of states for the attributes that owns accepts; nil accepts all.
func Provider(path func(n int) []string, owns func(n int) bool) partial.Provider[Event] {
	return func(w *partial.Writer, e Event) error {
		if owns != nil && !owns(e.N) {
			return nil
		}
		a, err := w.Attribute(path(e.N)...)
		if err != nil {
			return err
		}
		switch e.Op {
		case Change:
			return w.Change(a, e.Value)
		case Push:
			return w.Push(a, e.Value)
		case Pop:
			_, err = w.Pop(a)
		}
		return err
	}
}

// Whole returns the whole history, from start to end, for the attributes that owns accepts.
func Whole(t testing.TB, l List, path func(n int) []string, owns func(n int) bool, start, end int64) *history.View {
	t.Helper()
	h, err := history.New(history.Options{Start: start})
	if err != nil {
		t.Fatal(err)
	}
	return Write(t, h, l, path, owns, end)
}

// Write writes the whole history, up to end, for the attributes that owns accepts, and returns its view.
func Write(t testing.TB, h *history.History, l List, path func(n int) []string, owns func(n int) bool, end int64) *history.View {
	t.Helper()
	w, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l {
		if owns != nil && !owns(e.N) {
			continue
		}
		a, err := w.Attribute(path(e.N)...)
		switch {
		case err != nil:
		case e.Op == Change:
			err = w.Change(e.At, a, e.Value)
		case e.Op == Push:
			err = w.Push(e.At, a, e.Value)
		case e.Op == Pop:
			_, err = w.Pop(e.At, a)
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

// Draw returns random events. Attribute n has values of one kind; for every fourth attribute it is a stack.
func Draw(r *rand.Rand, start int64) (l List) {
	at, attributes, step := start+r.Int64N(3), 1+r.IntN(9), 1+r.Int64N(5)
	for range 1 + r.IntN(300) {
		n := r.IntN(attributes)
		e := Event{At: at, N: n}
		v := r.Int64N(4)
		switch n % 4 {
		case 0:
			e.Value = history.Int(v)
		case 1:
			e.Value = history.String(fmt.Sprint("s", v))
		case 2:
			e.Value = history.Float(float64(v) / 2)
		case 3:
			e.Op, e.Value = Push+r.IntN(3), history.Bool(v%2 == 0)
		}
		if r.IntN(4) == 0 {
			e.Value = history.Value{}
		}
		l = append(l, e)
		at += r.Int64N(step)
	}
	return l
}

// Same reports whether two intervals are equal. Floats are compared by their bits.
func Same(a, b history.Interval) bool {
	return a.Start == b.Start && a.End == b.End && a.Open == b.Open && a.Value.Equal(b.Value)
}

// tape is a source of random numbers whose leading bytes are given.
type tape struct {
	data []byte
	rest *rand.PCG
}

// Uint64 implements rand.Source.
func (s *tape) Uint64() uint64 {
	x := s.rest.Uint64()
	if len(s.data) > 0 {
		x = uint64(s.data[0])<<56 | x>>8
		s.data = s.data[1:]
	}
	return x
}

// Rand returns random numbers for fuzz targets. While data lasts, each number's top byte comes from it.
func Rand(data []byte) *rand.Rand {
	return rand.New(&tape{data, rand.NewPCG(uint64(len(data)), 1)})
}
