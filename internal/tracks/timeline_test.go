package tracks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/heldtest"
	"github.com/granarydb/granary/trace"
)

// held is an interval of an attribute that is not null.
type held = heldtest.Held

// written writes a set, and returns all that is not null, by path and time.
func written(t heldtest.T, s *Timeline) ([]held, trace.Outcome, *history.View) {
	t.Helper()
	view, outcome, err := heldtest.Imported(func(ctx context.Context, _ io.Reader, to trace.Target) (trace.Outcome, error) {
		return s.WriteTo(ctx, to)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return heldtest.All(t, view), outcome, view
}

// TestSet_Layout shows the attributes of nested, touching and overlapping slices, instants and counters.
func TestSet_Layout(t *testing.T) {
	s := New()
	thread := s.Add(s.Child(Outermost, "Threads"))
	s.Rename(thread, "main 7")
	other := s.Add(s.Child(Outermost, "Threads"))
	s.Rename(other, "main 7") // which is twice
	l := s.Nest(thread)
	text := func(name string) Text { return s.Text([]byte(name)) }
	s.Slice(l, text("inner"), 12, 18)
	s.Slice(l, text("outer"), 10, 20)
	s.Slice(l, text("outer"), 20, 30) // touches one of its name
	s.Slice(l, text("across"), 25, 35)
	s.Slice(l, text("none"), 28, 28)
	s.Slice(l, text("none"), 30, 30) // behind its parent
	s.Slice(l, text("wrong"), 9, 8)
	s.Begin(l, text("late"), 36)
	s.End(l, text("unknown"), 37)
	s.Begin(s.Nest(other), 0, 33)
	instants := s.Nest(s.Instants(thread))
	s.Instant(instants, text("click"), 15)
	s.Instant(instants, text("hidden"), 15)
	s.Instant(instants, text("click"), 16)
	heap := s.Counter(s.Child(thread, "heap"))
	s.Count(heap, 38, 3)
	s.CountFloat(heap, 11, 1.5)
	s.CountFloat(heap, 12, math.NaN())
	s.Count(s.Counter(s.Child(Outermost, "n")), math.MinInt64, 1)
	got, outcome, view := written(t, s)
	want := []string{
		"Threads/main 7/1 10-19 outer", "Threads/main 7/1 20-29 outer", "Threads/main 7/1 36-38 late",
		"Threads/main 7/2 12-17 inner", "Threads/main 7/2 28-28 none",
		"Threads/main 7/heap 11-37 1.5", "Threads/main 7/heap 38-38 3",
		"Threads/main 7/instants 15-15 click", "Threads/main 7/instants 16-16 click",
		"Threads/main 7/lane 2/1 25-34 across", "Threads/main 7/lane 2/2 30-30 none",
		"Threads/main 7 (2)/1 33-38 unnamed",
	}
	slices.Sort(want)
	var lines []string
	for _, h := range got {
		lines = append(lines, h.String())
	}
	slices.Sort(lines)
	if !slices.Equal(lines, want) {
		t.Errorf("the history has\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if view.Start() != 10 || view.End() != 38 || outcome.End != 38 || !view.Closed() {
		t.Errorf("from %d to %d, %d", view.Start(), view.End(), outcome.End)
	}
	left := fmt.Sprint(outcome.LeftOut())
	if left != "[{ends of slices without a begin 1} {events at impossible times 1} {instants at the time of others 1} {slices that end before they begin 1} {values of counters that are no numbers 1}]" {
		t.Errorf("left out: %s", left)
	}
}

// TestSet_Random holds random slices to what a search over all of them says (T1, T2, T3).
func TestSet_Random(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New()
		names := []string{"a", "b", "c"}
		tracks := []Track{s.Child(Outermost, "x"), s.Child(Outermost, "y")}
		nests := []Nest{s.Nest(tracks[0]), s.Nest(tracks[1]), s.Nest(tracks[1])}
		var want []held
		var marks []mark
		n := rapid.IntRange(1, 60).Draw(t, "n")
		for i := range n {
			line := rapid.IntRange(0, 2).Draw(t, "line")
			name := rapid.IntRange(0, 2).Draw(t, "name")
			at := rapid.Int64Range(0, 40).Draw(t, "at")
			path := []string{"x", "y", "y"}[line]
			text := s.Text([]byte(names[name]))
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0, 1:
				d := rapid.Int64Range(0, 15).Draw(t, "duration")
				s.Slice(nests[line], text, at, at+d)
				want = append(want, held{Path: path, Start: at, End: at + max(d, 1) - 1, Value: names[name]})
			case 2:
				s.Begin(nests[line], text, at)
				marks = append(marks, mark{t: at, name: text, nest: Nest(line), order: uint32(i)})
			case 3:
				if rapid.Bool().Draw(t, "unnamed") {
					text = 0
				}
				s.End(nests[line], text, at)
				marks = append(marks, mark{t: at, name: text, nest: Nest(line), order: uint32(i), kind: ends})
			}
		}
		pairs, unmatched := slowMatch(marks)
		last := int64(-1)
		for _, h := range want {
			last = max(last, h.End)
		}
		for _, m := range marks {
			if m.kind == ends {
				m.t--
			}
			last = max(last, m.t)
		}
		for _, p := range pairs {
			h := held{Path: []string{"x", "y", "y"}[p[0].nest], Start: p[0].t, End: max(p[1].t-1, p[0].t), Value: s.String(p[0].name)}
			if p[1].nest == math.MaxUint32 {
				h.End = last
			}
			want = append(want, h)
		}
		if len(want) == 0 {
			if _, err := s.WriteTo(context.Background(), trace.Target{}); !errors.Is(err, ErrNoStates) {
				t.Fatal(err)
			}
			return
		}
		got, outcome, _ := written(t, s)
		checkNesting(t, got)
		for i := range got {
			got[i].Path = got[i].Path[:1]
		}
		sortHeld(got)
		sortHeld(want)
		if !slices.Equal(got, want) {
			t.Fatalf("the history has %v, want %v", got, want)
		}
		left := 0
		for _, l := range outcome.LeftOut() {
			left += l.Count
		}
		if left != unmatched {
			t.Fatalf("%v left out, want %d", outcome.LeftOut(), unmatched)
		}
	})
}

