package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/trees/block"
)

// shape is what each process finds alike in a store.
type shape struct {
	Stopped   bool   `json:"stopped,omitempty"` // it was too large after Intervals intervals
	Intervals int    `json:"intervals"`
	Nodes     uint32 `json:"nodes,omitempty"`
	Depth     uint32 `json:"depth,omitempty"`
	Ranges    []int  `json:"ranges,omitempty"` // nodes by the share of all keys between their least and greatest, in tenths
}

// figures are what one process measures of one store.
type figures struct {
	shape
	Bytes  int64
	Values map[string]float64 // by key (table.go)
}

// measure measures a store: a load, a restart and the questions, once each is checked.
func (s *intervals) measure(p peer, o options) (f figures, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // idle collectors would look for work
	f = figures{shape: shape{Intervals: len(s.all)}, Values: map[string]float64{}}
	if !p.server {
		if err := s.warm(p, o); err != nil {
			return f, err
		}
	}
	st, err := p.make(s, o)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	took, err := cost(st, func() error { return st.Load(s.all) })
	if f.Stopped = errors.Is(err, errLarge); err != nil && !f.Stopped {
		return f, fmt.Errorf("load: %w", err)
	}
	t, isTree := st.(*treeStore)
	if isTree {
		f.Nodes, f.Depth = t.Summary().Nodes, t.Summary().Depth
	}
	if f.Bytes, err = st.Bytes(); err != nil {
		return f, fmt.Errorf("size: %w", err)
	}
	if f.Stopped {
		f.Intervals = int(t.Summary().Intervals)
		return f, nil
	}
	f.Values["build_m_s"] = float64(len(s.all)) / 1e6 / took.Seconds()
	if f.Values["restart_ms"], err = s.restart(st); err != nil {
		return f, fmt.Errorf("restart: %w", err)
	}
	if err := s.check(st); err != nil {
		return f, fmt.Errorf("wrong answer: %w", err)
	}
	if err := s.askAll(st, o.Enough, &f); err != nil || !isTree {
		return f, err
	}
	if f.Ranges, err = t.ranges(s.set.Header.Keys); err != nil || !o.Views {
		return f, err
	}
	return f, s.views(t, f.Values)
}

// warm loads a store that is dropped: the first memory of a process costs a fault a page.
func (s *intervals) warm(p peer, o options) error {
	st, err := p.make(s, o)
	if err != nil {
		return err
	}
	if err = st.Load(s.all); errors.Is(err, errLarge) {
		err = nil
	}
	return errors.Join(err, st.Close())
}

// cost returns the CPU time of a call: this process's, collections included, and that of the
// store's other processes. A collection precedes it.
func cost(st store, call func() error) (time.Duration, error) {
	runtime.GC()
	others, err := st.CPU()
	if err != nil {
		return 0, err
	}
	start := measure.Process()
	if err := call(); err != nil {
		return 0, err
	}
	took := measure.Process() - start
	after, err := st.CPU()
	return took + after - others, err
}

// restart returns the CPU time until a reopened store has answered its first question, in
// milliseconds.
func (s *intervals) restart(st store) (float64, error) {
	runtime.GC()
	start := measure.Process()
	if err := st.Reopen(); err != nil {
		return 0, err
	}
	if _, found, err := st.Single(s.singles[0].key, s.singles[0].at); err != nil || !found {
		return 0, fmt.Errorf("first question: found %v, %w", found, err)
	}
	took := measure.Process() - start
	others, err := st.CPU()
	return float64(took+others) / 1e6, err
}

// counter is a store whose answers are lists. Others hand each interval to a function, and the answers are counted
// and no more: what a caller does with them is not the store's.
type counter interface {
	fullList(at int64) (int, error)
	planeList(keys []uint32, times []int64) (int, error)
}

func (s *intervals) askSingle(of answers, q single) error {
	in, found, err := of.Single(q.key, q.at)
	if err != nil || !found {
		return fmt.Errorf("key %d at %d: found %v, %w", q.key, q.at, found, err)
	}
	if want := s.all[q.want]; in.Start != want.Start || in.End != want.End {
		return fmt.Errorf("key %d at %d is from %d to %d, want %d to %d", q.key, q.at, in.Start, in.End, want.Start, want.End)
	}
	return nil
}

func (s *intervals) askFull(of answers, at int64) (err error) {
	n := 0
	if c, is := of.(counter); is {
		n, err = c.fullList(at)
	} else {
		err = of.Full(at, func(block.Interval) { n++ })
	}
	if err == nil && n != s.set.Header.Keys {
		err = fmt.Errorf("%d keys at %d, want %d", n, at, s.set.Header.Keys)
	}
	return err
}

func (s *intervals) askPlane(of answers, keys []uint32, want int) (err error) {
	n := 0
	if c, is := of.(counter); is {
		n, err = c.planeList(keys, s.times)
	} else {
		err = of.Plane(keys, s.times, func(block.Interval) { n++ })
	}
	if err == nil && n != want {
		err = fmt.Errorf("2D query has %d answers, want %d", n, want)
	}
	return err
}

// askAll asks the questions and counts the answers.
func (s *intervals) askAll(st store, enough time.Duration, f *figures) error {
	for _, q := range []struct {
		name, unit string
		us         float64 // in the unit
		round      int
		ask        func(i int) error
	}{
		{"single", "_us", 1, singleBatch, func(i int) error { return s.askSingle(st, s.singles[i]) }},
		{"full", "_us", 1, 20, func(i int) error { return s.askFull(st, s.singles[i].at) }},
		{"plane", "_ms", 1e3, 3, func(int) error { return s.askPlane(st, s.some, s.answers[0]) }},
		{"kind", "_ms", 1e3, 3, func(int) error { return s.askPlane(st, s.kind, s.answers[1]) }},
	} {
		us, nodes, err := mean(st, enough, q.round, q.ask)
		if err != nil {
			return err
		}
		f.Values[q.name+q.unit] = us / q.us
		if _, is := st.(*treeStore); is {
			f.Values[q.name+"_nodes"] = nodes
		}
	}
	return nil
}

// slow is the wall time after which a round of calls ends, if it has had three of them.
const slow = time.Second

// mean returns the mean CPU time of a call in microseconds, and the nodes that it looks at, over rounds of
// calls that take about enough time together, after a first round. If the first takes ten times as long, it
// is the only one.
func mean(st store, enough time.Duration, round int, f func(i int) error) (us, nodes float64, err error) {
	searched := func() int64 { return 0 }
	if t, is := st.(*treeStore); is {
		searched = t.Searched
	}
	calls, before := 0, searched()
	once := func() error {
		begun := time.Now()
		for i := range round {
			if i >= 3 && time.Since(begun) > slow {
				break
			}
			if err := f(i); err != nil {
				return err
			}
			calls++
		}
		return nil
	}
	took, err := cost(st, once)
	if err == nil && took <= 10*enough {
		rounds := 1 + int(enough/max(took, time.Microsecond))
		calls, before = 0, searched()
		took, err = cost(st, func() error {
			for range rounds {
				if err := once(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return float64(took.Nanoseconds()) / 1e3 / float64(calls), float64(searched()-before) / float64(calls), err
}
