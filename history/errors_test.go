package history_test

import (
	"errors"
	"testing"

	"github.com/granarydb/granary/history"
)

// TestErrTime tells the causes of ErrTime apart, each of which wraps it.
func TestErrTime(t *testing.T) {
	first, draft := begun(t)
	f := &feature{T: t, h: first, Draft: draft}
	a, b, empty := f.attribute("changed"), f.attribute("added"), f.attribute("empty")
	for _, at := range []int64{10, 20, 30} {
		f.must(f.Change(at, a, history.Int(at)))
	}
	f.must(f.Add(b, 0, 29, history.Int(1)))
	causes := []error{history.ErrOutside, history.ErrOrder, history.ErrFinal, history.ErrGap}
	is := func(name string, err, want error) {
		t.Helper()
		if !errors.Is(err, history.ErrTime) {
			t.Errorf("%s: %v is no ErrTime", name, err)
		}
		for _, cause := range causes {
			if errors.Is(err, cause) != errors.Is(cause, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
	}
	is("change before the ongoing interval", f.Change(29, a, history.Int(1)), history.ErrOrder)
	is("change before the start", f.Change(-1, empty, history.Int(1)), history.ErrOrder)
	is("close before the latest write", f.Close(29), history.ErrOrder)
	is("gap", f.Add(b, 31, 40, history.Int(1)), history.ErrGap)
	is("overlap", f.Add(b, 29, 40, history.Int(1)), history.ErrGap)
	is("turned", f.Add(b, 30, 29, history.Int(1)), history.ErrGap)
	v := f.commit()
	is("committed change", f.Change(30, a, history.Int(1)), history.ErrFinal)
	is("change long ago", f.Change(-1, a, history.Int(1)), history.ErrFinal)
	is("update", f.Update(a, history.Int(1)), history.ErrFinal)
	is("committed interval", f.Add(b, 0, 29, history.Int(1)), history.ErrFinal)
	is("read before", second(v.At(a, -1)), history.ErrOutside)
	is("read behind", second(v.Slice(31)), history.ErrOutside)
	h, err := history.New(history.Options{})
	f.must(err)
	is("read of nothing", second(h.Empty().Slice(0)), history.ErrOutside)
}
