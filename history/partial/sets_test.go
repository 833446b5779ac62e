//go:build !race

package partial_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/trace/ihs"
)

// setEvents returns the intervals of a recorded or made set as changes, in the order of their starts,
// and a provider of them.
func setEvents(t testing.TB, name string) (*ihs.Set, list, partial.Provider[event]) {
	if !strings.HasPrefix(name, "synth:") { // those are made
		name = filepath.Join("..", "..", "..", "shared", "data", "intervals", name)
		if _, err := os.Stat(name + ".ihs.gz"); err != nil {
			const what = "../shared/data/intervals is not there: it holds real histories and is not part of the repository"
			if os.Getenv("GRANARY_NEED_SHARED") == "1" {
				t.Fatal(what + ", and GRANARY_NEED_SHARED is 1")
			}
			t.Skip(what)
		}
	}
	s, err := ihs.Open(name, ihs.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var l list
	for _, i := range s.ByStart() {
		in := s.At(i)
		e := event{at: in.Start, n: int(in.Key)}
		switch in.Kind {
		case ihs.KindInt, ihs.KindLong:
			e.value = history.Int(in.Int())
		case ihs.KindFloat:
			e.value = history.Float(in.Float())
		case ihs.KindString:
			e.value = history.String(in.Text)
		}
		l = append(l, e)
	}
	paths := make([][]string, len(s.Attributes))
	for key := range paths {
		paths[key] = s.Path(key)
	}
	return s, l, func(w *partial.Writer, e event) error {
		a, err := w.Attribute(paths[e.n]...)
		if err != nil {
			return err
		}
		return w.Change(a, e.value)
	}
}

// wholeSet returns the whole history of a set's events.
func wholeSet(t testing.TB, s *ihs.Set, l list) (*history.History, *history.View) {
	h, err := history.New(history.Options{Start: s.Header.Start})
	if err != nil {
		t.Fatal(err)
	}
	w, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l {
		a, err := w.Attribute(s.Path(e.n)...)
		if err == nil {
			err = w.Change(e.at, a, e.value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(s.Header.End); err != nil {
		t.Fatal(err)
	}
	full, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return h, full
}

// TestSets compares recorded sets with their whole histories. With -v it prints how much is kept.
// One goroutine asks: the race detector would find nothing, and take half a minute.
func TestSets(t *testing.T) {
	for _, name := range []string{"many-threads", "uneven-streams", "bug446190", "flipping-endianness"} {
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
