package history

import (
	"math/rand/v2"
	"testing"
)

// TestMixedOrder writes the changes of each attribute in one go, one attribute after the
// other, in transactions that are larger than a tile. Every state equals that of changes in
// the order of time.
func TestMixedOrder(t *testing.T) {
	const attributes, changes = 40, 2000
	rng := rand.New(rand.NewPCG(1, 1))
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var want [attributes][]int64 // the times of changes; the value is the time
	from := int64(0)
	for range 3 {
		tx, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for i := range attributes {
			a, err := tx.Attribute("a", string(rune('A'+i)))
			if err != nil {
				t.Fatal(err)
			}
			at := from
			for range changes / attributes {
				at += 1 + rng.Int64N(100)
				if err := tx.Change(at, a, Int(at)); err != nil {
					t.Fatal(err)
				}
				want[i] = append(want[i], at)
			}
		}
		v, err := tx.Commit()
		if err != nil {
			t.Fatal(err)
		}
		from = v.End()
		for i, times := range want {
			a, err := v.Lookup("a", string(rune('A'+i)))
			if err != nil {
				t.Fatal(err)
			}
			for k, at := range times {
				next := v.End() + 1
				if k+1 < len(times) {
					next = times[k+1]
				}
				in, err := v.At(a, at+(next-at)/2)
				if err != nil || in.Start != at || in.End != next-1 || in.Value.Int() != at {
					t.Fatalf("attribute %d from %d to %d: %+v, %v", i, at, next-1, in, err)
				}
			}
		}
	}
}
