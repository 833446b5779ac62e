package golang

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/history"
)

// kept is a history with its follower.
type kept struct {
	*Follower
	h       *history.History
	samples []Sampled
}

func keep(t testing.TB, opts FollowOptions) *kept {
	t.Helper()
	h, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &kept{Follower: NewFollower(opts), h: h}
}

// window writes a trace in a transaction of its own.
func (k *kept) window(t testing.TB, data []byte) (*history.View, error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(data), 1<<30)
	if err != nil {
		return nil, err
	}
	tx, err := k.h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Window(t.Context(), r, tx.Writer, func(s Sampled) { k.samples = append(k.samples, s) }); err != nil {
		tx.Abort()
		k.Lost()
		return nil, err
	}
	view, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return view, nil
}

// states returns the states of all goroutines of a view at an instant, by their numbers.
func states(t testing.TB, v *history.View, at int64, byID bool) map[int64]string {
	t.Helper()
	out := map[int64]string{}
	top, err := v.Lookup(Goroutines)
	if err != nil {
		t.Fatal(err)
	}
	for a := range v.Children(top) {
		in, err := v.At(a, at)
		if err != nil {
			t.Fatal(err)
		}
		if in.Value.IsNull() {
			continue
		}
		id := numberOf(t, v, a, at, byID)
		if out[id] != "" {
			t.Fatalf("goroutine %d has two places", id)
		}
		out[id] = in.Value.Text()
	}
	return out
}

// numberOf returns the number of the goroutine of an attribute: its name, or that of its place at an instant.
func numberOf(t testing.TB, v *history.View, a history.Attribute, at int64, byID bool) int64 {
	t.Helper()
	if byID {
		name, err := v.Name(a)
		if err != nil {
			t.Fatal(err)
		}
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	goid, err := v.LookupFrom(a, "goid")
	if err != nil {
		t.Fatal(err)
	}
	in, err := v.At(goid, at)
	if err != nil {
		t.Fatal(err)
	}
	return in.Value.Int()
}

// same reports whether two states are one. Why a goroutine waits is unknown to a window that begins later.
func same(want, got string) bool {
	return want == got || got == "waiting" && strings.HasPrefix(want, "waiting (")
}

// compare holds a view to the oracle at random instants. It returns the number of states that were compared.
func compare(t testing.TB, v *history.View, s slow, from, to int64, byID bool) (compared int) {
	t.Helper()
	for range 300 {
		at := from + rand.Int64N(to-from)
		if s.near(at) {
			continue
		}
		want, got := s.states(at), states(t, v, at, byID)
		if !maps.EqualFunc(want, got, same) {
			t.Fatalf("at %d:\n%v, want\n%v", at, got, want)
		}
		compared += len(want)
	}
	return compared
}

// TestFollower_File holds a recorded trace to the oracle, with a place a goroutine and with places that are
// used again.
func TestFollower_File(t *testing.T) {
	data := file(t)
	s := replayed(t, data)
	for _, byID := range []bool{false, true} {
		k := keep(t, FollowOptions{ByID: byID})
		view, err := k.window(t, data)
		if err != nil {
			t.Fatal(err)
		}
		if n := compare(t, view, s, s.from, view.End(), byID); n < 500 {
			t.Errorf("only %d states were compared", n)
		}
		if len(k.samples) < 3 {
			t.Errorf("%d samples", len(k.samples))
		}
	}
}

// TestFollower_Windows records windows that overlap, and at once all of it as one trace: the history of the
// windows is that of the trace.
func TestFollower_Windows(t *testing.T) {
	var whole bytes.Buffer
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	if err := trace.Start(&whole); err != nil {
		t.Fatal(err)
	}
	fr := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Minute})
	if err := fr.Start(); err != nil {
		t.Fatal(err)
	}
	var windows [][]byte
	for range 6 {
		work(80 * time.Millisecond)
		var w bytes.Buffer
		if _, err := fr.WriteTo(&w); err != nil {
			t.Fatal(err)
		}
		windows = append(windows, w.Bytes())
	}
	fr.Stop()
	trace.Stop()

	s := replayed(t, whole.Bytes())
	k := keep(t, FollowOptions{})
	var view *history.View
	var known int64
	for i, w := range windows {
		next, err := k.window(t, w)
		if err != nil {
			t.Fatalf("window %d: %v", i, err)
		}
		if view != nil && next.End() <= view.End() {
			t.Errorf("window %d ends at %d, the one before at %d", i, next.End(), view.End())
		}
		if i > 0 && len(w) <= len(windows[i-1]) {
			t.Errorf("window %d has %d bytes: the windows do not overlap", i, len(w))
		}
		if view = next; i == 0 { // by its end it has the states of all goroutines
			known = view.End()
		}
	}
	if n := compare(t, view, s, known, view.End(), false); n < 1000 {
		t.Errorf("only %d states were compared", n)
	}
	checkSamples(t, s, k, view)
	checkResumed(t, windows)
}

