package history_test

import (
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
)

// TestLists asks each question of a list for all attributes, which is nil, and for none, which
// is an empty list.
func TestLists(t *testing.T) {
	v := columnViews(t)[3]
	rows := func(seq iter.Seq2[*history.Columns, error]) (n int) {
		attributes := map[history.Attribute]bool{}
		for c, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range c.Attributes {
				attributes[a] = true
			}
		}
		return len(attributes)
	}
	intervals := func(r *history.Intervals, err error) int {
		if err != nil {
			t.Fatal(err)
		}
		return r.Len()
	}
	slice := func(s *history.Slice, err error) (n int) {
		if err != nil {
			t.Fatal(err)
		}
		for range s.All() {
			n++
		}
		if n != s.Len() {
			t.Errorf("a slice of %d has %d intervals", s.Len(), n)
		}
		return n
	}
	at := v.End() / 2
	for _, list := range [][]history.Attribute{nil, {}} {
		want := 0
		if list == nil {
			want = v.Len()
		}
		cursor, err := v.Cursor(1, list...)
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string]int{
			"Slice":         slice(v.Slice(at, list...)),
			"Cursor":        slice(cursor.MoveTo(at)),
			"Sample":        intervals(v.Sample(list, []int64{at})),
			"SampleInto":    intervals(v.SampleInto(new(history.Intervals), list, []int64{at})),
			"Pixels":        intervals(v.Pixels(list, at, at, 1)),
			"PixelsInto":    intervals(v.PixelsInto(new(history.Intervals), list, at, at, 1)),
			"RangeColumns":  rows(v.RangeColumns(list, at, v.End(), 0, 9)),
			"SliceColumns":  rows(v.SliceColumns(at, list, 9)),
			"SampleColumns": rows(v.SampleColumns(list, []int64{at}, 9)),
		} {
			if got != want {
				t.Errorf("%s of %#v has %d attributes, want %d", name, list, got, want)
			}
		}
	}
	if found, err := v.DescendantsMatching(history.Top, nil, false); err != nil || found == nil || len(found) == 0 {
		t.Errorf("all children: %v, %v", found, err)
	}
	if found, err := v.DescendantsMatching(history.Attribute(v.Len()-1), nil, false); err != nil || found == nil || len(found) > 0 {
		t.Errorf("no children: %#v, %v", found, err)
	}
	if found, err := v.Match(history.Literal("absent")); err != nil || found == nil || len(found) > 0 {
		t.Errorf("no match: %#v, %v", found, err)
	}
}

// fewOfMany returns a history of n attributes, most of them in lanes of their own shape.
func fewOfMany(t testing.TB, n int) *history.View {
	h, w := begun(t)
	for i := range n {
		a, err := w.Attribute("threads", history.Int(int64(i)).String())
		if err != nil {
			t.Fatal(err)
		}
		if i%5 == 4 {
			continue // it has no place
		}
		for _, at := range []int64{int64(i % 7), 10 + int64(i%50), 80} {
			if err := w.Change(at, a, history.Int(at+int64(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	v, err := w.Commit()
	if err != nil || h.Size() == 0 {
		t.Fatal(err)
	}
	return v
}

// TestSlice_FewOfMany compares slices of few of many attributes with At.
func TestSlice_FewOfMany(t *testing.T) {
	v := fewOfMany(t, 10_000)
	rng := rand.New(rand.NewPCG(1, 9))
	for range 200 {
		some := make([]history.Attribute, rng.IntN(250))
		for i := range some {
			some[i] = history.Attribute(rng.IntN(v.Len()))
		}
		cursor, err := v.Cursor(1+rng.IntN(3), some...)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			at := rng.Int64N(v.End() + 1)
			slice, err := v.Slice(at, some...)
			if err != nil {
				t.Fatal(err)
			}
			moved, err := cursor.MoveTo(at)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*history.Slice{slice, moved} {
				n := 0
				for a, in := range s.All() {
					if want, err := v.At(a, at); err != nil || in != want || a != some[n] {
						t.Fatalf("attribute %d at %d: %v, want %v, %v", a, at, in, want, err)
					}
					n++
				}
				if n != len(some) {
					t.Fatalf("%d of %d attributes", n, len(some))
				}
				if _, err := s.Of(history.Attribute(v.Len())); err == nil {
					t.Fatal("an unknown attribute is in the slice")
				}
			}
		}
	}
}

// TestSlice_FewAreCheap bounds the memory of a slice of 3 of 100,000 attributes, whose columns
// would take 2.4 MB.
func TestSlice_FewAreCheap(t *testing.T) {
	if effort.Race {
		t.Skip("the memory of one goroutine is measured")
	}
	v := fewOfMany(t, 100_000)
	some := []history.Attribute{70_000, 3, 50_001}
	const rounds = 100
	bytes := effort.Allocated(func() {
		for range rounds {
			if _, err := v.Slice(50, some...); err != nil {
				t.Fatal(err)
			}
			cursor, err := v.Cursor(1, some...)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cursor.MoveTo(50); err != nil {
				t.Fatal(err)
			}
		}
	}) / rounds
	if bytes > 32<<10 {
		t.Errorf("a slice and a cursor of %d attributes take %d bytes", len(some), bytes)
	}
}

// BenchmarkFewOfMany asks for 3 of 1,000,000 attributes.
func BenchmarkFewOfMany(b *testing.B) {
	v := fewOfMany(b, 1_000_000)
	some := []history.Attribute{700_000, 3, 500_001}
	b.Run("slice", func(b *testing.B) {
		for i := range b.N {
			if _, err := v.Slice(int64(i%80), some...); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("move", func(b *testing.B) {
		cursor, err := v.Cursor(1, some...)
		if err != nil {
			b.Fatal(err)
		}
		for i := range b.N {
			if _, err := cursor.MoveTo(int64(i % 80)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
