package stats

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/granarydb/granary/history"
)

// woken returns a history in which goroutine 2 wakes goroutine 1 at 5 and at 40, a timer wakes it at 20, and goroutine 9,
// which the history does not have, at 60. Goroutine 2 has no waker.
func woken(t *testing.T) *history.View {
	t.Helper()
	h, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	set := func(at int64, v history.Value, path ...string) {
		a, err := tx.Attribute(append([]string{"Goroutines"}, path...)...)
		if err == nil {
			err = tx.Change(at, a, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	set(0, history.String("running"), "2")
	for i, by := range []history.Value{history.Int(2), {}, history.Int(2), history.Int(9)} {
		at := int64(20 * i)
		set(at, history.String("waiting (sync)"), "1")
		set(at+5, by, "1", wakerChild)
		set(at+5, history.String("runnable"), "1")
		set(at+9, history.String("running"), "1")
	}
	set(80, history.String("waiting"), "1")
	set(81, history.Value{}, "1") // it ends without being woken
	v, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestWakes finds the ends of waits, and what caused them, in a range.
func TestWakes(t *testing.T) {
	v := woken(t)
	one, err := v.Lookup("Goroutines", "1")
	if err != nil {
		t.Fatal(err)
	}
	two, err := v.Lookup("Goroutines", "2")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		from, to int64
		want     string
	}{
		{0, 81, fmt.Sprint([]Wake{{5, two}, {25, history.Top}, {45, two}, {65, history.Top}})},
		{22, 45, fmt.Sprint([]Wake{{25, history.Top}, {45, two}})},
		{25, 44, fmt.Sprint([]Wake(nil))}, // the wait ended before
		{24, 44, fmt.Sprint([]Wake{{25, history.Top}})},
	} {
		var got []Wake
		for w, err := range Wakes(v, one, test.from, test.to) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, w)
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("from %d to %d: %v, want %s", test.from, test.to, got, test.want)
		}
	}
	if Wakes(v, two, 0, 81) != nil {
		t.Error("goroutine 2 has wakes")
	}
	for w, err := range Wakes(v, one, 0, 81) { // it ends when its caller does
		if w.At != 5 || err != nil {
			t.Errorf("%v, %v", w, err)
		}
		break
	}
	for _, err := range Wakes(v, one, 82, 10) {
		if !errors.Is(err, history.ErrQuery) {
			t.Errorf("a range that goes back: %v", err)
		}
	}
}

// TestOf_Waker: waits by what ended them, and other states with the key null.
func TestOf_Waker(t *testing.T) {
	v := woken(t)
	attributes := make([]history.Attribute, 2)
	for i := range attributes {
		var err error
		if attributes[i], err = v.Lookup("Goroutines", fmt.Sprint(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	by, err := ParseCriteria("waker,state")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		from, to int64
		want     map[string]int // intervals by waker and state
	}{
		{0, 81, map[string]int{
			"2 waiting (sync)": 2, NoWaker + " waiting (sync)": 1, "9 waiting (sync)": 1, " waiting": 1, " runnable": 4, " running": 5,
		}},
		{0, 44, map[string]int{"2 waiting (sync)": 2, NoWaker + " waiting (sync)": 1, " runnable": 2, " running": 3}},                       // what ended the last one is behind the range
		{0, 42, map[string]int{"2 waiting (sync)": 1, NoWaker + " waiting (sync)": 1, " waiting (sync)": 1, " runnable": 2, " running": 3}}, // it goes on there
		{22, 45, map[string]int{NoWaker + " waiting (sync)": 1, "2 waiting (sync)": 1, " runnable": 2, " running": 2}},
	} {
		groups, err := Of(t.Context(), v.Names, view{v}, Question{Attributes: attributes, From: test.from, To: test.to, End: v.End(), By: by})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, g := range groups {
			waker := ""
			switch k := g.Keys[0]; k.Kind() {
			case history.KindInt:
				waker = fmt.Sprint(k.Int())
			case history.KindString:
				waker = k.Text()
			}
			got[waker+" "+g.Keys[1].Text()] = g.Count
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%d to %d: %v, want %v", test.from, test.to, got, test.want)
		}
	}
}
