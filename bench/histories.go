package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/ihs"
)

// historyKeys says what each figure is.
var historyKeys = map[string]string{
	"build_m_s":             "million intervals a second: closed intervals in the order of their ends, as columns (AddAll), into a new history with its attributes, a commit each 10,000, closed at the end; CPU time, collections included",
	"add_m_s":               "the same, one by one (Add)",
	"change_m_s":            "the same set as changes, in the order in which the intervals start",
	"bytes_interval":        "what the heap has grown by after two collections, less 32 bytes an attribute for names, by interval",
	"own_ratio":             "the history's own account to what the heap has grown by",
	"state_ns":              "state and interval of a random attribute at a random time",
	"slice_ms":              "all attributes at a random time, looked up anew into the memory of the slice before",
	"slice_new_ms":          "the same into new memory",
	"cursor_1_ms":           "all attributes at a random time, by a cursor that keeps 1 slice, 4, 8, 16",
	"sweep_ms":              "all attributes at 1,000 times in order, by a cursor, each",
	"sample_ms":             "100 random attributes at 2,000 times across the history",
	"sample_threads_ms":     "the states of all threads (Threads/*) at 2,000 times, found anew into the memory of the intervals before",
	"sample_threads_new_ms": "the same into new memory",
	"range_us":              "all intervals of a random attribute",
}

// historyFigures is what a set took: CPU time of the process, medians.
type historyFigures struct {
	Set        string `json:"set"`
	Attributes int    `json:"attributes"`
	Intervals  int    `json:"intervals"`

	Build      float64            `json:"build_m_s"`
	Add        float64            `json:"add_m_s"`
	Change     float64            `json:"change_m_s"`
	Interval   float64            `json:"bytes_interval"`
	Own        float64            `json:"own_ratio"`
	State      float64            `json:"state_ns"`
	Slice      float64            `json:"slice_ms"`
	SliceNew   float64            `json:"slice_new_ms"`
	Cursor     map[string]float64 `json:"cursor_ms"`
	Sweep      float64            `json:"sweep_ms"`
	Sample     float64            `json:"sample_ms"`
	Threads    float64            `json:"sample_threads_ms,omitempty"`
	ThreadsNew float64            `json:"sample_threads_new_ms,omitempty"`
	Range      float64            `json:"range_us"`
}

// historySets are measured if none is named: the trace of the R-SHT paper's Table II, and
// its model with a hundred to a million attributes.
var historySets = []string{
	"../../shared/data/intervals/many-threads",
	"synth:100:10000", "synth:1000:1000", "synth:10000:100", "synth:100000:10", "synth:1000000:4",
}

// historyBatch is how many intervals a commit has.
const historyBatch = 10_000

