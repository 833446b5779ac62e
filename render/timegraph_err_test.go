package render

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/granarydb/granary/history"
)

// never is the Err of a picture that nothing ends.
func never() error { return nil }

// TestErr ends pictures at each call of Err. They write nothing then, and ask before each row.
func TestErr(t *testing.T) {
	v := small(t)
	attributes := attributesOf(v)
	stop := errors.New("stop")
	for _, tc := range []struct {
		name  string
		draw  func(w io.Writer, v *history.View, attributes []history.Attribute, from, to int64, opts TimeOptions) error
		opts  TimeOptions
		least int64 // calls
	}{
		{"graph", TimeGraph, TimeOptions{}, 2 * int64(len(attributes))},
		{"folded graph", TimeGraph, TimeOptions{Fold: true, Rows: 2}, 3},
		{"page", TimePage, TimeOptions{}, 3 * int64(len(attributes))},
		{"folded page", TimePage, TimeOptions{Fold: true, Rows: 2}, 1},
	} {
		ended := false
		for last := int64(1); !ended; last++ {
			var calls atomic.Int64
			tc.opts.Err = func() error {
				if calls.Add(1) == last {
					return stop
				}
				return nil
			}
			var out bytes.Buffer
			err := tc.draw(&out, v, attributes, v.Start(), v.End(), tc.opts)
			switch ended = err == nil; {
			case ended && calls.Load() < tc.least:
				t.Errorf("%s: %d calls for %d attributes, want %d at least", tc.name, calls.Load(), len(attributes), tc.least)
			case !ended && (!errors.Is(err, stop) || calls.Load() != last || out.Len() > 0):
				t.Errorf("%s: %d calls of %d, %d bytes, %v", tc.name, calls.Load(), last, out.Len(), err)
			}
		}
	}
}
