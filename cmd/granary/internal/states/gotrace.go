package states

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/granarydb/granary/server/gotrace"
	"github.com/granarydb/granary/trace"
)

// isGoTrace reports whether a file begins like a Go execution trace.
func isGoTrace(name string) bool {
	return gotrace.Magic(headOf(name, 16))
}

// loadGoTrace loads a history from a Go execution trace. The history takes less memory than the trace.
func loadGoTrace(ctx context.Context, name string, show func(trace.Stage, int64, int64)) (*trace.Recording, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, err := trace.Build(func(to trace.Target) error {
		r, err := gotrace.NewReader(&shownReader{f: f, total: info.Size(), show: show}, math.MaxInt64)
		if err != nil {
			return err
		}
		return gotrace.Import(ctx, r, to)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// feedGoTrace returns the feeding for a Go execution trace.
func feedGoTrace(name string) feeding {
	return func(ctx context.Context, show func(trace.Stage, int64, int64), to trace.Target) (int, error) {
		r, err := loadGoTrace(ctx, name, show)
		if err != nil {
			return 0, err
		}
		return trace.ViewInto(ctx, r.View, func(done, total int64) { show(trace.Building, done, total) }, to)
	}
}

// shownReader shows the progress of reading a file.
type shownReader struct {
	f           io.Reader
	done, total int64
	show        func(stage trace.Stage, done, total int64)
}

func (r *shownReader) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	r.done += int64(n)
	r.show(trace.Reading, r.done, r.total)
	return n, err
}