// runHistories measures interval histories over sets: files, or synth:A:I.
func runHistories(sets []string, repeat int) error {
	out := struct {
		Keys map[string]string `json:"keys"`
		Sets []historyFigures  `json:"sets"`
	}{Keys: historyKeys}
	for _, name := range sets {
		set, err := ihs.Open(name, ihs.Limits{})
		if err != nil {
			return err
		}
		figures, err := measureHistory(name, set, repeat)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		out.Sets = append(out.Sets, figures)
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func measureHistory(name string, set *ihs.Set, repeat int) (historyFigures, error) {
	// All but collections is done by one goroutine, and idle collectors look for work.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f := historyFigures{Set: name, Attributes: set.Header.Keys, Intervals: set.Len(), Cursor: map[string]float64{}}
	values := valuesOf(set)
	attributes := attributesOf(set)
	byStart := set.ByStart()
	var view *history.View
	var rates [3][]float64
	for range repeat + 1 {
		for i, feed := range []func(*history.History) (*history.View, error){
			func(h *history.History) (*history.View, error) { return feedColumns(h, set, attributes, values) },
			func(h *history.History) (*history.View, error) { return feedIntervals(h, set, values) },
			func(h *history.History) (*history.View, error) { return feedChanges(h, set, values, byStart) },
		} {
			h, err := namedHistory(set)
			if err != nil {
				return f, err
			}
			runtime.GC()
			start := cpuTime()
			if _, err = feed(h); err != nil {
				return f, err
			}
			rates[i] = append(rates[i], float64(set.Len())/1e6/(cpuTime()-start).Seconds())
		}
	}
	f.Build, f.Add, f.Change = median(rates[0][1:]), median(rates[1][1:]), median(rates[2][1:])

	before := heap()
	h, err := namedHistory(set)
	if err != nil {
		return f, err
	}
	if view, err = feedColumns(h, set, attributes, values); err != nil {
		return f, err
	}
	grown := float64(heap() - before)
	runtime.KeepAlive(attributes) // it is no part of what the heap has grown by
	f.Interval = (grown - 32*float64(f.Attributes)) / float64(f.Intervals)
	f.Own = float64(h.Size()) / grown
	if err := checkHistory(view, set, values); err != nil {
		return f, err
	}
	err = askHistory(&f, view, repeat)
	runtime.KeepAlive(h)
	return f, err
}

// valuesOf returns the values of a set's intervals.
func valuesOf(set *ihs.Set) []history.Value {
	values := make([]history.Value, set.Len())
	for i := range values {
		switch in := set.At(i); in.Kind {
		case ihs.KindInt, ihs.KindLong:
			values[i] = history.Int(in.Int())
		case ihs.KindFloat:
			values[i] = history.Float(in.Float())
		case ihs.KindString:
			values[i] = history.String(in.Text)
		}
	}
	return values
}

// attributesOf returns the attributes of a set's intervals.
func attributesOf(set *ihs.Set) []history.Attribute {
	attributes := make([]history.Attribute, set.Len())
	for i, key := range set.Keys {
		attributes[i] = history.Attribute(key)
	}
	return attributes
}

// namedHistory returns a history with a set's attributes.
func namedHistory(set *ihs.Set) (*history.History, error) {
	h, err := history.New(history.Options{Start: set.Header.Start})
	if err != nil {
		return nil, err
	}
	tx, err := h.Begin()
	if err != nil {
		return nil, err
	}
	for key := range set.Header.Keys {
		parent, name := history.Root, fmt.Sprint("a", key)
		if len(set.Attributes) > 0 {
			name = set.Attributes[key].Name
			if p := set.Attributes[key].Parent; p >= 0 {
				parent = history.Attribute(p)
			}
		}
		if a, err := tx.Child(parent, name); err != nil || int(a) != key {
			return nil, errors.Join(err, fmt.Errorf("attribute %d is %d", key, a))
		}
	}
	_, err = tx.Commit()
	return h, err
}

// feedColumns adds the intervals of a set, those of a commit in one call.
func feedColumns(h *history.History, set *ihs.Set, attributes []history.Attribute, values []history.Value) (*history.View, error) {
	tx, err := h.Begin()
	if err != nil {
		return nil, err
	}
	for lo, hi := 0, 0; lo < set.Len(); lo = hi {
		for hi = min(lo+historyBatch, set.Len()); hi < set.Len() && set.Ends[hi] == set.Ends[hi-1]; hi++ {
		}
		if lo > 0 {
			if tx, err = nextBatch(h, tx); err != nil {
				return nil, err
			}
		}
		if _, err := tx.AddAll(attributes[lo:hi], set.Starts[lo:hi], set.Ends[lo:hi], values[lo:hi]); err != nil {
			return nil, err
		}
	}
	if err := tx.Close(set.Header.End); err != nil {
		return nil, err
	}
	return tx.Commit()
}

// feedIntervals adds the intervals of a set.
func feedIntervals(h *history.History, set *ihs.Set, values []history.Value) (*history.View, error) {
	tx, err := h.Begin()
	if err != nil {
		return nil, err
	}
	for i, n := 0, 0; i < set.Len(); i, n = i+1, n+1 {
		if n >= historyBatch && set.Ends[i] != set.Ends[i-1] {
			if tx, err = nextBatch(h, tx); err != nil {
				return nil, err
			}
			n = 0
		}
		if err := tx.Add(history.Attribute(set.Keys[i]), set.Starts[i], set.Ends[i], values[i]); err != nil {
			return nil, err
		}
	}
	if err := tx.Close(set.Header.End); err != nil {
		return nil, err
	}
	return tx.Commit()
}

// feedChanges makes the changes with which the intervals of a set begin.
func feedChanges(h *history.History, set *ihs.Set, values []history.Value, byStart []int) (*history.View, error) {
	tx, err := h.Begin()
	if err != nil {
		return nil, err
	}
	last := set.Header.Start
	for n, i := range byStart {
		if n%historyBatch >= historyBatch-historyBatch/8 && set.Starts[i] != last && n > 0 {
			if tx, err = nextBatch(h, tx); err != nil {
				return nil, err
			}
		}
		last = set.Starts[i]
		if err := tx.Change(last, history.Attribute(set.Keys[i]), values[i]); err != nil {
			return nil, err
		}
	}
	if err := tx.Close(set.Header.End); err != nil {
		return nil, err
	}
	return tx.Commit()
}

func nextBatch(h *history.History, tx *history.Tx) (*history.Tx, error) {
	if _, err := tx.Commit(); err != nil {
		return nil, err
	}
	return h.Begin()
}

// checkHistory holds every seventh interval of a set to what the view says.
func checkHistory(view *history.View, set *ihs.Set, values []history.Value) error {
	for i := 0; i < set.Len(); i += 7 {
		at := set.Starts[i] + (set.Ends[i]-set.Starts[i])*int64(i%3)/2
		in, err := view.At(history.Attribute(set.Keys[i]), at)
		if err != nil || in.Start != set.Starts[i] || in.End != set.Ends[i] || !in.Value.Equal(values[i]) {
			return fmt.Errorf("attribute %d at %d is %+v, %w; want interval %d", set.Keys[i], at, in, err, i)
		}
	}
	return nil
}

// askHistory measures the questions.
func askHistory(f *historyFigures, view *history.View, repeat int) error {
	rng := rand.New(rand.NewPCG(1, 1))
	span := view.End() - view.Start()
	at := func() int64 { return view.Start() + rng.Int64N(span) }
	attribute := func() history.Attribute { return history.Attribute(rng.IntN(view.Len())) }
	var failed error
	ms := func(ask func() error) float64 {
		cost := perCall(repeat, func() { failed = errors.Join(failed, ask()) })
		return float64(cost) / 1e6
	}
	f.State = 1e6 / 1000 * ms(func() error {
		for range 1000 {
			if _, err := view.At(attribute(), at()); err != nil {
				return err
			}
		}
		return nil
	})
	var slice *history.Slice
	f.Slice = ms(func() (err error) { slice, err = view.SliceInto(slice, at()); return err })
	f.SliceNew = ms(func() error { _, err := view.Slice(at()); return err })
	for _, keep := range []int{1, 4, 8, 16} {
		c, err := view.Cursor(keep)
		if err != nil {
			return err
		}
		for range 3 * keep {
			if _, err := c.MoveTo(at()); err != nil {
				return err
			}
		}
		f.Cursor[fmt.Sprint(keep)] = ms(func() error { _, err := c.MoveTo(at()); return err })
	}
	c, err := view.Cursor(1)
	if err != nil {
		return err
	}
	step := int64(0)
	f.Sweep = ms(func() error {
		step = (step + 1) % 1000
		_, err := c.MoveTo(view.Start() + span/1000*step)
		return err
	})
	f.Range = 1e3 * ms(func() error {
		for _, err := range view.Range(attribute(), view.Start(), view.End(), history.RangeOptions{}) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	chosen := make([]history.Attribute, 100)
	f.Sample = ms(func() error {
		for i := range chosen {
			chosen[i] = attribute()
		}
		_, err := view.Pixels(chosen, view.Start(), view.End(), 2000)
		return err
	})
	if threads, err := view.Lookup("Threads"); err == nil {
		all := slices.Collect(view.Children(threads))
		var intervals *history.Intervals
		f.Threads = ms(func() (err error) {
			intervals, err = view.PixelsInto(intervals, all, view.Start(), view.End(), 2000)
			return err
		})
		f.ThreadsNew = ms(func() error { _, err := view.Pixels(all, view.Start(), view.End(), 2000); return err })
	}
	return failed
}

// perCall returns the CPU time of a call: the median of batches, each of as many calls as
// take 25 ms.
func perCall(repeat int, call func()) time.Duration {
	call()
	n := 1
	for start := cpuTime(); cpuTime()-start < 25*time.Millisecond; n++ {
		call()
	}
	costs := make([]float64, repeat)
	for i := range costs {
		start := cpuTime()
		for range n {
			call()
		}
		costs[i] = float64(cpuTime()-start) / float64(n)
	}
	return time.Duration(median(costs))
}
