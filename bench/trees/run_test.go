package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/postgres"
	"github.com/granarydb/granary/bench/trees/rectangles"
	"github.com/granarydb/granary/internal/ihs"
)

// varied saves a set with values of all kinds that sets have, and returns its name.
func varied(t *testing.T) string {
	const keys, start = 100, -500
	o := recording(rand.New(rand.NewPCG(3, 11)), keys, 6000, start, longest)
	s := ihs.Set{
		Header:     ihs.Header{Keys: keys, Intervals: len(o), Start: start, End: o[len(o)-1].End},
		Attributes: ihs.Synth{Attributes: keys}.Names(),
	}
	for i := range o {
		in := &o[i]
		if of := [...]block.Kind{block.Long, block.Float, block.String}[in.Key%3]; in.Kind != of && (of != block.Long || in.Kind != block.Int) {
			*in = block.Interval{Start: in.Start, End: in.End, Key: in.Key} // an attribute of a history has one kind
		}
		if in.Kind == block.String {
			in.Word, s.Texts = uint64(len(s.Texts)), append(s.Texts, string(in.Text))
		}
		s.Keys, s.Starts, s.Ends = append(s.Keys, in.Key), append(s.Starts, in.Start), append(s.Ends, in.End)
		s.Kinds, s.Words = append(s.Kinds, ihs.Kind(in.Kind)), append(s.Words, in.Word)
	}
	name := filepath.Join(t.TempDir(), "varied")
	save(t, name+ihs.IntervalsSuffix, func(w io.Writer) error { return s.Write(w, nil) })
	save(t, name+ihs.AttributesSuffix, func(w io.Writer) error { return ihs.WriteAttributes(w, s.Attributes) })
	return name
}

