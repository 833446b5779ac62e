package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/union"
)

// kind is a kind of query.
type kind struct {
	name  string
	count int     // number of different queries
	unit  float64 // unit of its times, in ns
	ask   func(ctx context.Context, h union.Member, q *question, room []history.Interval) ([]history.Interval, error)
}

var kinds = [...]kind{
	{"state", 1000, 1e3, func(ctx context.Context, h union.Member, q *question, room []history.Interval) ([]history.Interval, error) {
		in, err := h.At(ctx, q.attribute, q.from)
		return append(room, in), err
	}},
	{"slice", 20, 1e3, func(ctx context.Context, h union.Member, q *question, room []history.Interval) ([]history.Interval, error) {
		return h.Slice(ctx, q.from, room)
	}},
	{"range", 200, 1e3, func(ctx context.Context, h union.Member, q *question, room []history.Interval) ([]history.Interval, error) {
		var failed error
		for in, err := range h.Range(ctx, q.attribute, q.from, q.to) {
			room, failed = append(room, in), err
		}
		return room, failed
	}},
	{"2D", 5, 1e6, func(ctx context.Context, h union.Member, q *question, _ []history.Interval) ([]history.Interval, error) {
		_, all, err := h.Sample(ctx, q.attributes, q.times)
		return all, err
	}},
}

// question is the arguments for any kind of query.
type question struct {
	attribute  history.Attribute
	attributes []history.Attribute
	from, to   int64
	times      []int64
}

// questions are the queries of one set, and its whole history.
type questions struct {
	whole     union.Member
	intervals int
	all       [len(kinds)][]question
}

// ask draws queries of the attributes with states. A range has a hundredth of the time, and a 2D query 100
// attributes at 1,000 instants.
func ask(ctx context.Context, whole union.Member) (*questions, error) {
	const planeAttributes, planeInstants, rangeShare = 100, 1000, 100
	q := &questions{whole: whole}
	var with []history.Attribute
	for a := range history.Attribute(whole.Names().Len()) {
		n, isNull := 0, true
		for in, err := range whole.Range(ctx, a, whole.Start(), whole.End()) {
			if err != nil {
				return nil, err
			}
			n++
			isNull = isNull && in.Value.IsNull()
		}
		if !isNull {
			with, q.intervals = append(with, a), q.intervals+n
		}
	}
	if len(with) == 0 {
		return nil, fmt.Errorf("%w: no attribute has states", history.ErrQuery)
	}
	r := rand.New(rand.NewPCG(1, 2))
	span := whole.End() - whole.Start() + 1
	for i, kind := range kinds {
		for range kind.count {
			x := question{attribute: with[r.IntN(len(with))], from: whole.Start() + r.Int64N(span)}
			x.to = min(x.from+span/rangeShare, whole.End())
			for _, j := range r.Perm(len(with))[:min(len(with), planeAttributes)] {
				x.attributes = append(x.attributes, with[j])
			}
			x.times = history.PixelTimes(whole.Start(), whole.End(), planeInstants)
			q.all[i] = append(q.all[i], x)
		}
	}
	return q, nil
}

// compare compares a history's answers to all queries of a kind with the whole's.
func (q *questions) compare(ctx context.Context, i int, h union.Member) error {
	same := func(a, b history.Interval) bool {
		return a.Start == b.Start && a.End == b.End && a.Open == b.Open && a.Value.Equal(b.Value)
	}
	for n := range q.all[i] {
		x := &q.all[i][n]
		want, err := kinds[i].ask(ctx, q.whole, x, nil)
		if err != nil {
			return err
		}
		got, err := kinds[i].ask(ctx, h, x, nil)
		if err != nil {
			return err
		}
		if !slices.EqualFunc(got, want, same) {
			return fmt.Errorf("question %d has another answer than the whole history", n)
		}
	}
	return nil
}

// time returns the CPU time of a query of a kind, in ns: the median over rounds of all, each of which takes
// at least 25 ms.
func (q *questions) time(ctx context.Context, i int, h union.Member, repeat int) (float64, error) {
	var all []float64
	var room []history.Interval
	for range max(1, repeat) {
		asked, start := 0, measure.CPU()
		for asked == 0 || measure.CPU()-start < 25*time.Millisecond {
			for n := range q.all[i] {
				var err error
				if room, err = kinds[i].ask(ctx, h, &q.all[i][n], room[:0]); err != nil {
					return 0, err
				}
			}
			asked += len(q.all[i])
		}
		all = append(all, float64(measure.CPU()-start)/float64(asked))
	}
	return results.Median(all), nil
}
