package targets

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/workloads"
	"github.com/granarydb/granary/history"
)

// threadKeys are the targets on the recorded threads.
var threadKeys = []string{
	"hist-bytes", "hist-file", "hist-build", "hist-state", "hist-slice", "hist-slice-into", "hist-cursor", "hist-sample", "hist-kind",
}

// histories measures the recorded threads, if they are there, and a million attributes.
func histories(o Options, c *collector) error {
	// One goroutine does all work but collections, and idle collectors would look for more.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	progress("history of %s", o.threads)
	set, err := workloads.OpenHistorySet(o.threads)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.skip("the recorded threads are not at "+o.threads, threadKeys...)
	case err != nil:
		return err
	default:
		if err := threadHistory(o, c, set); err != nil {
			return err
		}
	}
	progress("history of %s", o.million)
	if set, err = workloads.OpenHistorySet(o.million); err != nil {
		return err
	}
	h, view, err := build(set)
	if err != nil {
		return err
	}
	a := newAsker(view, o.Repeat)
	c.add("hist-state-1e6", 0, a.state()...)
	few := a.cost(1e3, func() error {
		_, err := view.Slice(a.time(), a.attribute(), a.attribute(), a.attribute())
		return err
	})
	c.add("hist-slice-few", 0, few...)
	runtime.KeepAlive(h)
	return a.failed
}

// build returns a set's history, and compares a part of it with the set.
func build(set *workloads.HistorySet) (*history.History, *history.View, error) {
	h, err := set.New()
	if err != nil {
		return nil, nil, err
	}
	view, err := set.Feed(h)
	if err != nil {
		return nil, nil, err
	}
	return h, view, set.Check(view)
}

// threadHistory measures the recorded threads.
func threadHistory(o Options, c *collector, set *workloads.HistorySet) error {
	for i := range o.Repeat + 1 {
		h, err := set.New()
		if err != nil {
			return err
		}
		runtime.GC()
		start := measure.CPU()
		if _, err := set.Feed(h); err != nil {
			return err
		}
		if i > 0 { // the first warms up
			c.add("hist-build", 0, float64(set.Intervals())/1e6/(measure.CPU()-start).Seconds())
		}
	}
	const name = 32 // bytes in an attribute's name
	before := measure.Heap()
	h, view, err := build(set)
	if err != nil {
		return err
	}
	grown := measure.Heap() - before
	runtime.KeepAlive(set) // both heaps include it
	c.add("hist-bytes", 0, (float64(grown)-name*float64(set.Attributes()))/float64(set.Intervals()))
	if err := historyFile(c, set); err != nil {
		return err
	}
	err = askThreads(o, c, view)
	runtime.KeepAlive(h)
	return err
}

// historyFile measures a set's file.
func historyFile(c *collector, set *workloads.HistorySet) error {
	dir, err := os.MkdirTemp("", "granary-bench")
	if err != nil {
		return err
	}
	bytes, err := set.Write(filepath.Join(dir, "states.history"))
	c.add("hist-file", 0, float64(bytes)/float64(set.Intervals()))
	return errors.Join(err, os.RemoveAll(dir))
}

// askThreads measures the recorded threads' queries.
func askThreads(o Options, c *collector, view *history.View) error {
	a := newAsker(view, o.Repeat)
	c.add("hist-state", 0, a.state()...)
	c.add("hist-slice", 0, a.cost(1e6, func() error { _, err := view.Slice(a.time()); return err })...)
	var slice *history.Slice
	c.add("hist-slice-into", 0, a.cost(1e6, func() (err error) { slice, err = view.SliceInto(slice, a.time()); return err })...)

	const keep = 16
	cursor, err := view.Cursor(keep)
	if err != nil {
		return err
	}
	for range 3 * keep {
		if _, err := cursor.MoveTo(a.time()); err != nil {
			return err
		}
	}
	c.add("hist-cursor", 0, a.cost(1e6, func() error { _, err := cursor.MoveTo(a.time()); return err })...)

	chosen := make([]history.Attribute, 100)
	c.add("hist-sample", 0, a.cost(1e6, func() error {
		for i := range chosen {
			chosen[i] = a.attribute()
		}
		_, err := view.Pixels(chosen, view.Start(), view.End(), 2000)
		return err
	})...)
	threads, err := view.Lookup("Threads")
	if err != nil {
		c.skip("the set has no attribute Threads", "hist-kind")
		return a.failed
	}
	all := slices.Collect(view.Children(threads))
	var intervals *history.Intervals
	c.add("hist-kind", 0, a.cost(1e6, func() (err error) {
		intervals, err = view.PixelsInto(intervals, all, view.Start(), view.End(), 2000)
		return err
	})...)
	return a.failed
}

// asker draws times and attributes from a view and measures its queries.
type asker struct {
	view   *history.View
	rng    *rand.Rand
	repeat int
	failed error // error of any query
}

func newAsker(view *history.View, repeat int) *asker {
	return &asker{view: view, rng: rand.New(rand.NewPCG(1, 1)), repeat: repeat}
}

func (a *asker) time() int64 { return a.view.Start() + a.rng.Int64N(a.view.End()-a.view.Start()) }

func (a *asker) attribute() history.Attribute { return history.Attribute(a.rng.IntN(a.view.Len())) }

// cost returns a query's CPU time by batch, in units of `unit` nanoseconds.
func (a *asker) cost(unit float64, ask func() error) []float64 {
	all := measure.PerCall(a.repeat, func() { a.failed = errors.Join(a.failed, ask()) })
	for i := range all {
		all[i] /= unit
	}
	return all
}

// state returns the cost of an attribute's state, in nanoseconds.
func (a *asker) state() []float64 {
	const states = 1000
	return a.cost(states, func() error {
		for range states {
			if _, err := a.view.At(a.attribute(), a.time()); err != nil {
				return err
			}
		}
		return nil
	})
}
