package fanout

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/profile"
)

// LabelsKey returns labels as a text, which differs from that of all others.
func LabelsKey(labels []*typesv1.LabelPair) string {
	var key []byte
	for _, l := range labels {
		key = fmt.Appendf(key, "%q=%q,", l.GetName(), l.GetValue())
	}
	return string(key)
}

// Series returns sums over time: the points of the nodes are added up. Their type is t, which the request
// names, and isNamed says that it has a name.
func (s *Set) Series(ctx context.Context, m *querierv1.SelectSeriesRequest, t profile.Type, isNamed bool) ([]*typesv1.Series, error) {
	all := proto.CloneOf(m)
	all.Limit = nil // the greatest of a node are not those of all
	sums := lineSums{typ: t, lines: map[string]*lineSum{}, isMean: t.IsGauge()}
	if m.Aggregation != nil {
		sums.isMean = m.GetAggregation() != typesv1.TimeSeriesAggregationType_TIME_SERIES_AGGREGATION_TYPE_SUM
	}
	var more []Question
	of := means{typ: t, bySource: true, nodes: map[string]*node{}}
	if isOfSources := t.IsGauge() && m.Aggregation == nil; isOfSources {
		more = append(more, of.question(m.GetLabelSelector(), m.GetStart(), m.GetEnd()))
	}
	ask, kinds := Question{Path: querierv1connect.QuerierServiceSelectSeriesProcedure, Message: all, Kinds: !isNamed}, kindsOf{}
	err := askTyped(ctx, s, 0.25, ask, func(n *node, m *querierv1.SelectSeriesResponse, r []reply) error {
		if ask.Kinds && len(m.GetSeries()) > 0 {
			if err := kinds.add(n, r[0].kinds); err != nil {
				return err
			}
		}
		if len(more) > 0 {
			if err := of.add(s, n, r[1]); err != nil {
				return err
			}
		}
		return sums.add(n, m)
	}, more...)
	if err == nil {
		err = kinds.check(t)
	}
	if err != nil {
		return nil, err
	}
	return sums.top(int(max(m.GetLimit(), 0))), nil
}

// lineSums are the lines of all nodes.
type lineSums struct {
	typ    profile.Type
	isMean bool // points of two nodes cannot be added
	lines  map[string]*lineSum
}

// lineSum is a line of all nodes.
type lineSum struct {
	labels []*typesv1.LabelPair
	points map[int64]*typesv1.Point
	of     map[int64]*node // of each point, if it is a mean
	total  float64
}

// add adds the lines of a node.
func (s *lineSums) add(n *node, m *querierv1.SelectSeriesResponse) error {
	for _, series := range m.GetSeries() {
		key := LabelsKey(series.GetLabels())
		line := s.lines[key]
		if line == nil {
			line = &lineSum{labels: series.GetLabels(), points: map[int64]*typesv1.Point{}, of: map[int64]*node{}}
			s.lines[key] = line
		}
		for _, p := range series.GetPoints() {
			line.total += p.GetValue()
			sum := line.points[p.GetTimestamp()]
			if sum == nil {
				line.points[p.GetTimestamp()] = p
				if s.isMean {
					line.of[p.GetTimestamp()] = n
				}
				continue
			}
			if s.isMean {
				return meanError(s.typ, line.of[p.GetTimestamp()], n)
			}
			sum.Value += p.GetValue()
		}
	}
	return nil
}

// top returns the lines with the greatest sums, all of them if most is 0, sorted by their labels.
func (s *lineSums) top(most int) []*typesv1.Series {
	byLabels := func(a, b *lineSum) int {
		return slices.CompareFunc(a.labels, b.labels, func(a, b *typesv1.LabelPair) int {
			return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetValue(), b.GetValue()))
		})
	}
	var lines []*lineSum
	for _, line := range s.lines {
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b *lineSum) int { return cmp.Or(cmp.Compare(b.total, a.total), byLabels(a, b)) })
	if most > 0 {
		lines = lines[:min(most, len(lines))]
	}
	slices.SortFunc(lines, byLabels)
	var out []*typesv1.Series
	for _, line := range lines {
		series := &typesv1.Series{Labels: line.labels}
		for _, p := range line.points {
			series.Points = append(series.Points, p)
		}
		slices.SortFunc(series.Points, func(a, b *typesv1.Point) int { return cmp.Compare(a.GetTimestamp(), b.GetTimestamp()) })
		out = append(out, series)
	}
	return out
}
