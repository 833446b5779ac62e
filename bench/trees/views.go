package main

import (
	"fmt"
	"slices"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/history"
)

// The views of R-SHT 7.2, of which the paper does not say how many pixels and threads they have.
const (
	viewPixels  = 1000
	viewThreads = 50 // that a zoom shows
	zooms       = 10 // each halves the time that is shown
	scrolls     = 10 // of the last zoom, from the beginning to the end
)

// view is what a tree is asked for, in each of three ways.
type view struct {
	name    string
	keys    []uint32
	screens [][]int64 // the instants of each screen
	singles [][]int64 // those of single queries
	skip    bool      // single queries go on behind each answer
}

// views measures the views of Table III, if the set has threads, and the sparse set of figure 18.
func (s *intervals) views(t *treeStore, values map[string]float64) error {
	h := s.set.Header
	sparse, whole, zoom := [][]int64{s.times}, [][]int64{history.PixelTimes(h.Start, h.End, viewPixels)}, s.screens()
	all := []view{{"sparse", s.some, sparse, sparse, false}}
	if tree := s.processes(); len(tree) > 0 {
		middle := [][]int64{{h.Start + (h.End-h.Start)/2}}
		all = append(all, view{"pstree", tree, whole, middle, false}, view{"zoom", s.kind[:min(viewThreads, len(s.kind))], zoom, zoom, true})
	}
	for _, v := range all {
		for i, ask := range []func(*treeStore) (answers int, err error){v.single, v.full, v.plane} {
			key := v.name + [...]string{"_single", "_full", "_2d"}[i]
			before, n := t.Searched(), 0
			took, err := cost(t, func() (err error) { n, err = ask(t); return err })
			if err != nil || n == 0 {
				return fmt.Errorf("%s: %d answers, %w", key, n, err)
			}
			values[key+"_ms"], values[key+"_nodes"] = took.Seconds()*1e3, float64(t.Searched()-before)
		}
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

// screens are those of a zoom: the whole time, the middle of it, and then from the beginning to the end.
func (s *intervals) screens() (all [][]int64) {
	h := s.set.Header
	span := h.End - h.Start
	show := func(start int64) { all = append(all, history.PixelTimes(start, start+span, viewPixels)) }
	for range zooms + 1 {
		show(h.Start + (h.End-h.Start-span)/2)
		span = max(viewPixels, span/2)
	}
	for i := range int64(scrolls) {
		show(h.Start + (h.End-h.Start-span)/(scrolls-1)*i)
	}
	return all
}

// single asks for each key at each time alone, or only at the times that the answer before does not reach.
func (v view) single(t *treeStore) (n int, err error) {
	for _, times := range v.singles {
		for _, key := range v.keys {
			for i := 0; i < len(times); n++ {
				in, found, err := t.Single(key, times[i])
				if err != nil || !found {
					return n, fmt.Errorf("key %d at %d: found %v, %w", key, times[i], found, err)
				}
				i++
				if v.skip {
					reached, is := slices.BinarySearch(times[i:], in.End)
					if i += reached; is {
						i++
					}
				}
			}
		}
	}
	return n, nil
}

// full asks for all keys at each time.
func (v view) full(t *treeStore) (n int, err error) {
	for _, times := range v.screens {
		for _, at := range times {
			if err := t.Full(at, func(block.Interval) { n++ }); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// plane asks one 2D question for each screen.
func (v view) plane(t *treeStore) (n int, err error) {
	for _, times := range v.screens {
		if err := t.Plane(v.keys, times, func(block.Interval) { n++ }); err != nil {
			return n, err
		}
	}
	return n, nil
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
