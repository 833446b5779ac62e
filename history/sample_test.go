package history_test

import (
	"errors"
	"testing"

	"github.com/granarydb/granary/history"
)

// A sample into an older answer replaces it, and an error leaves it unchanged.
func TestSampleInto(t *testing.T) {
	_, tx := begun(t)
	a, err := tx.Attribute("a")
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(100) {
		if err := tx.Change(10*i, a, history.Int(i)); err != nil {
			t.Fatal(err)
		}
	}
	view, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	some := []history.Attribute{a}
	old, err := view.Pixels(some, 0, 900, 50)
	if err != nil || old.Len() != 50 {
		t.Fatal(old, err)
	}
	_, before := old.At(49)
	if got, err := view.SampleInto(old, some, []int64{5, 5000}); !errors.Is(err, history.ErrOutside) || got != nil {
		t.Errorf("%v, %v, want ErrTime", got, err)
	}
	if got, err := view.PixelsInto(old, []history.Attribute{99}, 0, 900, 50); !errors.Is(err, history.ErrAttribute) || got != nil {
		t.Errorf("%v, %v, want ErrAttribute", got, err)
	}
	if _, after := old.At(49); old.Len() != 50 || after != before {
		t.Errorf("after an error there are %d intervals, the last %+v, want %+v", old.Len(), after, before)
	}
	times := []int64{5, 17, 230}
	if got, err := view.SampleInto(old, some, times); got != old || err != nil || got.Len() != 3 {
		t.Errorf("%d intervals in other memory, %v", got.Len(), err)
	}
	if _, in := old.At(2); in.Start != 230 || in.Value != history.Int(23) {
		t.Errorf("%+v", in)
	}
	if old, err = view.SampleInto(old, []history.Attribute{}, times); err != nil || old.Len() != 0 {
		t.Errorf("of nothing: %d intervals, %v", old.Len(), err)
	}
}