// save writes a compressed file.
func save(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if err := errors.Join(write(z), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// The command measures all stores, in memory and on disk, and checks the answers. It has both layouts of PostgreSQL, or
// says that they are skipped. A tree that grows without bound is given up, and the table says so.
func TestRun(t *testing.T) {
	row := func(name string) string { return `(?m)^ *varied +` + name + ` +[0-9]+ ` }
	server := []string{row("rtree"), row("PG GiST"), row("PG B-tree")}
	if postgres.Find(postgres.Installed) != nil {
		server = []string{row("rtree"), "PG GiST and PG B-tree are skipped: " + postgres.ErrAbsent.Error()}
	}
	all := append([]string{"history", "rtree"}, trees...)
	var rows []string
	for _, name := range all {
		rows = append(rows, row(name))
	}
	set, names := varied(t), strings.Join(all, ",")
	for _, c := range []struct {
		options
		want []string
	}{
		{options{sets: set, only: names, Most: 1 << 30}, rows},
		{options{sets: set, only: names, Most: 1 << 30, Dir: t.TempDir(), Views: true}, rows},
		{options{sets: set, only: "PG GiST,PG B-tree,rtree", Most: 1 << 30}, server},
		{options{sets: "synth:1000:20", only: "SHT", Most: 1 << 17}, []string{"SHT +stopped after [0-9]+ "}},
	} {
		var out strings.Builder
		c.repeat = 1
		if err := run(&out, c.options); err != nil {
			t.Fatal(err)
		}
		for _, text := range c.want {
			if !regexp.MustCompile(text).MatchString(out.String()) {
				t.Errorf("%q is not in\n%s", text, out.String())
			}
		}
	}
}

// The JSON has each figure of each store, the median between the lowest and the highest.
func TestRun_JSON(t *testing.T) {
	var out strings.Builder
	if err := run(&out, options{sets: "synth:100:60", only: "eSHT,history,rtree", repeat: 2, Most: 1 << 30, json: true}); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"eSHT": len(measured), "history": 7, "rtree": 7} // without nodes
	if len(got.Sets) != 1 || len(got.Sets["synth:100:60"]) != len(want) {
		t.Fatalf("%+v", got.Sets)
	}
	for name, s := range got.Sets["synth:100:60"] {
		if s.Intervals != 6099 || len(s.Figures) != want[name] {
			t.Errorf("%s: %+v", name, s)
		}
		for key, f := range s.Figures {
			if got.Keys[key] == "" || f.Low <= 0 || f.Median < f.Low || f.Median > f.High {
				t.Errorf("%s: %s is %+v", name, key, f)
			}
		}
	}
}

func TestRun_Errors(t *testing.T) {
	for want, o := range map[string]options{
		"no-such-file": {sets: "no-such-file", only: "eSHT"}, `"eSTH"`: {sets: "synth:10:10", only: "eSTH"}, "KiB": {sets: "synth:10:10", only: "SHT@16"},
	} {
		if o.repeat = 1; run(&strings.Builder{}, o) == nil {
			t.Errorf("%s is no error", want)
		}
	}
}

// Times of a clock, keys far apart and values at their bounds come back from the stores that are no trees, which have a
// set of bits for all keys of a question. What no interval has is not found. A server's CPU time counts. A set that the
// R-tree's numbers cannot hold is refused.
func TestStores_Bounds(t *testing.T) {
	const now = 1_800_000_000_000_000_000
	o := oracle{
		{Key: 0, Start: now, End: now, Kind: block.Long, Word: 1 << 63},
		{Key: math.MaxInt32, Start: now, End: now + 1, Kind: block.Float, Word: math.Float64bits(math.NaN())},
		{Key: 0, Start: now + 1, End: now + 1e15, Kind: block.String, Text: []byte("\x00\xff'")},
		{Key: math.MaxInt32, Start: now + 2, End: now + 1e15, Kind: block.String, Text: make([]byte, longest)},
		{Key: 7, Start: now, End: now + 1e15, Kind: block.Bool, Word: 1},
	}
	for _, p := range peers()[len(trees)+1:] {
		t.Run(p.name, func(t *testing.T) {
			if err := postgres.Find(postgres.Installed); p.server && err != nil {
				t.Skip(err)
			}
			st, err := p.make(nil, options{Dir: os.TempDir()}) // a server's user cannot reach the test's own directory
			if err != nil {
				t.Fatal(err)
			}
			err = st.Load(o)
			for i, at := range []int64{now, now + 1, now + 5e14, now + 1e15, now - 1, now + 1e15 + 1, math.MinInt64, math.MaxInt64} {
				want := []*block.Interval{&o[1], &o[1], &o[3], &o[3], nil, nil, nil, nil}[i]
				err = errors.Join(err, o.checkFull(st, at), checkSingle(st, math.MaxInt32, at, want), checkSingle(st, 2, at, nil))
			}
			_, plane := o.checkPlane(st, []uint32{7, math.MaxInt32, 7, 9}, []int64{now + 5, math.MinInt64, now, now})
			_, none := o.checkPlane(st, nil, []int64{now})
			used, unread := st.CPU()
			if (used > 0) != p.server {
				t.Errorf("other processes used %v", used)
			}
			if err := errors.Join(err, plane, none, unread, st.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	if err := new(rectangles.Store).Load(oracle{{Start: -1 << 62, End: 0}}); !errors.Is(err, rectangles.ErrRange) {
		t.Errorf("a range of 2^62: %v", err)
	}
}

// wrong is a store that is wrong in one way.
type wrong struct {
	answers
	way string
}

func (w wrong) Single(key uint32, at int64) (block.Interval, bool, error) {
	in, found, err := w.answers.Single(key, at)
	if w.way == "value" {
		in.Word++
	}
	return in, found && w.way != "absent", err
}

func (w wrong) Full(at int64, f func(block.Interval)) error {
	n := 0
	return w.answers.Full(at, func(in block.Interval) {
		if n++; n == 3 && w.way == "end" {
			in.End++
		}
		f(in)
	})
}

func (w wrong) Plane(keys []uint32, times []int64, f func(block.Interval)) error {
	n := 0
	return w.answers.Plane(keys, times, func(in block.Interval) {
		if n++; n == 3 && w.way == "twice" {
			f(in)
		}
		f(in)
	})
}

// The check before the figures takes right answers, and finds each kind of wrong ones.
func TestCheck(t *testing.T) {
	s, err := openSet("synth:20:30")
	if err != nil {
		t.Fatal(err)
	}
	var right rectangles.Store
	if err := right.Load(s.all); err != nil {
		t.Fatal(err)
	}
	for way, want := range map[string]string{
		"": "", "value": "key ", "absent": "key ", "end": "all at", "twice": "2D query",
	} {
		err := s.check(wrong{&right, way})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", way, err)
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
