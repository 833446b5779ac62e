package index

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// versionOf returns a version with an entry for each bound; the value is the bound in angle
// brackets.
func versionOf(bounds ...string) *Version[string] {
	edit := New[string]().Edit()
	for _, b := range bounds {
		edit.Set(b, "<"+b+">")
	}
	return edit.Done()
}

func TestFloor(t *testing.T) {
	three := versionOf("", "f", "p")
	late := versionOf("f", "p")
	tests := []struct {
		name    string
		version *Version[string]
		key     string
		want    string
		wantOK  bool
	}{
		{"empty version", New[string](), "k", "", false},
		{"empty key, entry at minus infinity", three, "", "", true},
		{"empty key, no such entry", late, "", "", false},
		{"before the first bound", late, "eee", "", false},
		{"on a bound", three, "f", "f", true},
		{"just below a bound", three, "e\xff", "", true},
		{"just above a bound", three, "f\x00", "f", true},
		{"between two", three, "k", "f", true},
		{"after the last", three, "\xff", "p", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bound, value, ok := tt.version.Floor(tt.key)
			if bound != tt.want || ok != tt.wantOK {
				t.Errorf("Floor(%q) = %q, %t, want %q, %t", tt.key, bound, ok, tt.want, tt.wantOK)
			}
			if ok && value != "<"+tt.want+">" {
				t.Errorf("Floor(%q) has the value %q, that of another entry", tt.key, value)
			}
		})
	}
}

func TestOverlapping(t *testing.T) {
	v := versionOf("b", "f", "p")
	tests := []struct {
		name   string
		lo, hi string
		want   []string
	}{
		{"everything", "", "", []string{"b", "f", "p"}},
		{"within one entry", "g", "h", []string{"f"}},
		{"from inside one into the next", "g", "q", []string{"f", "p"}},
		{"the upper end is exclusive", "b", "f", []string{"b"}},
		{"the upper end is just past a bound", "b", "f\x00", []string{"b", "f"}},
		{"the lower end is on a bound", "f", "g", []string{"f"}},
		{"the lower end is before all", "", "b", nil},
		{"no upper end", "q", "", []string{"p"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for bound := range v.Overlapping(tt.lo, tt.hi) {
				got = append(got, bound)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Overlapping(%q, %q) (-want +got):\n%s", tt.lo, tt.hi, diff)
			}
		})
	}
}

// AppendOverlapping finds the end by its bound among a few entries, and by a search among
// many.
func TestAppendOverlapping(t *testing.T) {
	edit := New[int]().Edit()
	for i := range 100 {
		edit.Set(fmt.Sprintf("%02d", i), i)
	}
	v := edit.Done()
	for lo := range 100 {
		for hi := lo; hi <= 100; hi++ {
			from, to := fmt.Sprintf("%02d", lo), fmt.Sprintf("%02d", hi)
			if hi == 100 {
				to = ""
			}
			for _, within := range []string{"", "5"} { // "5": lo is inside the first entry, above its bound
				want := []int{-1}
				for _, i := range v.Overlapping(from+within, to) {
					want = append(want, i)
				}
				for how, got := range map[string][]int{
					"AppendOverlapping": v.AppendOverlapping([]int{-1}, from+within, to), // most are listed by one before
					"walked":            v.appendWalked([]int{-1}, from+within, to),
				} {
					if !slices.Equal(got, want) {
						t.Fatalf("%s(%q, %q) = %v; want %v", how, from+within, to, got, want)
					}
				}
			}
		}
	}
}

