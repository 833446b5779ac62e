package main

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/ihs"
)

// intervals is a set with the questions that every store is asked.
type intervals struct {
	name       string // of the file, or of what is made up
	set        *ihs.Set
	all        oracle
	singles    []single
	some, kind []uint32 // keys of 2D queries
	times      []int64  // instants of 2D queries
	answers    [2]int   // of some and kind at the times, counted by check
}

// single is a question for one key at one instant, of which the set has an interval. The instants are
// those of full queries as well.
type single struct {
	key  uint32
	at   int64
	want int // the interval
}

// singleBatch and pixels are the numbers of questions in a measurement, and of instants.
const (
	singleBatch = 300
	pixels      = 2000
)

// withoutPID is the prefix of a set without the attributes PID, which the state system has had since the
// paper.
const withoutPID = "without-pid:"

// setName is the name of a set in the table.
func setName(name string) string {
	if path, has := strings.CutPrefix(name, withoutPID); has {
		return withoutPID + filepath.Base(path)
	}
	return filepath.Base(name)
}

func openSet(name string) (*intervals, error) {
	path, without := strings.CutPrefix(name, withoutPID)
	set, err := ihs.Open(path, ihs.Limits{})
	if err != nil {
		return nil, err
	}
	s := &intervals{name: path, set: set}
	keys := s.keep(without)
	for i := range set.Len() {
		in := set.At(i)
		if keys[in.Key] == gone {
			continue
		}
		one := block.Interval{Start: in.Start, End: in.End, Key: keys[in.Key], Kind: block.Kind(in.Kind), Word: in.Word}
		if in.Kind == ihs.KindString {
			one.Word, one.Text = 0, []byte(in.Text)
		}
		s.all = append(s.all, one)
	}
	s.ask()
	return s, nil
}

const gone = ^uint32(0)

// keep drops the attributes PID if they are not wanted, and returns the new key of each old one.
func (s *intervals) keep(without bool) []uint32 {
	keys, n := make([]uint32, s.set.Header.Keys), uint32(0)
	var left []ihs.Attribute
	for key, a := range s.set.Attributes {
		if keys[key] = gone; without && a.Name == "PID" {
			continue
		}
		if a.Parent >= 0 {
			a.Parent = int(keys[a.Parent])
		}
		keys[key] = n
		left = append(left, a)
		n++
	}
	s.set.Header.Keys, s.set.Attributes = len(left), left
	return keys
}

// ask draws the questions, and finds the answers. Keys and instants are uniform, as the model of R-SHT 4.4
// has them: a random interval would more often be of a busy key, and short.
func (s *intervals) ask() {
	rng := rand.New(rand.NewPCG(1, 2))
	h := s.set.Header
	of := map[uint32][]int{}
	for i := range singleBatch {
		q := single{key: rng.Uint32N(uint32(h.Keys)), at: h.Start + rng.Int64N(h.End-h.Start+1)}
		s.singles, of[q.key] = append(s.singles, q), append(of[q.key], i)
	}
	for i := range s.all {
		for _, q := range of[s.all[i].Key] {
			if at := s.singles[q].at; s.all[i].Start <= at && at <= s.all[i].End {
				s.singles[q].want = i
			}
		}
	}
	for range min(100, h.Keys) {
		s.some = append(s.some, rng.Uint32N(uint32(h.Keys)))
	}
	slices.Sort(s.some)
	s.some = slices.Compact(s.some)
	s.kind = s.threads()
	s.times = history.PixelTimes(h.Start, h.End, pixels)
}

// threads returns the keys of Threads/*, or the first eighth of the keys.
func (s *intervals) threads() []uint32 {
	top := slices.IndexFunc(s.set.Attributes, func(a ihs.Attribute) bool { return a.Parent < 0 && a.Name == "Threads" })
	var keys []uint32
	for key := range s.set.Header.Keys {
		if top >= 0 && s.set.Attributes[key].Parent == top || top < 0 && key < s.set.Header.Keys/8 {
			keys = append(keys, uint32(key))
		}
	}
	return keys
}
