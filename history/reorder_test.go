package history

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestReorder makes changes out of order within a window, and compares the history with that
// of the same changes in order.
func TestReorder(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		window := int64(rng.IntN(20))
		var changes []delayedChange
		for i := range 300 {
			v := Int(int64(rng.IntN(3)))
			if rng.IntN(5) == 0 {
				v = Value{}
			}
			changes = append(changes, delayedChange{int64(i/3 + rng.IntN(2)), 0, change{Attribute(rng.IntN(4)), v}})
		}
		slices.SortStableFunc(changes, func(a, b delayedChange) int { return int(a.at - b.at) })
		// Each arrives at its time plus up to the window, in the order of those times.
		mixed := slices.Clone(changes)
		came := map[int]int64{}
		for i := range mixed {
			mixed[i].order = uint64(i)
			came[i] = mixed[i].at + rng.Int64N(window+1)
		}
		slices.SortStableFunc(mixed, func(a, b delayedChange) int { return int(came[int(a.order)] - came[int(b.order)]) })
		// Changes of one time keep the order of their arrival.
		inOrder := slices.Clone(mixed)
		slices.SortStableFunc(inOrder, func(a, b delayedChange) int { return int(a.at - b.at) })

		var views [2]*View
		for i := range views {
			h, err := New(Options{})
			if err != nil {
				t.Fatal(err)
			}
			tx, err := h.Begin()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a", "b", "c", "d"} {
				if _, err := tx.Attribute(name); err != nil {
					t.Fatal(err)
				}
			}
			if i == 0 {
				for _, c := range inOrder {
					if err := tx.Change(c.at, c.attribute, c.value); err != nil {
						t.Fatal(err)
					}
				}
			} else {
				r, err := NewReorder(tx.Writer, window)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range mixed {
					if err := r.Change(c.at, c.attribute, c.value); err != nil {
						t.Fatal(seed, err)
					}
				}
				if err := r.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if views[i], err = tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		for a := range Attribute(4) {
			var of [2][]Interval
			for i, v := range views {
				for in, err := range v.Range(a, v.Start(), v.End(), RangeOptions{}) {
					if err != nil {
						t.Fatal(err)
					}
					of[i] = append(of[i], in)
				}
			}
			if !slices.Equal(of[0], of[1]) {
				t.Fatalf("seed %d: attribute %d is\n%v in order,\n%v in disorder", seed, a, of[0], of[1])
			}
		}
	}
}

// TestReorder_Errors makes changes that are too late, or of another kind than a waiting one.
func TestReorder_Errors(t *testing.T) {
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Abort()
	a, err := tx.Attribute("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewReorder(tx.Writer, -1); !errors.Is(err, ErrQuery) {
		t.Errorf("a window of -1: %v", err)
	}
	r, err := NewReorder(tx.Writer, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   int64
		a    Attribute
		v    Value
		want error
	}{
		{100, a, Int(1), nil},
		{95, a, Bool(true), ErrKind}, // a waiting one is an int
		{90, a, Int(2), nil},
		{111, a, Int(3), nil}, // 100 is applied
		{99, a, Int(4), ErrOrder},
		{100, a, Int(5), nil}, // the latest possible
		{100, a + 1, Int(6), ErrAttribute},
	} {
		if err := r.Change(c.at, c.a, c.v); !errors.Is(err, c.want) {
			t.Errorf("change of %d at %d to %v: %v, want %v", c.a, c.at, c.v, err, c.want)
		}
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	in, err := tx.Ongoing(a)
	if err != nil || in.Start != 111 || in.Value.Int() != 3 {
		t.Errorf("ongoing is %+v, %v", in, err)
	}
}

// TestReorder_Late makes changes that are earlier than the window. The first is made, as
// nothing later was; an earlier one is refused at its call, and what waits is kept.
func TestReorder_Late(t *testing.T) {
	for _, window := range []int64{0, 10} {
		h, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		tx, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		a, err := tx.Attribute("a")
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReorder(tx.Writer, window)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			at   int64
			want error
		}{{100, nil}, {85, nil}, {80, ErrOrder}, {85, nil}, {86, nil}, {85, ErrOrder}} {
			if err := r.Change(c.at, a, Int(c.at)); !errors.Is(err, c.want) {
				t.Errorf("window %d: change at %d: %v, want %v", window, c.at, err, c.want)
			}
		}
		if err := r.Flush(); err != nil {
			t.Errorf("window %d: flush: %v", window, err)
		}
		v, err := tx.Commit()
		if err != nil {
			t.Fatal(err)
		}
		var starts []int64
		for in, err := range v.Range(a, 0, v.End(), RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			starts = append(starts, in.Start)
		}
		if !slices.Equal(starts, []int64{0, 85, 86, 100}) {
			t.Errorf("window %d: intervals begin at %d", window, starts)
		}
	}
}

// TestReorder_Random makes changes with times at random. An accepted change is never lost, and
// Flush never fails.
func TestReorder_Random(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		window := rng.Int64N(20)
		h, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		tx, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		a, err := tx.Attribute("a")
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReorder(tx.Writer, window)
		if err != nil {
			t.Fatal(err)
		}
		latest, taken := int64(0), map[int64]bool{}
		for i := range int64(100) {
			at := 1 + rng.Int64N(60)
			err := r.Change(at, a, Int(i))
			if err == nil {
				taken[at] = true
			} else if !errors.Is(err, ErrOrder) || at >= latest-window {
				t.Fatalf("seed %d: change at %d, window of %d before %d: %v", seed, at, window, latest, err)
			}
			latest = max(latest, at)
		}
		if err := r.Flush(); err != nil {
			t.Fatalf("seed %d: flush: %v", seed, err)
		}
		v, err := tx.Commit()
		if err != nil {
			t.Fatal(err)
		}
		for at := range taken {
			if in, err := v.At(a, at); err != nil || in.Start != at {
				t.Fatalf("seed %d: the change at %d is in %+v, %v", seed, at, in, err)
			}
		}
	}
}