// checkResumed writes windows with one Follower, and with one for each window that resumes from the history: the histories and
// the samples are equal.
func checkResumed(t *testing.T, windows [][]byte) {
	t.Helper()
	opts := FollowOptions{Resumable: true}
	one, many := keep(t, opts), keep(t, opts)
	var all, parts *history.View
	for i, w := range windows {
		var err error
		if all, err = one.window(t, w); err != nil {
			t.Fatal(err)
		}
		if parts != nil {
			many.Follower = NewFollower(opts)
			if ok, err := many.Resume(parts); !ok || err != nil {
				t.Fatalf("window %d cannot resume: %v", i, err)
			}
		}
		if parts, err = many.window(t, w); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := intervals(t, parts), intervals(t, all); !slices.Equal(got, want) || len(want) < 100 {
		t.Errorf("%d intervals, want %d: %v, want %v", len(got), len(want), got, want)
	}
	sampled := func(s Sampled) [3]int64 { return [3]int64{s.At, s.Goroutine, int64(s.Place)} }
	if !slices.EqualFunc(one.samples, many.samples, func(a, b Sampled) bool { return sampled(a) == sampled(b) }) {
		t.Errorf("%d samples, want %d", len(many.samples), len(one.samples))
	}
	other := keep(t, FollowOptions{})
	plain, err := other.window(t, windows[0])
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := NewFollower(opts).Resume(plain); ok || err != nil {
		t.Errorf("a history without a clock is resumed: %v", err)
	}
}

// intervals returns all intervals of a view as texts.
func intervals(t *testing.T, v *history.View) (out []string) {
	t.Helper()
	for a := range history.Attribute(v.Len()) {
		path, err := v.Path(a)
		if err != nil {
			t.Fatal(err)
		}
		for in, err := range v.Range(a, v.Start(), v.End(), history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprint(path, in.Start, in.End, in.Value))
		}
	}
	slices.Sort(out)
	return out
}

// checkSamples holds the samples of a follower to those of the oracle: each once.
func checkSamples(t *testing.T, s slow, k *kept, view *history.View) {
	t.Helper()
	want := s.samplesTo(view.End())
	missing := max(0, len(want)-len(k.samples)) // those before the recorder began
	want = want[missing:]
	var got []int64
	for _, sample := range k.samples {
		got = append(got, sample.Goroutine)
		if sample.Place < 0 {
			continue
		}
		goid, err := view.Lookup(Goroutines, strconv.Itoa(sample.Place), "goid")
		if err != nil {
			t.Fatal(err)
		}
		if in, err := view.At(goid, sample.At); err != nil || in.Value.Int() != sample.Goroutine {
			t.Errorf("the sample at %d is of goroutine %d, its place has %v: %v", sample.At, sample.Goroutine, in.Value, err)
		}
	}
	if len(got) < 4 || missing > 3 || !slices.Equal(got, want) {
		t.Errorf("samples of %v, want %v", got, want)
	}
}

// TestFollower_Gap leaves a window out: the states between are null, and those behind are right.
func TestFollower_Gap(t *testing.T) {
	first, second := record(t, 50*time.Millisecond), record(t, 50*time.Millisecond)
	k := keep(t, FollowOptions{})
	before, err := k.window(t, first)
	if err != nil {
		t.Fatal(err)
	}
	if got := states(t, before, before.End(), false); len(got) < 3 {
		t.Fatalf("only %v", got)
	}
	after, err := k.window(t, second)
	if err != nil {
		t.Fatal(err)
	}
	s := replayed(t, second)
	if missed, want := k.Missed(), between(t, first, second); missed != want || missed <= 0 {
		t.Errorf("%d ns were missed, want %d", missed, want)
	}
	if got := states(t, after, before.End()+(s.from-before.End())/2, false); len(got) != 0 {
		t.Errorf("in the gap: %v", got)
	}
	compare(t, after, s, s.from, after.End(), false)
	compare(t, after, replayed(t, first), replayed(t, first).from, before.End(), false)
}

// between returns the nanoseconds from the end of a trace to the beginning of a later one. The first event of a
// trace can be long after its beginning.
func between(t *testing.T, first, second []byte) int64 {
	t.Helper()
	_, a, err := all(first, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	_, b, err := all(second, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return b.Begin() - a.End()
}

// TestFollower_Lost aborts the second of three windows: what it had comes with the third.
func TestFollower_Lost(t *testing.T) {
	data := record(t, 50*time.Millisecond)
	k := keep(t, FollowOptions{})
	if _, err := k.window(t, data[:len(data)-20]); err == nil {
		t.Fatal("a cut trace is taken")
	}
	view, err := k.window(t, data)
	if err != nil {
		t.Fatal(err)
	}
	s := replayed(t, data)
	compare(t, view, s, s.from, view.End(), false)
	again, err := k.window(t, data) // has nothing new
	if err != nil || again.End() > view.End()+1 {
		t.Errorf("the same window again ends at %d, want %d: %v", again.End(), view.End(), err)
	}
}

// TestFollower_Most bounds the places, and uses those of goroutines that ended again.
func TestFollower_Most(t *testing.T) {
	k := keep(t, FollowOptions{Most: 3})
	var view *history.View
	for range 3 {
		var err error
		if view, err = k.window(t, record(t, 30*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	top, err := view.Lookup(Goroutines)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(slices.Collect(view.Children(top))); n != 3 || k.LeftOut() == 0 {
		t.Errorf("%d places, want 3; %d goroutines without", n, k.LeftOut())
	}
}
