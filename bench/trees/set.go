package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/internal/ihs"
)

// intervals is a set with the questions that every store is asked.
type intervals struct {
	name       string // of the file, or of what is made up
	set        *ihs.Set
	all        []block.Interval
	singles    []int    // intervals that are asked for
	at         []int64  // instants of singles and of full queries
	some, kind []uint32 // keys of 2D queries
	times      []int64  // instants of 2D queries
	answers    [2]int   // of some and kind at the times
}

// singleBatch and pixels are the numbers of questions in a measurement, and of instants.
const (
	singleBatch = 300
	pixels      = 2000
)

// setName is the name of a set in the table.
func setName(name string) string { return filepath.Base(name) }

func openSet(name string) (*intervals, error) {
	set, err := ihs.Open(name, ihs.Limits{})
	if err != nil {
		return nil, err
	}
	s := &intervals{name: name, set: set}
	s.all = make([]block.Interval, set.Len())
	for i := range s.all {
		in := set.At(i)
		s.all[i] = block.Interval{Start: in.Start, End: in.End, Key: in.Key, Kind: block.Kind(in.Kind)}
		if in.Kind == ihs.KindString {
			s.all[i].Text = []byte(in.Text)
		} else {
			s.all[i].Word = in.Word
		}
	}
	s.ask()
	return s, nil
}

// ask draws the questions, and counts the answers to those of 2D.
func (s *intervals) ask() {
	rng := rand.New(rand.NewPCG(1, 2))
	h := s.set.Header
	for range singleBatch {
		i := rng.IntN(len(s.all))
		s.singles = append(s.singles, i)
		s.at = append(s.at, s.all[i].Start+rng.Int64N(s.all[i].End-s.all[i].Start+1))
	}
	for range min(100, h.Keys) {
		s.some = append(s.some, rng.Uint32N(uint32(h.Keys)))
	}
	slices.Sort(s.some)
	s.some = slices.Compact(s.some)
	s.kind = s.threads()
	for i := range int64(pixels) {
		s.times = append(s.times, h.Start+(h.End-h.Start)/(pixels-1)*i)
	}
	for i, keys := range [][]uint32{s.some, s.kind} {
		s.each(s.inPlane(keys), func(block.Interval) { s.answers[i]++ })
	}
}

// threads returns the keys of Threads/*, or the first eighth of the keys.
func (s *intervals) threads() []uint32 {
	var keys []uint32
	top := slices.IndexFunc(s.set.Attributes, func(a ihs.Attribute) bool { return a.Parent < 0 && a.Name == "Threads" })
	for key := range s.set.Header.Keys {
		if top >= 0 && s.set.Attributes[key].Parent == top || top < 0 && key < s.set.Header.Keys/8 {
			keys = append(keys, uint32(key))
		}
	}
	return keys
}

// wrong compares an answer to a single query with the set.
func (s *intervals) wrong(i int, start, end int64) error {
	if want := s.all[s.singles[i]]; start != want.Start || end != want.End {
		return fmt.Errorf("key %d at %d is from %d to %d, want %d to %d", want.Key, s.at[i], start, end, want.Start, want.End)
	}
	return nil
}
