package workloads

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/history"
)

// historyKeys explains the figures.
var historyKeys = map[string]string{
	"build_m_s":             "million intervals a second: closed intervals in the order of their ends, as columns (AddAll), into a new history with its attributes, a commit each 10,000, closed at the end; CPU time, collections included",
	"add_m_s":               "the same, one by one (Add)",
	"change_m_s":            "the same set as changes, in the order of the starts",
	"bytes_interval":        "growth of the live heap, less 32 bytes an attribute for names, by interval",
	"own_ratio":             "accounting of the history by the growth of the live heap",
	"state_ns":              "state and interval of a random attribute at a random time",
	"slice_ms":              "all attributes at a random time, into the memory of an older slice",
	"slice_new_ms":          "the same into new memory",
	"cursor_1_ms":           "all attributes at a random time, by a cursor that keeps 1 slice, 4, 8, 16",
	"sweep_ms":              "all attributes at one of 1,000 times in order, by a cursor",
	"sample_ms":             "100 random attributes at 2,000 times across the history",
	"sample_threads_ms":     "the states of all threads (Threads/*) at 2,000 times, into the memory of older intervals",
	"sample_threads_new_ms": "the same into new memory",
	"range_us":              "all intervals of a random attribute",
}

// historyFigures are a set's costs: medians of CPU times.
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

// recordedSet is the trace of Table II in the R-SHT paper. It is not part of the project.
const recordedSet = "../../shared/data/intervals/many-threads"

// HistorySets are the default sets: the trace of Table II in the R-SHT paper, and its model with a hundred
// to a million attributes. The trace is skipped where it is absent.
var HistorySets = []string{
	recordedSet,
	"synth:100:10000", "synth:1000:1000", "synth:10000:100", "synth:100000:10", "synth:1000000:4",
}

// Histories measures interval histories over sets, which are files or synth:ATTRIBUTES:CHANGES.
func Histories(sets []string, repeat int) error {
	out := struct {
		Keys map[string]string `json:"keys"`
		Sets []historyFigures  `json:"sets"`
	}{Keys: historyKeys}
	for _, name := range sets {
		set, err := OpenHistorySet(name)
		if name == recordedSet && errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "histories: skip %s, which is not part of the project: %v\n", name, err)
			continue
		}
		if err != nil {
			return err
		}
		figures, err := measureHistory(name, set, repeat)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		out.Sets = append(out.Sets, figures)
	}
	return results.Print(out)
}

func measureHistory(name string, set *HistorySet, repeat int) (historyFigures, error) {
	// One goroutine does all work but collections, and idle collectors would look for more.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f := historyFigures{Set: name, Attributes: set.Attributes(), Intervals: set.Intervals(), Cursor: map[string]float64{}}
	byStart := set.set.ByStart()
	var view *history.View
	var rates [3][]float64
	for range repeat + 1 {
		for i, feed := range []func(*history.History) (*history.View, error){
			set.Feed,
			set.feedIntervals,
			func(h *history.History) (*history.View, error) { return set.feedChanges(h, byStart) },
		} {
			h, err := set.New()
			if err != nil {
				return f, err
			}
			runtime.GC()
			start := measure.CPU()
			if _, err = feed(h); err != nil {
				return f, err
			}
			rates[i] = append(rates[i], float64(set.Intervals())/1e6/(measure.CPU()-start).Seconds())
		}
	}
	f.Build, f.Add, f.Change = results.Median(rates[0][1:]), results.Median(rates[1][1:]), results.Median(rates[2][1:])

	before := measure.Heap()
	h, err := set.New()
	if err != nil {
		return f, err
	}
	if view, err = set.Feed(h); err != nil {
		return f, err
	}
	grown := float64(measure.Heap() - before)
	runtime.KeepAlive(set) // both heaps include it
	f.Interval = (grown - 32*float64(f.Attributes)) / float64(f.Intervals)
	f.Own = float64(h.Size()) / grown
	if err := set.Check(view); err != nil {
		return f, err
	}
	err = askHistory(&f, view, repeat)
	runtime.KeepAlive(h)
	return f, err
}
