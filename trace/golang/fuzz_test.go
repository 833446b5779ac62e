package golang

import (
	"bytes"
	"errors"
	"testing"

	"github.com/granarydb/granary/history"
)

// FuzzReader reads any bytes, and writes what they have into a history: there is no panic, and every error is
// a documented one.
func FuzzReader(f *testing.F) {
	data := file(f)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add(data[:100])
	f.Add([]byte("go 1.26 trace\x00\x00\x00"))
	f.Add([]byte("go 1.11 trace\x00\x00\x00\x02\x00\x00\x02\x01\x01\x00"))
	f.Add([]byte("go 1.22 trace\x00\x00\x00\x01\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data), 1<<20)
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrLimit) {
				t.Fatal(err)
			}
			return
		}
		h, err := history.New(history.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tx, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Abort()
		details := len(data)%2 == 1
		if details {
			r.ReadDetails()
		}
		err = NewFollower(FollowOptions{Most: 100, ByID: details, Details: details}).Window(t.Context(), r, tx.Writer, nil)
		for _, known := range []error{ErrFormat, ErrLimit, history.ErrLimit, history.ErrTime} {
			if errors.Is(err, known) {
				return
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
