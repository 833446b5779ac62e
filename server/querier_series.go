package server

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/server/fanout"
)

// SelectSeries returns values over time. A point has the sum of the profiles from its time up to the
// next step, or of gauges the mean of each source, unless the sum or the average of the profiles is
// asked for.
func (q *querier) SelectSeries(ctx context.Context, r *connect.Request[querierv1.SelectSeriesRequest]) (*connect.Response[querierv1.SelectSeriesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*querierv1.SelectSeriesResponse, error) {
		a, opts, err := q.over(r.Msg)
		if err != nil {
			return nil, err
		}
		if r.Msg.Aggregation == nil && a.typ.IsGauge() && asksSources(ctx) {
			out := &querierv1.SelectSeriesResponse{}
			out.Series, err = q.sourceSeries(ctx, snap, a, opts, r.Msg.GetGroupBy())
			return out, err
		}
		each := opts
		if r.Msg.GetAggregation() == typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE {
			if each, err = q.byProfile(ctx, snap, a, opts); err != nil {
				return nil, err
			}
		}
		lines, err := q.s.db.Range(ctx, snap, a.typ, a.query, each)
		if err == nil {
			err = q.s.tellKinds(ctx, snap, a.query, a.typ)
		}
		if err != nil {
			return nil, err
		}
		joined, series := means(lines, opts), (*meanLine).series
		if each.Step == 0 && asksSources(ctx) { // of profiles
			series = (*meanLine).sums
		}
		out := &querierv1.SelectSeriesResponse{}
		for _, line := range greatest(joined, opts.Top) {
			out.Series = append(out.Series, series(&line, typeLabels(a.name, a.typ), r.Msg.GetGroupBy()))
		}
		return out, nil
	})
}

// over returns the question of a request for values over time. Labels of the type are not among those
// to group by.
func (q *querier) over(m *querierv1.SelectSeriesRequest) (a asked, opts profile.RangeOptions, err error) {
	if a, err = q.ask(m.GetProfileTypeID(), m.GetLabelSelector(), m.GetStart(), m.GetEnd()); err != nil {
		return a, opts, err
	}
	const sum, average = typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_SUM, typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE
	switch most := q.s.limits.Labels; {
	case !(m.GetStep() >= 0.001) || m.GetStep() > 1e9: // not for a step that is no number
		return a, opts, invalid("step: want seconds, at least 0.001, not %v", m.GetStep())
	case m.GetLimit() < 0:
		return a, opts, invalid("limit: want at least 0, not %d", m.GetLimit())
	case len(m.GetGroupBy()) > most:
		return a, opts, tooLarge("group_by: %d labels, at most %d", len(m.GetGroupBy()), most)
	case slices.Contains(m.GetGroupBy(), ""):
		return a, opts, invalid("group_by: a name is empty")
	case m.GetAggregation() != sum && m.GetAggregation() != average:
		return a, opts, refused("aggregation: %s is not computed; sums and averages are", m.GetAggregation())
	case m.GetExemplarType() > typesv1.ExemplarType_EXEMPLAR_TYPE_NONE:
		return a, opts, refused("exemplar_type: the ids of profiles are not stored")
	}
	opts = profile.RangeOptions{
		Step: time.Duration(math.Round(m.GetStep()*1000)) * time.Millisecond, Top: int(min(m.GetLimit(), math.MaxInt32)),
		By: slices.DeleteFunc(slices.Clone(m.GetGroupBy()), isTypeLabel),
	}
	a.query.SumGauges = m.Aggregation != nil
	return a, opts, a.under(m.GetStackTraceSelector())
}

// meanLine is the answer for one set of labels.
type meanLine struct {
	labels []profile.Label
	points []meanPoint
}

// meanPoint is the sum of the values of a number of profiles.
type meanPoint struct {
	time     int64 // start of the step, in Unix nanoseconds
	sum      float64
	profiles int64
}

func (p meanPoint) value() float64 { return p.sum / float64(p.profiles) }

// byProfile returns the options of a range with a point for each profile: samples with one time and equal
// labels.
func (q *querier) byProfile(ctx context.Context, snap *columnstore.Snapshot, a asked, opts profile.RangeOptions) (profile.RangeOptions, error) {
	sources, err := q.s.db.Series(ctx, snap, a.query)
	names := map[string]bool{}
	each := profile.RangeOptions{By: slices.Clone(opts.By)}
	for _, s := range sources {
		for _, l := range s.Labels {
			if !names[l.Name] {
				names[l.Name] = true
				each.By = append(each.By, l.Name)
			}
		}
	}
	return each, err
}

// means joins lines by the labels of the options, and their points by step.
func means(lines []profile.Line, opts profile.RangeOptions) (out []meanLine) {
	index := map[string]int{}
	for _, line := range lines {
		labels := slices.DeleteFunc(line.Labels, func(l profile.Label) bool { return !slices.Contains(opts.By, l.Name) })
		key := fmt.Sprintf("%q", labels)
		i, known := index[key]
		if !known {
			i, index[key] = len(out), len(out)
			out = append(out, meanLine{labels: labels})
		}
		for _, p := range line.Points {
			out[i].points = append(out[i].points, meanPoint{schema.RoundDown(p.Time, int64(opts.Step)), float64(p.Value), 1})
		}
	}
	for i := range out {
		out[i].join()
	}
	return out
}

// join joins the points of each step, in order of time.
func (l *meanLine) join() {
	slices.SortStableFunc(l.points, func(a, b meanPoint) int { return cmp.Compare(a.time, b.time) })
	joined := l.points[:0]
	for _, p := range l.points {
		if n := len(joined); n > 0 && joined[n-1].time == p.time {
			joined[n-1].sum += p.sum
			joined[n-1].profiles++
		} else {
			joined = append(joined, p)
		}
	}
	l.points = joined
}

// greatest returns the lines sorted by their labels: all, or as many as have the greatest sums over
// their points.
func greatest(lines []meanLine, most int) []meanLine {
	total := func(l *meanLine) (sum float64) {
		for _, p := range l.points {
			sum += p.value()
		}
		return sum
	}
	byLabels := func(a, b meanLine) int { return compareLabels(a.labels, b.labels) }
	slices.SortFunc(lines, byLabels)
	if most > 0 && len(lines) > most {
		slices.SortStableFunc(lines, func(a, b meanLine) int { return cmp.Compare(total(&b), total(&a)) })
		lines = lines[:most]
		slices.SortFunc(lines, byLabels)
	}
	return lines
}

// series returns a line as one of the API, with those labels of the type that are asked for.
func (l *meanLine) series(ofType []profile.Label, names []string) *typesv1.Series {
	labels := slices.Clone(l.labels)
	for _, t := range ofType {
		if slices.Contains(names, t.Name) {
			labels = append(labels, t)
		}
	}
	slices.SortFunc(labels, compareLabel)
	out := &typesv1.Series{Labels: fanout.LabelPairs(labels)}
	for _, p := range l.points {
		out.Points = append(out.Points, &typesv1.Point{Timestamp: p.time / int64(time.Millisecond), Value: p.value()})
	}
	return out
}
