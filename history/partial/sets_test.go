//go:build !race

package partial_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/events"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/recorded"
)

// setEvents returns a recorded or made set, its events, and a provider of them.
func setEvents(t testing.TB, name string) (*ihs.Set, list, partial.Provider[event]) {
	s, l, path := events.Set(t, name)
	return s, l, events.Provider(path, nil)
}

// wholeSet returns the whole history of a set's events.
func wholeSet(t testing.TB, s *ihs.Set, l list) (*history.History, *history.View) {
	h, err := history.New(history.Options{Start: s.Header.Start})
	if err != nil {
		t.Fatal(err)
	}
	return h, events.Write(t, h, l, s.Path, nil, s.Header.End)
}

// TestSets compares recorded sets with their whole histories. With -v it prints how much is kept.
// One goroutine asks: the race detector would find nothing, and take half a minute.
func TestSets(t *testing.T) {
	effort.Long(t)
	for _, name := range recorded.Names {
		t.Run(name, func(t *testing.T) {
			s, l, provide := setEvents(t, name)
			h, full := wholeSet(t, s, l)
			t.Logf("whole: %d intervals, %d bytes", s.Len(), h.Size())
			for _, every := range []int{1000, 50_000} {
				p, err := partial.Build(t.Context(), l, provide, partial.Options{Start: s.Header.Start, End: s.Header.End, Every: every})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				compareSet(t, p, full)
				t.Logf("every %d events: %d intervals, %d bytes, questions took %v", every, p.Intervals(), p.Size(), time.Since(began))
			}
		})
	}
}

func compareSet(t *testing.T, p *partial.History[event], full *history.View) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		at := full.Start() + r.Int64N(full.End()-full.Start()+1)
		a := history.Attribute(r.IntN(full.Len()))
		want, _ := full.At(a, at)
		if got, err := p.At(t.Context(), a, at); err != nil || !same(got, want) {
			t.Fatalf("%d at %d is %v, want %v: %v", a, at, got, want, err)
		}
	}
	for range 2 {
		at := full.Start() + r.Int64N(full.End()-full.Start()+1)
		all, err := p.Slice(t.Context(), at, nil)
		if err != nil {
			t.Fatal(err)
		}
		for a, got := range all {
			if want, _ := full.At(history.Attribute(a), at); !same(got, want) {
				t.Fatalf("%d in the slice at %d is %v, want %v", a, at, got, want)
			}
		}
	}
}
