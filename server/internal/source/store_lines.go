package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/question"
)

// Lines implements Source.
func (s *Store) Lines(ctx context.Context, m *querierv1.SelectSeriesRequest) ([]*typesv1.Series, error) {
	return listed(ctx, s, m, (*At).lines)
}

func (v *At) lines(ctx context.Context, m *querierv1.SelectSeriesRequest) (out []*typesv1.Series, err error) {
	a, opts, err := v.store.read.Over(m)
	if err != nil {
		return nil, err
	}
	if m.Aggregation == nil && a.Type.IsGauge() && AsksSources(ctx) {
		return v.sourceSeries(ctx, a, opts, m.GetGroupBy())
	}
	each := opts
	if m.GetAggregation() == typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE {
		if each, err = v.byProfile(ctx, a, opts); err != nil {
			return nil, err
		}
	}
	lines, err := v.DB.Range(ctx, v.Snap, a.Type, a.Query, each)
	if err == nil {
		err = v.Profiles().TellKinds(ctx, a.Query, a.Type)
	}
	if err != nil {
		return nil, err
	}
	joined, series := means(lines, opts), (*meanLine).series
	if each.Step == 0 && AsksSources(ctx) { // of profiles
		series = (*meanLine).sums
	}
	for _, line := range greatest(joined, opts.Top) {
		out = append(out, series(&line, question.TypeLabels(a.Name, a.Type), m.GetGroupBy()))
	}
	return out, nil
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
func (v *At) byProfile(ctx context.Context, a question.Asked, opts profile.RangeOptions) (profile.RangeOptions, error) {
	sources, err := v.DB.Series(ctx, v.Snap, a.Query)
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

// greatest returns the lines sorted by their labels: all, or the `most` lines with the greatest sums over
// their points.
func greatest(lines []meanLine, most int) []meanLine {
	total := func(l *meanLine) (sum float64) {
		for _, p := range l.points {
			sum += p.value()
		}
		return sum
	}
	byLabels := func(a, b meanLine) int { return question.CompareLabels(a.labels, b.labels) }
	slices.SortFunc(lines, byLabels)
	if most > 0 && len(lines) > most {
		slices.SortStableFunc(lines, func(a, b meanLine) int { return cmp.Compare(total(&b), total(&a)) })
		lines = lines[:most]
		slices.SortFunc(lines, byLabels)
	}
	return lines
}

// series converts a line to a series of the API, with the requested labels of the type.
func (l *meanLine) series(ofType []profile.Label, names []string) *typesv1.Series {
	labels := slices.Clone(l.labels)
	for _, t := range ofType {
		if slices.Contains(names, t.Name) {
			labels = append(labels, t)
		}
	}
	slices.SortFunc(labels, question.CompareLabel)
	out := &typesv1.Series{Labels: fanout.LabelPairs(labels)}
	for _, p := range l.points {
		out.Points = append(out.Points, &typesv1.Point{Timestamp: p.time / int64(time.Millisecond), Value: p.value()})
	}
	return out
}

// sums is series with the sums of averages, and the numbers of profiles.
func (l *meanLine) sums(ofType []profile.Label, names []string) *typesv1.Series {
	out := l.series(ofType, names)
	for i, p := range l.points {
		out.Points[i].Value, out.Points[i].Annotations = p.sum, fanout.NumberAs(false, p.profiles)
	}
	return out
}

// sourceSeries returns the sums of gauges over time by source, and their numbers of times.
func (v *At) sourceSeries(ctx context.Context, a question.Asked, opts profile.RangeOptions, names []string) (out []*typesv1.Series, err error) {
	sums, times, err := v.DB.SourceRange(ctx, v.Snap, a.Type, a.Query, opts)
	if err == nil {
		err = v.Profiles().TellKinds(ctx, a.Query, a.Type)
	}
	if err != nil {
		return nil, err
	}
	for i, lines := range [][]profile.SourceLine{sums, times} {
		for _, l := range lines {
			series := &typesv1.Series{}
			if isSum := i == 0; isSum {
				series = (&meanLine{labels: l.Labels}).series(question.TypeLabels(a.Name, a.Type), names)
			}
			series.Labels = append(series.Labels, fanout.SourcePair(l.Source))
			for _, p := range l.Points {
				series.Points = append(series.Points, &typesv1.Point{Timestamp: p.Time / int64(time.Millisecond), Annotations: fanout.NumberAs(i == 0, p.Value)})
			}
			out = append(out, series)
		}
	}
	return out, nil
}
