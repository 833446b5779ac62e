// Package heldtest says what a history has, for the tests of the readers of recordings.
package heldtest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
)

// Import reads a recording into a target, as the readers of all formats do.
type Import func(ctx context.Context, in io.Reader, to trace.Target) (trace.Outcome, error)

// Imported returns the history of a recording. The view is nil after an error.
func Imported(f Import, in io.Reader) (*history.View, trace.Outcome, error) {
	var outcome trace.Outcome
	r, err := trace.Build(func(to trace.Target) (err error) {
		outcome, err = f(context.Background(), in, to)
		return err
	})
	if err != nil {
		return nil, outcome, err
	}
	return r.View, outcome, nil
}

// Held is an interval that is not null. Value is a text without quotes.
type Held struct {
	Path       string
	Start, End int64 // inclusive
	Value      string
}

// String returns the interval as a line.
func (h Held) String() string { return fmt.Sprintf("%s %d-%d %s", h.Path, h.Start, h.End, h.Value) }

// T is a test, perhaps one of package rapid.
type T interface {
	Helper()
	Fatal(args ...any)
}

// All returns what is not null in a view, by path and time.
func All(t T, v *history.View) (all []Held) {
	t.Helper()
	for _, a := range v.All() {
		path, err := v.Path(a)
		if err != nil {
			t.Fatal(err)
		}
		for in, err := range v.Range(a, v.Start(), v.End(), history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if in.Value.IsNull() {
				continue
			}
			h := Held{history.PathText(path), in.Start, in.End, in.Value.String()}
			if in.Value.Kind() == history.KindString {
				h.Value = in.Value.Text()
			}
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Start, b.Start))
	})
	return all
}
