package workloads

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/history"
)

// askHistory measures the queries.
func askHistory(f *historyFigures, view *history.View, repeat int) error {
	rng := rand.New(rand.NewPCG(1, 1))
	span := view.End() - view.Start()
	at := func() int64 { return view.Start() + rng.Int64N(span) }
	attribute := func() history.Attribute { return history.Attribute(rng.IntN(view.Len())) }
	var failed error
	ms := func(ask func() error) float64 {
		return results.Median(measure.PerCall(repeat, func() { failed = errors.Join(failed, ask()) })) / 1e6
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
