package fanout

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/internal/means"
	"github.com/granarydb/granary/profile"
)

// LabelsKey returns labels as a text. Different labels have different texts.
func LabelsKey(labels []*typesv1.LabelPair) string {
	var key []byte
	for _, l := range labels {
		key = fmt.Appendf(key, "%q=%q,", l.GetName(), l.GetValue())
	}
	return string(key)
}

// Series returns values over time, made from the nodes' values. t is the type that the request names.
// isNamed reports that the type has a name.
func (s *Set) Series(ctx context.Context, m *querierv1.SelectSeriesRequest, t profile.Type, isNamed bool) ([]*typesv1.Series, error) {
	all := proto.CloneOf(m)
	all.Limit, all.ExemplarType = nil, 0 // a node's greatest lines and exemplars are not the greatest of all
	sums := lineSums{
		lines: map[string]*lineSum{}, times: map[sourceTime]int64{},
		isMean:    m.Aggregation == nil && t.IsGauge(),
		isAverage: m.GetAggregation() == typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_AVERAGE,
	}
	ask, kinds := Question{Path: querierv1connect.QuerierServiceSelectSeriesProcedure, Message: all, Kinds: !isNamed, Sources: sums.isMean || sums.isAverage}, kindsOf{}
	err := askTyped(ctx, s, 0.25, ask, func(n *node, m *querierv1.SelectSeriesResponse, r []reply) error {
		if ask.Sources && !r[0].sources {
			return n.away("an answer without what means are made from: is it a Granary of this version?")
		}
		if ask.Kinds && len(m.GetSeries()) > 0 {
			if err := kinds.add(n, r[0].kinds); err != nil {
				return err
			}
		}
		return sums.add(n, m)
	})
	if err == nil {
		err = kinds.check(t)
	}
	if err != nil {
		return nil, err
	}
	return sums.top(int(max(m.GetLimit(), 0))), nil
}

// lineSums has the lines of all nodes.
type lineSums struct {
	isMean    bool // the values are means of gauges, by source
	isAverage bool // the values are averages over profiles
	lines     map[string]*lineSum
	times     map[sourceTime]int64 // number of times of a source in a step, for isMean
}

// sourceTime is a source and a step.
type sourceTime struct {
	source string
	at     int64
}

// lineSum is a line over all nodes.
type lineSum struct {
	labels []*typesv1.LabelPair
	points map[int64]*pointSum
}

// pointSum is a point of a line.
type pointSum struct {
	sum      float64
	profiles int64            // for an average
	sources  map[string]int64 // sums for a mean
}

// add adds a node's lines, or nothing if one is malformed.
func (s *lineSums) add(n *node, m *querierv1.SelectSeriesResponse) error {
	trial := lineSums{lines: map[string]*lineSum{}, times: map[sourceTime]int64{}, isMean: s.isMean, isAverage: s.isAverage}
	if err := trial.addLines(n, m); err != nil {
		return err
	}
	return s.addLines(n, m)
}

// addLines adds lines up to the first malformed line.
func (s *lineSums) addLines(n *node, m *querierv1.SelectSeriesResponse) error {
	for _, series := range m.GetSeries() {
		labels, source := series.GetLabels(), ""
		if s.isMean {
			last := len(labels) - 1
			if last < 0 || labels[last].GetName() != sourceKey {
				return n.away("a wrong answer: a line without its source")
			}
			labels, source = labels[:last], labels[last].GetValue()
		}
		for _, p := range series.GetPoints() {
			if err := s.addPoint(labels, source, p); err != nil {
				return n.away("a wrong answer: %v", err)
			}
		}
	}
	return nil
}

// addPoint adds a point or a number of times from a node's line.
func (s *lineSums) addPoint(labels []*typesv1.LabelPair, source string, p *typesv1.Point) error {
	at := p.GetTimestamp()
	sum, err := int64(0), error(nil)
	if s.isMean {
		if times, err := timesOf(p.GetAnnotations(), timesKey); err == nil {
			if times < 1 || times > mostTimes {
				return fmt.Errorf("a source at %d times", times)
			}
			s.times[sourceTime{source, at}] += times
			return nil
		}
		if sum, err = timesOf(p.GetAnnotations(), sumKey); err != nil {
			return err
		}
	}
	key := LabelsKey(labels)
	line := s.lines[key]
	if line == nil {
		line = &lineSum{labels: labels, points: map[int64]*pointSum{}}
		s.lines[key] = line
	}
	point := line.points[at]
	if point == nil {
		point = &pointSum{}
		line.points[at] = point
	}
	switch {
	case s.isMean:
		if point.sources == nil {
			point.sources = map[string]int64{}
		}
		point.sources[source] += sum
	case s.isAverage:
		profiles, err := timesOf(p.GetAnnotations(), timesKey)
		if err != nil {
			return err
		}
		if profiles < 1 || profiles > mostTimes {
			return fmt.Errorf("an average of %d profiles", profiles)
		}
		point.profiles += profiles
	}
	point.sum += p.GetValue()
	return nil
}

// value returns a point's value.
func (s *lineSums) value(at int64, p *pointSum) float64 {
	switch {
	case s.isAverage:
		return p.sum / float64(p.profiles)
	case s.isMean:
		var mean means.Total
		for source, sum := range p.sources {
			mean.Add(sum, max(1, s.times[sourceTime{source, at}]))
		}
		return float64(mean.Value())
	}
	return p.sum
}

// top returns the lines with the greatest sums, sorted by their labels; all lines if most is 0.
func (s *lineSums) top(most int) []*typesv1.Series {
	type line struct {
		*typesv1.Series
		total float64
	}
	byLabels := func(a, b line) int {
		return slices.CompareFunc(a.Labels, b.Labels, func(a, b *typesv1.LabelPair) int {
			return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetValue(), b.GetValue()))
		})
	}
	var lines []line
	for _, sum := range s.lines {
		l := line{Series: &typesv1.Series{Labels: sum.labels}}
		for _, at := range slices.Sorted(maps.Keys(sum.points)) {
			l.Points = append(l.Points, &typesv1.Point{Timestamp: at, Value: s.value(at, sum.points[at])})
			l.total += l.Points[len(l.Points)-1].GetValue()
		}
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Or(cmp.Compare(b.total, a.total), byLabels(a, b)) })
	if most > 0 {
		lines = lines[:min(most, len(lines))]
	}
	slices.SortFunc(lines, byLabels)
	var out []*typesv1.Series
	for _, l := range lines {
		out = append(out, l.Series)
	}
	return out
}
