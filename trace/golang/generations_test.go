package golang

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"
)

// parts returns the bytes of each generation.
func parts(t *testing.T, in io.Reader, piece int) (all [][]byte) {
	t.Helper()
	r, err := NewReader(in, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	for r.parts.next() {
		var part []byte
		p := make([]byte, piece)
		for {
			n, err := r.parts.Read(p)
			part = append(part, p[:n]...)
			if n == 0 && err != nil {
				break
			}
		}
		all = append(all, part)
	}
	return all
}

// TestGenerations cuts a trace into its generations: each has the header of the trace, and together they have all of its bytes,
// however they are read. Bytes that are no batch are of the last one.
func TestGenerations(t *testing.T) {
	data := goroutineGenerations(t)
	head := data[:headerBytes]
	for name, test := range map[string]struct {
		data  []byte
		least int
	}{"of generations": {data, 3}, "cut": {data[:len(data)*4/5], 2}, "with more": {append(slices.Clone(data), "more bytes than there are"...), 3}, "of one": {file(t), 1}, "header": {head, 1}} {
		want := parts(t, bytes.NewReader(test.data), 1<<20)
		if len(want) < test.least {
			t.Errorf("%s: %d generations", name, len(want))
		}
		var joined []byte
		for _, part := range want {
			if !bytes.HasPrefix(part, test.data[:headerBytes]) {
				t.Errorf("%s: a generation begins with %q", name, part[:min(len(part), headerBytes)])
			}
			joined = append(joined, part[headerBytes:]...)
		}
		if !bytes.Equal(joined, test.data[headerBytes:]) {
			t.Errorf("%s: %d bytes of %d", name, len(joined), len(test.data)-headerBytes)
		}
		for _, piece := range []int{1, 100, 4097} {
			if got := parts(t, iotest.HalfReader(bytes.NewReader(test.data)), piece); !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%s: other generations by pieces of %d bytes", name, piece)
			}
		}
	}
}

// TestReadAhead_Once reads a trace that cannot be sought as it reads one that can.
func TestReadAhead_Once(t *testing.T) {
	data := goroutineGenerations(t)
	read := func(in io.Reader) (events []Event) {
		r, err := NewReader(in, int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for r.ReadAhead(-1 << 62); ; {
			ev, err := r.Next()
			if errors.Is(err, io.EOF) {
				return events
			}
			if err != nil {
				t.Fatal(err)
			}
			ev.Stack = nil
			events = append(events, ev)
		}
	}
	same := func(a, b Event) bool {
		return a.Time == b.Time && a.Kind == b.Kind && a.State == b.State && a.ID == b.ID && a.Reason == b.Reason
	}
	twice := append([]byte("before"), data...)
	sought := bytes.NewReader(twice)
	if _, err := sought.Seek(6, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	want := read(bytes.NewReader(data))
	if got := read(sought); !slices.EqualFunc(got, want, same) {
		t.Errorf("%d events behind other bytes, want %d", len(got), len(want))
	}
	if got := read(io.MultiReader(bytes.NewReader(data))); !slices.EqualFunc(got, want, same) || len(got) < 100 {
		t.Errorf("%d events of a stream, want %d", len(got), len(want))
	}
}
