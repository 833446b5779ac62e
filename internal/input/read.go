package input

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/granarydb/granary/profile"
)

// Timeout bounds a fetch. The seconds that a request asks a server to measure are added to it.
const Timeout = 5 * time.Minute

// MaxBytes bounds the bytes of an input, compressed or not.
const MaxBytes = 64 << 20

// Read returns the bytes of a file, URL or standard input, which the caller owns, and a default time for a
// profile without a time: a file's modification time, otherwise now. An error names the input, and wraps
// profile.ErrTooLarge if the input exceeds [MaxBytes]. The context ends the fetch of a URL, which takes at
// most [Timeout] plus w's seconds, and the wait for standard input.
func (w *Web) Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	if IsURL(name) {
		data, err := w.fetch(ctx, name)
		return data, time.Now(), err
	}
	if name == "-" {
		data, err := readStdin(ctx)
		return data, time.Now(), err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	data, err := limited(name, f)
	return data, info.ModTime(), err
}

// readStdin reads standard input. A read from a terminal or a pipe cannot be cancelled: after the context
// ends, its goroutine stays until the input or the process ends.
func readStdin(ctx context.Context) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		data, err := limited("standard input", os.Stdin)
		done <- answer{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("standard input: %w", ctx.Err())
	case a := <-done:
		return a.data, a.err
	}
}

func limited(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(data) > MaxBytes:
		return nil, fmt.Errorf("%s: %w: more than %d bytes", name, profile.ErrTooLarge, MaxBytes)
	}
	return data, nil
}
