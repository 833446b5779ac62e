package linux

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/internal/events"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/recorded"
	"github.com/granarydb/granary/trace"
)

// recordings are the traces of which ../shared has both the events and the intervals of Trace Compass.
var recordings = []string{"flipping-endianness", "bug446190", "many-threads"}

// TestImport_Recorded makes the recorded intervals of the recorded events: each attribute in its place, and each of its
// intervals.
func TestImport_Recorded(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			set, text := recorded.Open(t, name), printed(t, name)
			same(t, set, imported(t, Options{Numbers: true}, text), func(v history.Value, _ string) history.Value { return v })
			numbers := numbersOf(t)
			same(t, set, imported(t, Options{}, text), func(v history.Value, path string) history.Value {
				names := numbers[kindOfState(path)]
				if n, named := names[v.Text()]; names != nil && v.Kind() == history.KindString {
					if !named {
						t.Fatalf("%s has the state %v, which has no number", path, v)
					}
					return history.Int(n)
				}
				return v
			})
		})
	}
}

// same compares a history with a set. numbered gives values of the history the numbers of the set. Times of the history
// are of the day, because babeltrace2 prints them so.
func same(t *testing.T, set *ihs.Set, r *trace.Recording, numbered func(v history.Value, path string) history.Value) {
	t.Helper()
	want := make([][]ihs.Interval, set.Header.Keys)
	for i := range set.Len() {
		in := set.At(i)
		want[in.Key] = append(want[in.Key], in)
	}
	if r.Len() != len(want) {
		t.Fatalf("%d attributes, want %d", r.Len(), len(want))
	}
	day := set.Header.Start - r.Start()
	const most = 20
	wrong, intervals := 0, 0
	report := func(format string, args ...any) {
		if wrong++; wrong <= most {
			t.Errorf(format, args...)
		}
	}
	for key, want := range want {
		a, path := history.Attribute(key), strings.Join(set.Path(key), "|")
		if got := pathOf(t, r.View, a); got != path {
			report("attribute %d is %s, want %s", key, got, path)
			continue
		}
		i := 0
		for got, err := range r.Range(a, r.Start(), r.End(), history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			intervals++
			if i == len(want) {
				report("%s: more than %d intervals", path, len(want))
				break
			}
			w := want[i]
			if v := numbered(got.Value, path); got.Start+day != w.Start || got.End+day != w.End || !v.Equal(events.ValueOf(w)) {
				report("%s: interval %d is %v from %d to %d, want %v", path, i, v, got.Start+day, got.End+day, w)
			}
			i++
		}
		if i < len(want) {
			report("%s: %d intervals, want %d", path, i, len(want))
		}
	}
	if wrong > most {
		t.Errorf("%d differences in all", wrong)
	}
	t.Logf("%d attributes, %d intervals, %d differences", r.Len(), intervals, wrong)
}

// kindOfState returns the table of states of an attribute, by its path in a set.
func kindOfState(path string) string {
	names := strings.Split(path, "|")
	switch {
	case len(names) == 2 && names[0] != "IRQs":
		return names[0]
	case len(names) == 4 && names[2] == "Soft_IRQs":
		return names[2]
	}
	return ""
}

// numbersOf returns the numbers of states by their names. No two states have one name.
func numbersOf(t *testing.T) map[string]map[string]int64 {
	out := map[string]map[string]int64{}
	for table, names := range map[string]map[int64]string{"Threads": threadStates, "CPUs": cpuStates, "Soft_IRQs": softIRQStates} {
		out[table] = map[string]int64{}
		for n, name := range names {
			if _, twice := out[table][name]; twice {
				t.Errorf("two states of %s are %q", table, name)
			}
			out[table][name] = n
		}
	}
	return out
}

// TestImport_Partial keeps a part of the recorded events' states, replays the others, and has the same answers, at the
// ends of intervals and beside them.
func TestImport_Partial(t *testing.T) {
	for _, name := range recordings[:2] {
		v := imported(t, Options{}, printed(t, name)).View
		var list events.List
		for a := range history.Attribute(v.Len()) {
			for in, err := range v.Range(a, v.Start(), v.End(), history.RangeOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, events.Event{At: in.Start, N: int(a), Value: in.Value})
			}
		}
		slices.SortStableFunc(list, func(a, b events.Event) int { return int(a.At - b.At) })
		path := func(n int) []string { return strings.Split(pathOf(t, v, history.Attribute(n)), "|") }
		h, err := partial.Build(t.Context(), list, events.Provider(path, nil), partial.Options{Start: v.Start(), End: v.End(), Every: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if h.Intervals() > len(list)/4 {
			t.Errorf("%s: %d of %d intervals are kept", name, h.Intervals(), len(list))
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			events.Ask(t, 1, r, h, v, func() int64 {
				at := list[r.IntN(len(list))].At + r.Int64N(3) - 1
				return min(max(at, v.Start()), v.End())
			})
		}
	}
}

// imported returns the history of a text.
func imported(t testing.TB, o Options, text []byte) *trace.Recording {
	t.Helper()
	r, err := trace.Build(func(to trace.Target) error {
		_, err := o.Import(t.Context(), bytes.NewReader(text), to)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// printed returns the events of a recorded trace as babeltrace2 prints them.
func printed(t testing.TB, name string) []byte {
	t.Helper()
	cmd := exec.Command("babeltrace2", beside.CTF(t, name))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// pathOf returns the names of an attribute, parted by bars, because names of interrupts have slashes.
func pathOf(t testing.TB, v *history.View, a history.Attribute) string {
	t.Helper()
	var names []string
	for a != history.Top {
		name, err := v.Name(a)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		if a, err = v.Parent(a); err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(names)
	return strings.Join(names, "|")
}
