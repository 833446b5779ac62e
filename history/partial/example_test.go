package partial_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
)

// trace is a recorded trace: at each instant a processor switches to another thread.
type trace struct{ switches int }

// aSwitch is an event of a trace.
type aSwitch struct{ cpu, thread int }

func (t trace) Open(_ context.Context, position []byte) (partial.Reader[aSwitch], error) {
	next, _ := binary.Varint(position) // 0 of the first event
	return &traceReader{t, next}, nil
}

type traceReader struct {
	trace
	next int64
}

func (r *traceReader) Next() (at int64, e aSwitch, err error) {
	if r.next == int64(r.switches) {
		return 0, e, io.EOF
	}
	r.next++
	return r.next, aSwitch{cpu: int(r.next % 2), thread: int(r.next * r.next % 7)}, nil
}

func (r *traceReader) Position() ([]byte, error) { return binary.AppendVarint(nil, r.next), nil }
func (r *traceReader) Close() error              { return nil }

// A trace of 100,000 switches is kept as what held at each thousandth, and read again from there for the
// rest.
func Example() {
	running := func(w *partial.Writer, e aSwitch) error {
		cpu, err := w.Attribute("CPUs", fmt.Sprint(e.cpu))
		if err != nil {
			return err
		}
		return w.Change(cpu, history.Int(int64(e.thread)))
	}
	ctx := context.Background()
	h, err := partial.Build(ctx, trace{100_000}, running, partial.Options{Every: 1000})
	if err != nil {
		log.Fatal(err)
	}
	cpu, err := h.Names().Lookup("CPUs", "1")
	if err != nil {
		log.Fatal(err)
	}
	in, err := h.At(ctx, cpu, 77_777)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("thread %d from %d to %d; %d intervals are kept\n", in.Value.Int(), in.Start, in.End, h.Intervals())
	// Output: thread 0 from 77777 to 77778; 200 intervals are kept
}
