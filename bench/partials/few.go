package main

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"strconv"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
)

// few is a set with few attributes and many events: at each event a processor switches to another thread.
// It has eight processors with a thread and a state each, so 16 attributes change, and two of them at each
// event. The gaps between events are 1 to 4,096 ns. The few threads with low numbers run most of the time.
type few struct{ events int }

const processors = 8

var fewStates = []history.Value{history.String("user"), history.String("kernel"), history.String("interrupt"), {}}

func newFew(name string, events int) *trace {
	var paths [processors][2][]string
	for cpu := range paths {
		paths[cpu] = [2][]string{{"CPUs", strconv.Itoa(cpu), "thread"}, {"CPUs", strconv.Itoa(cpu), "state"}}
	}
	f := few{events}
	return &trace{f, name, 0, f.last(), func(w states, e event) error {
		for i, v := range []history.Value{e.value, e.state} {
			a, err := w.Attribute(paths[e.key][i]...)
			if err != nil {
				return err
			}
			if err := w.Change(a, v); err != nil {
				return err
			}
		}
		return nil
	}}
}

// last returns the last event's time.
func (f few) last() (at int64) {
	for r := f.reader(); r.left > 0; {
		at, _, _ = r.Next()
	}
	return at
}

func (f few) reader() *fewReader { return &fewReader{rng: rand.NewPCG(1, 2), left: f.events} }

// Open implements partial.Events.
func (f few) Open(_ context.Context, position []byte) (partial.Reader[event], error) {
	r := f.reader()
	if position == nil {
		return r, nil
	}
	left, n := binary.Uvarint(position)
	at, m := binary.Varint(position[n:])
	r.left, r.at = int(left), at
	return r, r.rng.UnmarshalBinary(position[n+m:])
}

// fewReader makes the events. Its random numbers are part of the position.
type fewReader struct {
	rng  *rand.PCG
	at   int64
	left int
}

// Next implements partial.Reader.
func (r *fewReader) Next() (int64, event, error) {
	if r.left == 0 {
		return 0, event{}, io.EOF
	}
	r.left--
	x := r.rng.Uint64()
	r.at += 1 + int64(x&4095)
	thread := int64(x>>12&15) * int64(x>>16&15) // 0 to 225, the low ones most often
	e := event{key: uint32(x >> 20 & (processors - 1)), value: history.Int(1000 + thread), state: fewStates[x>>23&3]}
	return r.at, e, nil
}

// Position implements partial.Reader.
func (r *fewReader) Position() ([]byte, error) {
	b := binary.AppendVarint(binary.AppendUvarint(nil, uint64(r.left)), r.at)
	return r.rng.AppendBinary(b)
}

// Close implements partial.Reader.
func (r *fewReader) Close() error { return nil }
