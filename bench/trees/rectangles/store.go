package rectangles

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tidwall/rtree"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/query"
)

// ErrRange means that the times are too far apart for the numbers of the tree.
var ErrRange = errors.New("times are too far apart")

// stretch is the length of all keys, in lengths of the history.
const stretch = 10

// most is the longest history. Numbers of 64 bits with a point are exact up to it.
const most = 1 << 53

// value is what the tree has of a rectangle.
type value struct {
	word uint64 // a number, or the place of a string
	key  uint32
	kind block.Kind
}

// Store is an R-tree in memory. The zero value is empty. It is not safe for concurrent use.
type Store struct {
	all   []block.Interval
	tree  rtree.RTreeGN[float64, value]
	start int64 // of the history: time 0 of the tree
	end   int64
	scale float64 // of keys
	texts [][]byte
}

// Load stores all intervals, at least one, in their order. It is called once.
func (s *Store) Load(all []block.Interval) error {
	first, last, key := all[0].Start, all[0].End, uint32(0)
	for i := range all {
		first, last, key = min(first, all[i].Start), max(last, all[i].End), max(key, all[i].Key)
	}
	if uint64(last)-uint64(first) > most {
		return fmt.Errorf("rectangles: from %d to %d: %w", first, last, ErrRange)
	}
	s.all, s.start, s.end, s.scale = all, first, last, stretch*float64(last-first+1)/float64(key+1)
	places := map[string]uint64{} // of strings, each of which is kept once
	for i := range all {
		in := &all[i]
		v := value{word: in.Word, key: in.Key, kind: in.Kind}
		if in.Kind == block.String {
			place, known := places[string(in.Text)]
			if !known {
				place = uint64(len(s.texts))
				s.texts, places[string(in.Text)] = append(s.texts, slices.Clone(in.Text)), place
			}
			v.word = place
		}
		at := s.scale * float64(in.Key)
		s.tree.Insert(s.corner(at, in.Start), s.corner(at, in.End), v)
	}
	return nil
}

// Bytes returns what the live heap loses with the tree, which is loaded again when it is reopened.
func (s *Store) Bytes() (int64, error) {
	with := measure.Heap()
	*s = Store{all: s.all}
	return with - measure.Heap(), nil
}

// Reopen loads the intervals again, because the tree has no file.
func (s *Store) Reopen() error {
	*s = Store{all: s.all}
	return s.Load(s.all)
}

// corner returns a place of the tree. Times outside of the history are just outside of it.
func (s *Store) corner(at float64, t int64) [2]float64 {
	return [2]float64{at, float64(min(max(t, s.start-1), s.end+1) - s.start)}
}

// interval returns the interval of a rectangle.
func (s *Store) interval(low, high [2]float64, v value) block.Interval {
	in := block.Interval{
		Start: s.start + int64(low[1]), End: s.start + int64(high[1]),
		Key: v.key, Kind: v.kind, Word: v.word,
	}
	if v.kind == block.String {
		in.Word, in.Text = 0, s.texts[v.word]
	}
	return in
}

// Single returns the interval of a key at a time; false means that there is none.
func (s *Store) Single(key uint32, at int64) (in block.Interval, found bool, err error) {
	place := s.corner(s.scale*float64(key), at)
	s.tree.Search(place, place, func(low, high [2]float64, v value) bool {
		in, found = s.interval(low, high, v), true
		return false
	})
	return in, found, nil
}

// Full calls f for the interval of each key at a time, in no order.
func (s *Store) Full(at int64, f func(block.Interval)) error {
	low, high := s.tree.Bounds()
	s.tree.Search(s.corner(low[0], at), s.corner(high[0], at), func(low, high [2]float64, v value) bool {
		f(s.interval(low, high, v))
		return true
	})
	return nil
}

// Plane calls f once for each interval of the keys that is there at one of the times, in no
// order.
func (s *Store) Plane(keys []uint32, times []int64, f func(block.Interval)) error {
	if len(keys) == 0 || len(times) == 0 {
		return nil
	}
	plane := query.NewPlane(keys, times)
	first, last := slices.Min(times), slices.Max(times)
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		at := s.scale * float64(key)
		s.tree.Search(s.corner(at, first), s.corner(at, last), func(low, high [2]float64, v value) bool {
			if in := s.interval(low, high, v); plane.At(in.Key, in.Start, in.End) {
				f(in)
			}
			return true
		})
	}
	return nil
}