func sortHeld(h []held) {
	slices.SortFunc(h, func(a, b held) int { return cmp.Compare(a.String(), b.String()) })
}

// slowMatch pairs begins and ends one after the other. The end of an open slice has nest math.MaxUint32.
func slowMatch(marks []mark) (pairs [][2]mark, unmatched int) {
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.t, b.t) })
	isDone := make([]bool, len(marks))
	for i, end := range marks {
		if end.kind != ends {
			continue
		}
		found := false
		for j := i - 1; j >= 0 && !found; j-- {
			if b := marks[j]; b.kind != ends && !isDone[j] && b.nest == end.nest && (end.name == 0 || end.name == b.name) {
				pairs = append(pairs, [2]mark{b, end})
				isDone[j], found = true, true
			}
		}
		if !found {
			unmatched++
		}
	}
	for j, b := range marks {
		if b.kind != ends && !isDone[j] {
			pairs = append(pairs, [2]mark{b, {nest: math.MaxUint32}})
		}
	}
	return pairs, unmatched
}

// checkNesting checks that each slice at a level is within one at the level above.
func checkNesting(t *rapid.T, got []held) {
	for _, h := range got {
		at := strings.LastIndexByte(h.Path, '/')
		level := int(h.Path[at+1] - '0')
		if level == 1 {
			continue
		}
		above := fmt.Sprintf("%s/%d", h.Path[:at], level-1)
		if !slices.ContainsFunc(got, func(o held) bool { return o.Path == above && o.Start <= h.Start && o.End >= h.End }) {
			t.Fatalf("%v is within none at %s: %v", h, above, got)
		}
	}
}
