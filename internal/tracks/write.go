package tracks

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
)

// WriteTo writes the timeline into a target, in the order of time, and closes its history. It consumes the timeline. The errors
// are ErrNoStates, and those of the target and of ctx. After an error the target has the committed states, and may be in
// a transaction.
func (s *Timeline) WriteTo(ctx context.Context, to trace.Target) (trace.Outcome, error) {
	s.match()
	if s.first == math.MaxInt64 {
		return s.Outcome, ErrNoStates
	}
	s.Outcome.End = s.last
	rows := s.place()
	if !slices.IsSortedFunc(s.points, comparePoints) {
		slices.SortStableFunc(s.points, comparePoints)
	}
	c, err := trace.NewChanges(to, s.first)
	if err != nil {
		return s.Outcome, err
	}
	w := &sweep{Timeline: s, to: c, values: make([]history.Value, len(s.texts))}
	first, err := c.At(ctx, s.first)
	if err != nil {
		return s.Outcome, err
	}
	if w.ofRows, w.ofCounters, err = s.addAttributes(first, rows); err != nil {
		return s.Outcome, err
	}
	if err := w.write(ctx); err != nil {
		return s.Outcome, err
	}
	return s.Outcome, c.Close(s.last)
}

func comparePoints(a, b point) int { return cmp.Compare(a.t, b.t) }

// sweep writes the slices and points of a timeline, which have places, in the order of time.
type sweep struct {
	*Timeline
	to                 *trace.Changes
	ofRows, ofCounters []history.Attribute
	values             []history.Value // by text; null if not made yet
	ends               endings
}

func (w *sweep) write(ctx context.Context) error {
	points := w.points
	for _, sl := range w.slices {
		n := 0
		for n < len(points) && points[n].t < sl.start {
			n++
		}
		if err := w.writePoints(ctx, points[:n]); err != nil {
			return err
		}
		points = points[n:]
		if err := w.endUntil(ctx, sl.start); err != nil {
			return err
		}
		if err := w.change(ctx, sl.start, w.ofRows[sl.row], w.value(sl.name)); err != nil {
			return err
		}
		w.ends.push(ending{sl.end, sl.row})
	}
	if err := w.writePoints(ctx, points); err != nil {
		return err
	}
	return w.endUntil(ctx, w.last)
}

func (w *sweep) writePoints(ctx context.Context, points []point) error {
	for _, p := range points {
		if err := w.endUntil(ctx, p.t); err != nil {
			return err
		}
		v := history.Int(int64(p.word))
		switch {
		case p.isFloat:
			v = history.Float(math.Float64frombits(p.word))
		case w.nodes[w.counters[p.counter].node].isFloat:
			v = history.Float(float64(int64(p.word)))
		}
		if err := w.change(ctx, p.t, w.ofCounters[p.counter], v); err != nil {
			return err
		}
	}
	return nil
}

// endUntil ends the slices that end at t or before. A slice that begins when another ends in its row replaces the null,
// and has an interval of its own also if the names are equal.
func (w *sweep) endUntil(ctx context.Context, t int64) error {
	for len(w.ends) > 0 && w.ends[0].t <= t {
		e := w.ends.pop()
		if err := w.change(ctx, e.t, w.ofRows[e.row], history.Value{}); err != nil {
			return err
		}
	}
	return nil
}

func (w *sweep) change(ctx context.Context, t int64, a history.Attribute, v history.Value) error {
	to, err := w.to.At(ctx, t)
	if err != nil {
		return err
	}
	return to.Change(t, a, v)
}

// value returns the value of a slice.
func (w *sweep) value(name Text) history.Value {
	if w.values[name].IsNull() {
		w.values[name] = history.String(cmp.Or(w.texts[name], "unnamed"))
	}
	return w.values[name]
}
