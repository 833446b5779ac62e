package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/postgres"
	"github.com/granarydb/granary/bench/trees/rectangles"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/ihs"
)

// others are the stores beside histories, on any intervals: those of no server, and, if there is one, those of a server.
func others(t *testing.T, f func(t *testing.T, p peer, seeds uint64)) {
	for _, p := range peers() {
		if p.name == "history" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			seeds := uint64(6)
			if p.server {
				seeds = uint64(effort.Part(3, 3))
				if _, err := postgres.Find(""); err != nil {
					t.Skip(err)
				}
			}
			f(t, p, seeds)
		})
	}
}

// filled returns a store of a folder, or in memory, with the intervals. The test closes it.
func filled(t *testing.T, p peer, dir string, all []block.Interval) store {
	t.Helper()
	st, err := p.make(&intervals{set: &ihs.Set{Header: ihs.Header{Start: all[0].Start - 1000}}}, options{Dir: dir, Most: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := st.Load(all); err != nil {
		t.Fatal(err)
	}
	return st
}

// Every store gives the oracle's answers when it is loaded and after a restart, trees also from a file. A server's
// CPU time counts.
func TestStores(t *testing.T) {
	others(t, func(t *testing.T, p peer, seeds uint64) {
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed, 11))
			keys := 1 + rng.IntN(1<<rng.IntN(9))
			o := recording(rng, keys, 1000+rng.IntN(4000), rng.Int64N(1000)-500, longest)
			dir := os.TempDir() // a server's user cannot reach the test's own directory
			if seed%2 == 0 && !p.server {
				dir = ""
			}
			st := filled(t, p, dir, o)
			before, err := st.CPU()
			if err != nil {
				t.Fatal(err)
			}
			ask(t, fmt.Sprintf("seed %d, loaded", seed), rng, st, o, keys, 32)
			after, err := st.CPU()
			if err != nil || (after > before) != p.server {
				t.Errorf("others used %v before the questions and %v after them, %v", before, after, err)
			}
			if size, err := st.Bytes(); err != nil || size < int64(len(o)) {
				t.Fatalf("seed %d: %d bytes, %v, of %d intervals", seed, size, err, len(o))
			}
			if err := st.Reopen(); err != nil {
				t.Fatal(err)
			}
			ask(t, fmt.Sprintf("seed %d, opened", seed), rng, st, o, keys, 32)
		}
	})
}

// full is what stores say of a second load.
var full = map[string]error{
	"rtree": rectangles.ErrFull, "PG GiST": postgres.ErrFull, "PG B-tree": postgres.ErrFull,
}

// Times of a clock, keys far apart and values at their bounds come back. A store is loaded once.
func TestStores_Bounds(t *testing.T) {
	const now = 1_800_000_000_000_000_000
	o := oracle{
		{Key: 0, Start: now, End: now, Kind: block.Long, Word: 1 << 63},
		{Key: math.MaxInt32, Start: now, End: now + 1, Kind: block.Float, Word: math.Float64bits(math.NaN())},
		{Key: 0, Start: now + 1, End: now + 1e15, Kind: block.String, Text: []byte("\x00\xff'")},
		{Key: math.MaxInt32, Start: now + 2, End: now + 1e15, Kind: block.String, Text: make([]byte, longest)},
		{Key: 7, Start: now, End: now + 1e15},
	}
	others(t, func(t *testing.T, p peer, _ uint64) {
		if full[p.name] == nil {
			return // trees have a set of bits for all keys of a question
		}
		st := filled(t, p, os.TempDir(), o)
		for _, in := range o {
			for _, at := range []int64{in.Start, in.End, in.Start + (in.End-in.Start)/2, math.MinInt64, math.MaxInt64, now - 1} {
				got, found, err := st.Single(in.Key, at)
				want, is := o.single(in.Key, at)
				if err != nil || found != is || found && text(got) != text(want) {
					t.Errorf("key %d at %d: %+v, %v, %v; want %+v, %v", in.Key, at, got, found, err, want, is)
				}
			}
		}
		var got []string
		times := []int64{now + 5, math.MinInt64, now, now}
		err := st.Plane([]uint32{7, math.MaxInt32, 7, 9}, times, func(in block.Interval) { got = append(got, text(in)) })
		same(t, p.name, got, o.where(plane([]uint32{7, math.MaxInt32}, times)), err)
		if err := st.Load(oracle{{Key: 2, Start: now, End: now}}); !errors.Is(err, full[p.name]) {
			t.Errorf("second load: %v", err)
		}
		if _, found, err := st.Single(2, now); found || err != nil {
			t.Errorf("the second load left something: %v, %v", found, err)
		}
	})
}

