package main

import (
	"fmt"
	"slices"

	"github.com/granarydb/granary/bench/trees/block"
)

// The views of R-SHT 7.2, of which the paper does not say how many pixels and threads they have.
const (
	viewPixels  = 1000
	viewThreads = 50 // that a zoom shows
	zooms       = 10 // each halves the time that is shown
	scrolls     = 10 // of the last zoom, from the beginning to the end
)

// strategy is a way to ask a tree for what a view shows.
type strategy struct {
	key string
	ask func(t *treeStore) (answers int, err error)
}

// views measures the strategies for the views of Table III, if the set has threads, and for the sparse set
// of figure 18. The answers to one view are the same for each store, which the caller compares.
func (s *intervals) views(t *treeStore, values map[string]float64) error {
	h := s.set.Header
	all := []strategy{
		{"sparse_single", singles(s.some, s.times, false)},
		{"sparse_full", s.fulls(s.times)},
		{"sparse_2d", planeOf(s.some, s.times)},
	}
	if tree := s.processes(); len(tree) > 0 {
		px := instants(h.Start, h.End, viewPixels)
		all = append(all,
			strategy{"pstree_single", singles(tree, []int64{h.Start + (h.End-h.Start)/2}, false)},
			strategy{"pstree_full", s.fulls(px)},
			strategy{"pstree_2d", planeOf(tree, px)},
			strategy{"zoom_single", s.zoom(func(px []int64) func(*treeStore) (int, error) { return singles(s.shown(), px, true) })},
			strategy{"zoom_full", s.zoom(s.fulls)},
			strategy{"zoom_2d", s.zoom(func(px []int64) func(*treeStore) (int, error) { return planeOf(s.shown(), px) })})
	}
	for _, one := range all {
		before := t.Searched()
		var n int
		took, err := cost(t, func() (err error) { n, err = one.ask(t); return err })
		if err != nil {
			return fmt.Errorf("%s: %w", one.key, err)
		}
		if n == 0 {
			return fmt.Errorf("%s: no answers", one.key)
		}
		values[one.key+"_ms"], values[one.key+"_nodes"] = took.Seconds()*1e3, float64(t.Searched()-before)
	}
	return nil
}

// processes returns the keys of the process tree: PPID and Exec_name of each thread.
func (s *intervals) processes() (keys []uint32) {
	for key, a := range s.set.Attributes {
		if a.Name == "PPID" || a.Name == "Exec_name" {
			keys = append(keys, uint32(key))
		}
	}
	return keys
}

// shown returns the threads of a zoom.
func (s *intervals) shown() []uint32 { return s.kind[:min(viewThreads, len(s.kind))] }

// singles asks for each key at each time alone, or only at the times that the answer before does not reach.
func singles(keys []uint32, times []int64, skip bool) func(*treeStore) (int, error) {
	return func(t *treeStore) (n int, err error) {
		for _, key := range keys {
			for i := 0; i < len(times); n++ {
				in, found, err := t.Single(key, times[i])
				if err != nil || !found {
					return n, fmt.Errorf("key %d at %d: found %v, %w", key, times[i], found, err)
				}
				i++
				if skip {
					reached, is := slices.BinarySearch(times[i:], in.End)
					if i += reached; is {
						i++
					}
				}
			}
		}
		return n, nil
	}
}

// fulls asks for all keys at each time.
func (s *intervals) fulls(times []int64) func(*treeStore) (int, error) {
	return func(t *treeStore) (n int, err error) {
		for _, at := range times {
			if err := t.Full(at, func(block.Interval) { n++ }); err != nil {
				return n, err
			}
		}
		return n, nil
	}
}

// planeOf asks one 2D question.
func planeOf(keys []uint32, times []int64) func(*treeStore) (int, error) {
	return func(t *treeStore) (n int, err error) {
		err = t.Plane(keys, times, func(block.Interval) { n++ })
		return n, err
	}
}

// zoom shows the whole time, zooms in, and scrolls from the beginning to the end.
func (s *intervals) zoom(view func(px []int64) func(*treeStore) (int, error)) func(*treeStore) (int, error) {
	h := s.set.Header
	return func(t *treeStore) (n int, err error) {
		show := func(start, span int64) error {
			more, err := view(instants(start, start+span, viewPixels))(t)
			n += more
			return err
		}
		span := h.End - h.Start
		for range zooms + 1 {
			if err := show(h.Start+(h.End-h.Start-span)/2, span); err != nil {
				return n, err
			}
			span = max(viewPixels, span/2)
		}
		for i := range int64(scrolls) {
			if err := show(h.Start+(h.End-h.Start-span)/(scrolls-1)*i, span); err != nil {
				return n, err
			}
		}
		return n, nil
	}
}

// ranges counts the nodes of a closed tree by the share of all keys from their least to their greatest key,
// in tenths (R-SHT figure 8).
func (t *treeStore) ranges(keys int) ([]int, error) {
	all := make([]int, 10)
	err := t.Walk(func(n *block.Node) {
		if b := n.Box(); b.Low <= b.High {
			all[min(9, int(int64(b.High-b.Low)*10/int64(keys)))]++
		}
	})
	return all, err
}
