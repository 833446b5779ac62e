package server

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/server/internal/page"
)

// TestPage_Lines compares how many attributes were in each state with counts of instants.
func TestPage_Lines(t *testing.T) {
	for seed := range uint64(4) {
		m := newMadeStates(t, 80+seed, Options{})
		rng := rand.New(rand.NewPCG(seed, 6))
		for range 6 {
			from := m.start - 300 + rng.Int64N(m.end-m.start)
			to := from + 50 + rng.Int64N(m.end-from+300)
			var got page.LinesAnswer
			m.get("histories/threads/lines", &got, "p", "Threads/{tid}", "from", instant(from), "to", instant(to), "pixels", fmt.Sprint(1+rng.IntN(90)))
			lo, hi := max(from, m.start), min(to, m.end)
			if hi <= lo {
				if got.From != "" || len(got.Counts) != 0 {
					t.Errorf("%+v, want nothing", got)
				}
				continue
			}
			if got.From != instant(lo) || got.To != instant(hi) || got.Attributes != 13 || got.Pixels < 1 || len(got.Counts) != len(got.States) {
				t.Fatalf("%s to %s, %d attributes, %d pixels, %d lines of %d states", got.From, got.To, got.Attributes, got.Pixels, len(got.Counts), len(got.States))
			}
			m.compareLines(&got, lo, hi)
		}
	}
}

func (m *madeStates) compareLines(got *page.LinesAnswer, from, to int64) {
	m.t.Helper()
	want := map[string][]float64{}
	n := to - from
	for _, path := range m.paths {
		if path == "Count" {
			continue
		}
		for i, pixel := range m.pixelOracle(path, from, to, got.Pixels) {
			length := from + int64(i+1)*n/int64(got.Pixels) - (from + int64(i)*n/int64(got.Pixels))
			for state, time := range pixel {
				if want[state] == nil {
					want[state] = make([]float64, got.Pixels)
				}
				want[state][i] += float64(time) / float64(length)
			}
		}
	}
	delete(want, "null")
	if len(want) != len(got.States) {
		m.t.Errorf("%d states, want %d", len(got.States), len(want))
	}
	for line, state := range got.States {
		for i, v := range got.Counts[line] {
			if math.Abs(v-want[state.State][i]) > 1e-9 {
				m.t.Fatalf("%s, pixel %d of %d: %v, want %v", state.State, i, got.Pixels, v, want[state.State][i])
			}
		}
	}
}

// TestPage_LinesLimits refuses questions that cost too much.
func TestPage_LinesLimits(t *testing.T) {
	m := newMadeStates(t, 81, Options{})
	for _, test := range []struct {
		parameters []string
		status     int
	}{
		{[]string{"p", "Threads/{tid}", "pixels", "0"}, 422},
		{[]string{"p", "Threads/{tid}", "pixels", "4097"}, 422},
		{nil, 400},
		{[]string{"p", "Threads/{tid}", "rows", "1"}, 400},
	} {
		if status, text, _ := m.page("histories/threads/lines", nil, test.parameters...); status != test.status {
			t.Errorf("%q: status %d, want %d: %s", test.parameters, status, test.status, text)
		}
	}
}