// What is refused is named.
func TestStores_Errors(t *testing.T) {
	if err := new(rectangles.Store).Load(oracle{{Start: -1 << 62, End: 0}}); !errors.Is(err, rectangles.ErrRange) {
		t.Errorf("a range of 2^62: %v", err)
	}
	if _, err := postgres.New(t.TempDir(), "", postgres.GiST); !errors.Is(err, postgres.ErrAbsent) {
		t.Errorf("a folder without programs: %v", err)
	}
}

// wrongStore is an oracle that is wrong in one way.
type wrongStore struct {
	oracle
	way string
}

func (w wrongStore) Single(key uint32, at int64) (block.Interval, bool, error) {
	in, found := w.single(key, at)
	if w.way == "value" {
		in.Word++
	}
	return in, found && w.way != "absent", nil
}

func (w wrongStore) Full(at int64, f func(block.Interval)) error {
	for i, in := range slices.DeleteFunc(slices.Clone(w.oracle), func(in block.Interval) bool { return in.Start > at || at > in.End }) {
		if i == 3 && w.way == "end" {
			in.End++
		}
		f(in)
	}
	return nil
}

func (w wrongStore) Plane(keys []uint32, times []int64, f func(block.Interval)) error {
	is, twice := plane(keys, times), w.way == "twice"
	for _, in := range w.oracle {
		if is(in) {
			f(in)
			if twice {
				f(in)
				twice = false
			}
		}
	}
	return nil
}

// The check before the figures takes right answers, and finds each kind of wrong ones.
func TestCheck(t *testing.T) {
	s, err := openSet("synth:20:30")
	if err != nil {
		t.Fatal(err)
	}
	for way, want := range map[string]string{
		"": "", "value": "want {", "absent": "want {", "end": "all at", "twice": "2D query",
	} {
		err := s.check(wrongStore{s.all, way})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", way, err)
		}
	}
}

// A history's values have the form of the others, but for the width of whole numbers.
func TestHistory_Interval(t *testing.T) {
	for _, c := range []struct {
		value history.Value
		want  block.Interval
	}{
		{history.Value{}, block.Interval{Kind: block.Null}},
		{history.Int(-1), block.Interval{Kind: block.Int, Word: math.MaxUint64}},
		{history.Float(1), block.Interval{Kind: block.Float, Word: math.Float64bits(1)}},
		{history.String("a"), block.Interval{Kind: block.String, Text: []byte("a")}},
	} {
		c.want.Key, c.want.Start, c.want.End = 3, 4, 5
		var got, want digest
		got.add(interval(3, history.Interval{Start: 4, End: 5, Value: c.value}))
		want.add(c.want)
		if got != want {
			t.Errorf("%v is not %+v", c.value, c.want)
		}
	}
}

func TestSpread(t *testing.T) {
	for want, values := range map[string][]float64{
		"2.00 ±50%": {1, 3, 2}, "0.0123": {0.0123}, "1234": {1234, 1234}, "12.3": {12.34},
	} {
		s := summary{Figures: map[string]results.Spread{"a": results.SpreadOf(values)}}
		if got := s.spread("a"); got != want {
			t.Errorf("%v: %q, want %q", values, got, want)
		}
	}
}
