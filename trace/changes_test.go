package trace

import (
	"context"
	"errors"
	"testing"

	"github.com/granarydb/granary/history"
)

// TestChanges writes more changes than a transaction has, several at each instant: all of them are there.
func TestChanges(t *testing.T) {
	const instants, each = 150_000, 3
	r, err := Build(func(to Target) error {
		c, err := NewChanges(to, 0)
		if err != nil {
			return err
		}
		for i := range int64(instants) {
			for _, name := range []string{"a", "b", "c"} {
				w, err := c.At(t.Context(), i)
				if err != nil {
					return err
				}
				a, err := w.Attribute(name)
				if err != nil {
					return err
				}
				if err := w.Change(i, a, history.Int(i)); err != nil {
					return err
				}
			}
		}
		if c.Last() != instants-1 {
			t.Errorf("the last change is at %d", c.Last())
		}
		return c.Close(instants)
	})
	if err != nil {
		t.Fatal(err)
	}
	for a := range history.Attribute(each) {
		for _, at := range []int64{0, 1, 33_333, 33_334, 99_999, 100_000, instants - 1, instants} {
			iv, err := r.At(a, at)
			if want := history.Int(min(at, instants-1)); err != nil || iv.Value != want {
				t.Errorf("attribute %d at %d: %v, %v, want %v", a, at, iv.Value, err, want)
			}
		}
	}
}

// TestChanges_Cancelled ends at the end of a transaction when its context does.
func TestChanges_Cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Build(func(to Target) error {
		c, err := NewChanges(to, 0)
		if err != nil {
			return err
		}
		cancel()
		for i := range int64(2 * changesBatch) {
			if _, err := c.At(ctx, i); err != nil {
				return err
			}
		}
		return c.Close(2 * changesBatch)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestOutcome_LeftOut(t *testing.T) {
	var o Outcome
	if got := o.LeftOut(); len(got) != 0 {
		t.Errorf("nothing left out: %v", got)
	}
	o.LeaveOut("flows", 2)
	o.LeaveOut("counters", 3)
	o.LeaveOut("flows", 0)
	o.LeaveOut("flows", 1)
	if got := o.LeftOut(); len(got) != 2 || got[0] != (LeftOut{"counters", 3}) || got[1] != (LeftOut{"flows", 3}) {
		t.Errorf("left out: %v", got)
	}
}
