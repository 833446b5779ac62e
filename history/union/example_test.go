package union_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/union"
)

// trace is a recorded trace of 10,000 instants: at each a processor switches to a thread.
type trace struct{}

func (trace) Open(_ context.Context, position []byte) (partial.Reader[int64], error) {
	at, _ := binary.Varint(position)
	return &traceReader{at}, nil
}

type traceReader struct{ at int64 }

func (r *traceReader) Next() (at int64, thread int64, err error) {
	if r.at == 10_000 {
		return 0, 0, io.EOF
	}
	r.at++
	return r.at, r.at * r.at % 7, nil
}

func (r *traceReader) Position() ([]byte, error) { return binary.AppendVarint(nil, r.at), nil }
func (r *traceReader) Close() error              { return nil }

// Two providers look at one trace. Of the threads, which switch all the time, a part is kept; the few phases
// of the program are kept whole. They are asked as one history.
func Example() {
	ctx := context.Background()
	threads := func(w *partial.Writer, thread int64) error {
		a, err := w.Attribute("CPUs", "0", "thread")
		if err != nil {
			return err
		}
		return w.Change(a, history.Int(thread))
	}
	kept, err := partial.Build(ctx, trace{}, threads, partial.Options{Every: 1000})
	if err != nil {
		log.Fatal(err)
	}
	all, err := phases(kept.End())
	if err != nil {
		log.Fatal(err)
	}
	h, err := union.Join(ctx, 0, union.Complete(all), kept)
	if err != nil {
		log.Fatal(err)
	}
	states, err := h.Slice(ctx, 7777, nil)
	if err != nil {
		log.Fatal(err)
	}
	for a, in := range states {
		if !in.Value.IsNull() {
			path, _ := h.Names().Path(history.Attribute(a))
			fmt.Println(history.PathText(path), in.Value, in.Start, in.End)
		}
	}
	// Output:
	// program/phase "serve" 2000 10000
	// CPUs/0/thread 0 7777 7777
}

// phases returns a whole history.
func phases(end int64) (*history.View, error) {
	h, err := history.New(history.Options{})
	if err != nil {
		return nil, err
	}
	w, err := h.Begin()
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	phase, err := w.Attribute("program", "phase")
	if err != nil {
		return nil, err
	}
	if err := w.Change(0, phase, history.String("start")); err != nil {
		return nil, err
	}
	if err := w.Change(2000, phase, history.String("serve")); err != nil {
		return nil, err
	}
	if err := w.Close(end); err != nil {
		return nil, err
	}
	return w.Commit()
}
