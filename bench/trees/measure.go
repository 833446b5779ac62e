package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/trees/block"
)

// figures are what one process measures of one store.
type figures struct {
	Build     float64 // million intervals a second
	Restart   float64 // ms
	Single    float64 // us
	Full      float64 // us
	Some      float64 // ms
	Kind      float64 // ms
	Bytes     int64
	Nodes     uint32
	Depth     uint32
	Intervals int
	Stopped   bool // the tree was too large
}

// asker is a store with the set's questions: each asks one of them and counts the answers.
type asker struct {
	single func(i int) error
	full   func(at int64) (int, error)
	plane  func(keys []uint32) (int, error)
}

// measure measures a store: a load, a restart and the questions, once each is checked.
func (s *intervals) measure(p peer, o options) (f figures, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // idle collectors would look for work
	if !p.server {
		if err := s.warm(p, o); err != nil {
			return f, err
		}
	}
	st, err := p.make(s, o)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	f.Intervals = len(s.all)
	took, err := cost(st, func() error { return st.load(s.all) })
	if t, is := st.(*treeStore); is && errors.Is(err, errLarge) {
		f.Stopped, f.Intervals = true, t.stopped
		return f, f.take(st)
	}
	if err != nil {
		return f, fmt.Errorf("load: %w", err)
	}
	f.Build = float64(len(s.all)) / 1e6 / took.Seconds()
	if err := f.take(st); err != nil {
		return f, fmt.Errorf("size: %w", err)
	}
	if f.Restart, err = s.restart(st); err != nil {
		return f, fmt.Errorf("restart: %w", err)
	}
	if err := s.check(st); err != nil {
		return f, fmt.Errorf("wrong answer: %w", err)
	}
	return f, s.askAll(st, o.enough, &f)
}

// warm loads a store that is dropped: the first memory of a process costs a fault a page.
func (s *intervals) warm(p peer, o options) error {
	st, err := p.make(s, o)
	if err != nil {
		return err
	}
	if err = st.load(s.all); errors.Is(err, errLarge) {
		err = nil
	}
	return errors.Join(err, st.close())
}

func (f *figures) take(st store) error {
	size, err := st.size()
	f.Bytes, f.Nodes, f.Depth = size.bytes, size.nodes, size.depth
	return err
}

// cost returns the CPU time of a call: this process's, collections included, and that of the
// store's other processes. A collection precedes it.
func cost(st store, call func() error) (time.Duration, error) {
	runtime.GC()
	others, err := st.cpu()
	if err != nil {
		return 0, err
	}
	start := measure.Process()
	if err := call(); err != nil {
		return 0, err
	}
	took := measure.Process() - start
	after, err := st.cpu()
	return took + after - others, err
}

// restart returns the CPU time until a reopened store has answered its first question, in
// milliseconds.
func (s *intervals) restart(st store) (float64, error) {
	runtime.GC()
	start := measure.Process()
	if err := st.reopen(); err != nil {
		return 0, err
	}
	if _, found, err := st.Single(s.all[s.singles[0]].Key, s.at[0]); err != nil || !found {
		return 0, fmt.Errorf("first question: found %v, %w", found, err)
	}
	took := measure.Process() - start
	others, err := st.cpu()
	return float64(took+others) / 1e6, err
}

// state is what a full query keeps of each key.
type state struct {
	start, end int64
	word       uint64
}

// questions asks a store, which hands each interval to a function.
func (s *intervals) questions(of answers) asker {
	if h, is := of.(*historyStore); is {
		return h.questions(s)
	}
	states := make([]state, s.set.Header.Keys)
	return asker{
		single: func(i int) error {
			in, found, err := of.Single(s.all[s.singles[i]].Key, s.at[i])
			if err != nil || !found {
				return fmt.Errorf("single query %d: found %v, %w", i, found, err)
			}
			return s.wrong(i, in.Start, in.End)
		},
		full: func(at int64) (n int, err error) {
			err = of.Full(at, func(in block.Interval) { states[in.Key] = state{in.Start, in.End, in.Word}; n++ })
			return n, err
		},
		plane: func(keys []uint32) (n int, err error) {
			err = of.Plane(keys, s.times, func(block.Interval) { n++ })
			return n, err
		},
	}
}

// askAll asks the questions and counts the answers.
func (s *intervals) askAll(st store, enough time.Duration, f *figures) (err error) {
	a := s.questions(st)
	if f.Single, err = mean(st, enough, singleBatch, a.single); err != nil {
		return err
	}
	full := func(i int) error {
		n, err := a.full(s.at[i])
		if err == nil && n != s.set.Header.Keys {
			err = fmt.Errorf("%d keys at %d, want %d", n, s.at[i], s.set.Header.Keys)
		}
		return err
	}
	if f.Full, err = mean(st, enough, 20, full); err != nil {
		return err
	}
	for i, keys := range [][]uint32{s.some, s.kind} {
		us, err := mean(st, enough, 3, func(int) error {
			n, err := a.plane(keys)
			if err == nil && n != s.answers[i] {
				err = fmt.Errorf("2D query has %d answers, want %d", n, s.answers[i])
			}
			return err
		})
		if err != nil {
			return err
		}
		*[]*float64{&f.Some, &f.Kind}[i] = us / 1e3
	}
	return nil
}

// slow is the wall time after which a round of calls ends, if it has had three of them.
const slow = time.Second

// mean returns the mean CPU time of a call in microseconds, over rounds of calls that take about
// enough time together, after a first round. If the first takes ten times as long, it is the only one.
func mean(st store, enough time.Duration, round int, f func(i int) error) (float64, error) {
	calls := 0
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
	us := func(took time.Duration) float64 { return float64(took.Nanoseconds()) / 1e3 / float64(calls) }
	first, err := cost(st, once)
	if err != nil || first > 10*enough {
		return us(first), err
	}
	rounds := 1 + int(enough/max(first, time.Microsecond))
	calls = 0
	took, err := cost(st, func() error {
		for range rounds {
			if err := once(); err != nil {
				return err
			}
		}
		return nil
	})
	return us(took), err
}
