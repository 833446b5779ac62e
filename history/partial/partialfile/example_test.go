package partialfile_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/partial/partialfile"
)

// trace is a recorded trace of 100,000 instants: at each a processor switches to a thread.
type trace struct{}

func (trace) Open(_ context.Context, position []byte) (partial.Reader[int64], error) {
	at, _ := binary.Varint(position)
	return &traceReader{at}, nil
}

type traceReader struct{ at int64 }

func (r *traceReader) Next() (at int64, thread int64, err error) {
	if r.at == 100_000 {
		return 0, 0, io.EOF
	}
	r.at++
	return r.at, r.at * r.at % 7, nil
}

func (r *traceReader) Position() ([]byte, error) { return binary.AppendVarint(nil, r.at), nil }
func (r *traceReader) Close() error              { return nil }

// running has the thread of a processor.
func running(w *partial.Writer, thread int64) error {
	cpu, err := w.Attribute("CPUs", "0")
	if err != nil {
		return err
	}
	return w.Change(cpu, history.Int(thread))
}

// What is kept of a trace lies in a file beside it, and is opened with it.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, path, opts := context.Background(), filepath.Join(dir, "threads.history"), file.Options{Provider: "threads 1"}
	if err := partialfile.Write(ctx, path, opts, trace{}, running, partial.Options{Every: 10_000}); err != nil {
		log.Fatal(err)
	}
	h, err := partialfile.Open(path, opts, trace{}, running)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	cpu, err := h.Names().Lookup("CPUs", "0")
	if err != nil {
		log.Fatal(err)
	}
	in, err := h.At(ctx, cpu, 77_777)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("thread %d from %d to %d; %d intervals are kept\n", in.Value.Int(), in.Start, in.End, h.Intervals())
	// Output: thread 0 from 77777 to 77777; 10 intervals are kept
}
