package golang

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	rt "runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/granarydb/granary/history"
)

// relays returns a trace of several generations, in each of which goroutines wake each other and end. One that is woken in each runs
// into the next, and ends there.
func relays(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := rt.Start(&out); err != nil {
		t.Fatal(err)
	}
	fr := rt.NewFlightRecorder(rt.FlightRecorderConfig{})
	if err := fr.Start(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for range 10 {
			relay(10)
		}
		var isNext atomic.Bool
		woken, ended := make(chan bool), make(chan bool)
		go func() {
			woken <- true
			for !isNext.Load() {
			}
			close(ended)
		}()
		for range 10 { // it waits until then
			runtime.Gosched()
		}
		<-woken
		if _, err := fr.WriteTo(io.Discard); err != nil {
			t.Fatal(err)
		}
		isNext.Store(true)
		<-ended
	}
	fr.Stop()
	rt.Stop()
	return out.Bytes()
}

// relay sends numbers along a chain of n goroutines.
func relay(n int) {
	var all sync.WaitGroup
	first := make(chan int)
	last := first
	for range n {
		in, out := last, make(chan int)
		all.Go(func() {
			for v := range in {
				out <- v
			}
			close(out)
		})
		last = out
	}
	all.Go(func() {
		for v := range 5 {
			first <- v
		}
		close(first)
	})
	for range last {
	}
	all.Wait()
}

// wokenAt returns what woke a goroutine as its attribute has it at an instant: null if there is none.
func wokenAt(t testing.TB, v *history.View, name string, at int64) history.Value {
	t.Helper()
	a, err := v.Lookup(Goroutines, name, wokenBy)
	if errors.Is(err, history.ErrAttribute) {
		return history.Value{}
	}
	in, err := v.At(a, at)
	if err != nil {
		t.Fatal(err)
	}
	return in.Value
}

// holders returns the goroutines of all places at an instant, null for a free one, by the name of the place.
func holders(t testing.TB, v *history.View, at int64) map[string]history.Value {
	t.Helper()
	top, err := v.Lookup(Goroutines)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]history.Value{}
	for a := range v.Children(top) {
		name, err := v.Name(a)
		if err != nil {
			t.Fatal(err)
		}
		goid, err := v.LookupFrom(a, "goid")
		if err != nil {
			t.Fatal(err)
		}
		in, err := v.At(goid, at)
		if err != nil {
			t.Fatal(err)
		}
		of[name] = in.Value
	}
	return of
}

// wakes counts the goroutines of places at instants of wakes, by what woke them last.
type wakes struct {
	held map[int64]bool // all goroutines that had a place

	goroutine, none, unplaced int // a goroutine with a place, none, and one without a place
}

// compareWakes holds a history of places to one by number at each wake of a trace since an instant. There what wakes a goroutine is the number of the
// place that the waker has then. A place has nothing of the goroutine before.
func compareWakes(t *testing.T, data []byte, offset int64, byID, v *history.View, from int64) wakes {
	t.Helper()
	events, _, err := all(data, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	of := wakes{held: map[int64]bool{}}
	for _, ev := range events {
		at := ev.Time + offset
		if !ev.IsWake || at < from {
			continue
		}
		places := holders(t, v, at)
		for name, id := range places {
			got, want := wokenAt(t, v, name, at), history.Value{}
			if !id.IsNull() {
				of.held[id.Int()] = true
				want = wokenAt(t, byID, strconv.FormatInt(id.Int(), 10), at)
			}
			switch isWoken := !id.IsNull() && id.Int() == ev.ID; {
			case want.IsNull():
				if !got.IsNull() {
					t.Fatalf("at %d place %s with goroutine %v is woken by %v, want none", at, name, id, got)
				}
				of.none++
			case !isWoken: // the place of its waker can have another goroutine by now
			case got.IsNull():
				for _, holder := range places {
					if holder == want {
						t.Fatalf("at %d goroutine %v is woken by none, want the place of %v", at, id, want)
					}
				}
				of.unplaced++
			default:
				if holder := places[strconv.FormatInt(got.Int(), 10)]; holder != want {
					t.Fatalf("at %d goroutine %v is woken by place %v, which has %v, want %v", at, id, got, holder, want)
				}
				of.goroutine++
			}
		}
	}
	return of
}

// TestFollower_Wakes holds what wakes goroutines in a history of places to a history by number.
func TestFollower_Wakes(t *testing.T) {
	data := relays(t)
	byID, err := keep(t, FollowOptions{ByID: true, Wakes: true}).window(t, data)
	if err != nil {
		t.Fatal(err)
	}
	places := 0
	for _, isSmall := range []bool{false, true} {
		k := keep(t, FollowOptions{Most: max(0, places-5), Wakes: true})
		v, err := k.window(t, data)
		if err != nil {
			t.Fatal(err)
		}
		places = len(holders(t, v, v.End()))
		of := compareWakes(t, data, k.offset, byID, v, v.Start())
		if of.goroutine < 200 || of.none < 100 || of.unplaced > 50 != isSmall || len(of.held) < 4*places {
			t.Errorf("%d places: %d wakes by goroutines, %d by none, %d by goroutines without a place, %d goroutines", places, of.goroutine, of.none, of.unplaced, len(of.held))
		}
	}
}

// TestFollower_WakesResumed goes on with a history: with one that has what wakes goroutines, one that has not, as an older version
// wrote it, and one whose last states are lost. From there on nothing differs from a history by number.
func TestFollower_WakesResumed(t *testing.T) {
	data := relays(t)
	byID, err := keep(t, FollowOptions{ByID: true, Wakes: true}).window(t, data)
	if err != nil {
		t.Fatal(err)
	}
	generations := parts(t, bytes.NewReader(data), 1<<20)
	begin := append(generations[0], generations[1][headerBytes:]...)
	resume := func(k *kept, v *history.View) {
		k.Follower = NewFollower(FollowOptions{Wakes: true, Resumable: true})
		if ok, err := k.Resume(v); !ok || err != nil {
			t.Fatalf("no resumption: %v", err)
		}
	}
	for name, test := range map[string]struct {
		hasWakes bool
		goOn     func(k *kept, v *history.View)
	}{
		"with wakes":  {true, resume},
		"older":       {false, resume},
		"of new":      {true, func(k *kept, _ *history.View) { k.Cut() }},
		"of new, old": {false, func(k *kept, _ *history.View) { k.Cut(); k.opts.Wakes = true }},
	} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, FollowOptions{Wakes: test.hasWakes, Resumable: true})
			before, err := k.window(t, begin)
			if err != nil {
				t.Fatal(err)
			}
			test.goOn(k, before)
			v, err := k.window(t, data)
			if err != nil {
				t.Fatal(err)
			}
			from := before.End() + 1
			if test.hasWakes {
				from = v.Start()
			}
			of := compareWakes(t, data, k.offset, byID, v, from)
			if of.goroutine < 50 || of.unplaced > 0 || len(of.held) < 50 {
				t.Errorf("%d wakes by goroutines, %d by goroutines without a place, %d goroutines", of.goroutine, of.unplaced, len(of.held))
			}
			places := holders(t, v, before.End()+1)
			for name, id := range places {
				by := wokenAt(t, v, name, before.End()+1)
				if by.IsNull() || test.hasWakes && wokenAt(t, before, name, before.End()) == by {
					continue
				}
				t.Errorf("place %s with goroutine %v is woken by %v between its wakes", name, id, by)
			}
		})
	}
}