// A caller that has seen enough may stop an iteration.
func TestOverlappingStops(t *testing.T) {
	var got []string
	for bound := range versionOf("b", "f", "p").All() {
		got = append(got, bound)
		if len(got) == 2 {
			break
		}
	}
	if diff := cmp.Diff([]string{"b", "f"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// X3: an edit that is dropped leaves no trace, however many nodes it wrote.
func TestDroppedEdit(t *testing.T) {
	var bounds []string
	for i := range 500 {
		bounds = append(bounds, fmt.Sprintf("%03d", i))
	}
	v := versionOf(bounds...)
	edit := v.Edit()
	for i, b := range bounds {
		if i%2 == 0 {
			edit.Delete(b)
		} else {
			edit.Set(b, "overwritten")
		}
		edit.Set(b+"x", "new")
	}
	if v.Len() != len(bounds) {
		t.Fatalf("Len() = %d after a dropped edit, want %d", v.Len(), len(bounds))
	}
	i := 0
	for bound, value := range v.All() {
		if bound != bounds[i] || value != "<"+bound+">" {
			t.Fatalf("entry %d is (%q, %q) after a dropped edit", i, bound, value)
		}
		i++
	}
}

// X1: readers of old and new versions need no lock while one editor goes on
// making versions. Version n has the entries 0 to n-1, each with the value n.
func TestConcurrentReaders(t *testing.T) {
	const versions, readers = 300, 4
	bound := func(i int) string { return fmt.Sprintf("%04d", i) }

	feed := make([]chan *Version[int], readers)
	var wg sync.WaitGroup
	for r := range feed {
		feed[r] = make(chan *Version[int], 8)
		wg.Go(func() {
			var held []*Version[int]
			for v := range feed[r] {
				held = append(held, v)
				for _, v := range []*Version[int]{v, held[0], held[len(held)/2]} {
					n := 0
					for b, value := range v.All() {
						if b != bound(n) || value != v.Len() {
							t.Errorf("version %d: entry %d is (%q, %d)", v.Len(), n, b, value)
							return
						}
						n++
					}
					if n != v.Len() {
						t.Errorf("version %d yields %d entries", v.Len(), n)
					}
					if b, _, ok := v.Floor("9999"); ok != (n > 0) || ok && b != bound(n-1) {
						t.Errorf("version %d: Floor of the greatest key = %q, %t", n, b, ok)
					}
				}
			}
		})
	}
	v := New[int]()
	for n := range versions {
		for _, c := range feed {
			select {
			case c <- v:
			default: // a slow reader skips versions
			}
		}
		edit := v.Edit()
		for i := range n + 1 {
			edit.Set(bound(i), n+1)
		}
		v = edit.Done()
	}
	for _, c := range feed {
		close(c)
	}
	wg.Wait()
}

// A look-up allocates nothing, and keeps no part of its key.
func TestLookupsAllocateNothing(t *testing.T) {
	v := versionOf("", "f", "p")
	key := []byte("k")
	for name, look := range map[string]func(){
		"Get":        func() { v.Get("f") },
		"Floor":      func() { v.Floor("k") },
		"FloorBytes": func() { v.FloorBytes(key) },
	} {
		if n := testing.AllocsPerRun(100, look); n > 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
		if probe := v.probes.Get().(*entry[string]); probe.bound != "" {
			t.Errorf("%s keeps the key %q", name, probe.bound)
		}
	}
	if bound, value, ok := v.FloorBytes(key); bound != "f" || value != "<f>" || !ok {
		t.Errorf("FloorBytes(%q) = %q, %q, %t", key, bound, value, ok)
	}
}

// The first walk over more than a quarter of the entries lists them, so that later ones allocate nothing.
func TestLongWalksAreListed(t *testing.T) {
	edit := New[int]().Edit()
	for i := range 100 {
		edit.Set(fmt.Sprintf("%02d", i), i)
	}
	v := edit.Done()
	dst := make([]int, 60, 200) // the values that dst has already do not count
	for _, tt := range []struct {
		hi     string
		listed bool
	}{{"20", false}, {"25", false}, {"26", true}} {
		v.AppendOverlapping(dst, "", tt.hi)
		if n := testing.AllocsPerRun(100, func() { v.AppendOverlapping(dst, "", "20") }); n > 0 == tt.listed {
			t.Errorf("%v allocations after a walk up to %s", n, tt.hi)
		}
	}
	if got, want := v.AppendOverlapping(nil, "", "02"), []int{0, 1}; !slices.Equal(got, want) { // "" is below all bounds
		t.Errorf("AppendOverlapping = %v; want %v", got, want)
	}
}

func TestAllIsSorted(t *testing.T) {
	// X2 on a tree of several levels that was filled out of order.
	edit := New[int]().Edit()
	for i := range 2000 {
		edit.Set(fmt.Sprintf("%04d", i*7919%2000), i)
		edit.Set(fmt.Sprintf("%04d", i*7919%2000), i) // the same bound again
	}
	v := edit.Done()
	var bounds []string
	for b := range v.All() {
		bounds = append(bounds, b)
	}
	if len(bounds) != 2000 || !slices.IsSorted(bounds) || len(slices.Compact(bounds)) != 2000 {
		t.Errorf("%d bounds, sorted %t; want 2000 distinct ones in order", len(bounds), slices.IsSorted(bounds))
	}
}
