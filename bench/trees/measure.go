package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/history"
)

// errLarge ends the build of a tree that takes too many bytes.
var errLarge = errors.New("tree is too large")

// figures are what is measured of one store.
type figures struct {
	build, single, full, some, kind float64
	bytes                           int64
	nodes, depth                    uint32
	intervals                       int
	stopped                         bool // the tree was too large
}

// String returns the columns of the table.
func (f figures) String() string {
	if f.stopped {
		return fmt.Sprintf("-\t> %.0f\t-\t%d\t%d\tstopped after %d intervals\t-\t-\t-", float64(f.bytes)/1e6, f.nodes, f.depth, f.intervals)
	}
	return fmt.Sprintf("%.1f\t%.2f\t%.2f\t%d\t%d\t%.2f\t%.0f\t%.3f\t%.3f",
		f.build, float64(f.bytes)/1e6, float64(f.bytes)/float64(f.intervals), f.nodes, f.depth, f.single, f.full, f.some, f.kind)
}

// asker is a store with the set's questions: each asks one of them and counts the answers.
type asker struct {
	single func(i int) error
	full   func(at int64) (int, error)
	plane  func(keys []uint32) (int, error)
}

// measureAll measures the trees and package history.
func (s *intervals) measureAll(o options, each func(tree string, f figures) error) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // idle collectors would look for work
	for _, kind := range kinds {
		if o.only != "" && !slices.Contains(strings.Split(o.only, ","), kind.name) {
			continue
		}
		f, err := s.measureTree(kind, o)
		if err == nil {
			err = each(kind.name, f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	f, err := s.measureHistory(o)
	if err == nil {
		err = each("history", f)
	}
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

func (s *intervals) measureTree(kind kind, o options) (f figures, err error) {
	f.intervals = len(s.all)
	var rates []float64
	for last := o.repeat - 1; last >= 0; last-- {
		storage, remove, err := newStorage(o.dir)
		if err != nil {
			return f, err
		}
		took, err := s.build(kind, storage, o.most, &f)
		if err == nil {
			rates = append(rates, float64(len(s.all))/1e6/took.Seconds())
		}
		if err == nil && last == 0 {
			f.build = results.Median(rates)
			err = s.askTree(kind, storage, o.repeat, &f)
		}
		if err = errors.Join(err, remove()); errors.Is(err, errLarge) {
			f.stopped = true
			return f, nil
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}

// newStorage returns memory, or a file and how to remove it.
func newStorage(dir string) (block.Storage, func() error, error) {
	if dir == "" {
		return &block.Memory{}, func() error { return nil }, nil
	}
	file, err := os.CreateTemp(dir, "tree-*")
	if err != nil {
		return nil, nil, err
	}
	return file, func() error { return errors.Join(file.Close(), os.Remove(file.Name())) }, nil
}

// build builds a tree and returns the CPU time.
func (s *intervals) build(kind kind, storage block.Storage, most int64, f *figures) (time.Duration, error) {
	runtime.GC()
	start := measure.CPU()
	tree, err := kind.create(storage, s.set.Header.Start)
	if err != nil {
		return 0, err
	}
	for i := range s.all {
		if err := tree.Add(s.all[i]); err != nil {
			return 0, err
		}
		if i%1024 == 0 && tree.Summary().Bytes() > most {
			sum := tree.Summary()
			f.bytes, f.nodes, f.depth, f.intervals = sum.Bytes(), sum.Nodes, sum.Depth, i
			return 0, errLarge
		}
	}
	if err := tree.Close(); err != nil {
		return 0, err
	}
	sum := tree.Summary()
	f.bytes, f.nodes, f.depth = sum.Bytes(), sum.Nodes, sum.Depth
	return measure.CPU() - start, nil
}

// state is what a full query keeps of each key.
type state struct {
	start, end int64
	word       uint64
}

// askTree opens the tree again and asks it.
func (s *intervals) askTree(kind kind, storage block.Storage, repeat int, f *figures) error {
	tree, err := kind.open(storage)
	if err != nil {
		return err
	}
	states := make([]state, s.set.Header.Keys)
	return s.askAll(asker{
		single: func(i int) error {
			in, found, err := tree.Single(s.all[s.singles[i]].Key, s.at[i])
			if err != nil || !found {
				return fmt.Errorf("single query %d: found %v, %w", i, found, err)
			}
			return s.wrong(i, in.Start, in.End)
		},
		full: func(at int64) (n int, err error) {
			err = tree.Full(at, func(in block.Interval) { states[in.Key] = state{in.Start, in.End, in.Word}; n++ })
			return n, err
		},
		plane: func(keys []uint32) (n int, err error) {
			err = tree.Plane(keys, s.times, func(block.Interval) { n++ })
			return n, err
		},
	}, repeat, f)
}

// measureHistory measures package history.
func (s *intervals) measureHistory(o options) (f figures, err error) {
	f.intervals = len(s.all)
	var view *history.View
	var rates []float64
	for range o.repeat {
		h, err := s.history.New()
		if err != nil {
			return f, err
		}
		runtime.GC()
		start := measure.CPU()
		if view, err = s.history.Feed(h); err != nil {
			return f, err
		}
		rates = append(rates, float64(len(s.all))/1e6/(measure.CPU()-start).Seconds())
	}
	f.build, f.bytes = results.Median(rates), int64(len(view.AppendImage(nil)))
	return f, s.askAll(asker{
		single: func(i int) error {
			in, err := view.At(history.Attribute(s.all[s.singles[i]].Key), s.at[i])
			if err != nil {
				return err
			}
			return s.wrong(i, in.Start, in.End)
		},
		full: func(at int64) (int, error) {
			slice, err := view.Slice(at)
			if err != nil {
				return 0, err
			}
			return slice.Len(), nil
		},
		plane: func(keys []uint32) (int, error) {
			attributes := make([]history.Attribute, len(keys))
			for i, key := range keys {
				attributes[i] = history.Attribute(key)
			}
			found, err := view.Sample(attributes, s.times)
			if err != nil {
				return 0, err
			}
			return found.Len(), nil
		},
	}, o.repeat, &f)
}

// askAll asks the questions and checks the answers. Each is asked once before it is measured.
func (s *intervals) askAll(a asker, repeat int, f *figures) error {
	var err error
	if f.single, err = median(repeat, singleBatch, a.single); err != nil {
		return err
	}
	full := func(i int) error {
		n, err := a.full(s.at[i])
		if err == nil && n != s.set.Header.Keys {
			err = fmt.Errorf("%d keys at %d, want %d", n, s.at[i], s.set.Header.Keys)
		}
		return err
	}
	if f.full, err = median(repeat, 20, full); err != nil {
		return err
	}
	for i, keys := range [][]uint32{s.some, s.kind} {
		us, err := median(repeat, 3, func(int) error {
			n, err := a.plane(keys)
			if err == nil && n != s.answers[i] {
				err = fmt.Errorf("2D query has %d answers, want %d", n, s.answers[i])
			}
			return err
		})
		if err != nil {
			return err
		}
		*[]*float64{&f.some, &f.kind}[i] = us / 1e3
	}
	return nil
}

// median returns the median CPU time of a call in microseconds, over repeat batches of calls
// after a first one.
func median(repeat, batch int, f func(i int) error) (float64, error) {
	var us []float64
	for round := range repeat + 1 {
		var failed error
		took := measure.OnThread(func() {
			for i := range batch {
				if failed = f(i); failed != nil {
					return
				}
			}
		})
		if failed != nil {
			return 0, failed
		}
		if round > 0 {
			us = append(us, float64(took.Nanoseconds())/1e3/float64(batch))
		}
	}
	return results.Median(us), nil
}
