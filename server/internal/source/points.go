package source

import (
	"context"
	"slices"
	"time"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
)

// Points implements Source.
func (s *Store) Points(ctx context.Context, m *querierv1.SelectHeatmapRequest) ([]*typesv1.HeatmapSeries, error) {
	return listed(ctx, s, m, (*At).points)
}

// Names of the labels that choose spans.
const (
	spanLabel  = "span_id"
	traceLabel = "trace_id"
)

func (v *At) points(ctx context.Context, m *querierv1.SelectHeatmapRequest) ([]*typesv1.HeatmapSeries, error) {
	a, by, _, err := v.store.read.Points(m)
	if err != nil {
		return nil, err
	}
	known, err := v.sourcesOf(ctx, a.Query)
	if err != nil {
		return nil, err
	}
	isSpan := m.GetQueryType() == querierv1.HeatmapQueryType_HEATMAP_QUERY_TYPE_SPAN
	each := profile.RangeOptions{By: slices.Concat(by, known.names)}
	if isSpan {
		each.By = append(each.By, spanLabel, traceLabel)
	}
	lines, err := v.DB.Range(ctx, v.Snap, a.Type, a.Query, each)
	if err == nil {
		err = v.Profiles().TellKinds(ctx, a.Query, a.Type)
	}
	if err != nil {
		return nil, err
	}
	out := points{of: map[string]*typesv1.HeatmapSlot{}, most: int(v.store.read.QueryBytes / pointBytes)}
	for _, line := range lines {
		if isSpan && question.ValueOf(line.Labels, spanLabel) == "" {
			continue
		}
		if err := out.add(line, known, by, m.GetGroupBy(), question.TypeLabels(a.Name, a.Type)); err != nil {
			return nil, err
		}
	}
	return out.series, nil
}

// knownSources are the labels of the series that a query can choose.
type knownSources struct {
	names  []string                      // of the labels
	hashes map[string]question.LabelHash // by the text of the labels
	labels map[question.LabelHash][]profile.Label
}

func (v *At) sourcesOf(ctx context.Context, q profile.Query) (known knownSources, err error) {
	sources, err := v.DB.Series(ctx, v.Snap, q)
	known.hashes, known.labels = map[string]question.LabelHash{}, map[question.LabelHash][]profile.Label{}
	for _, s := range sources {
		key := fanout.LabelsKey(fanout.LabelPairs(s.Labels))
		if _, has := known.hashes[key]; has {
			continue
		}
		known.hashes[key] = question.HashLabels(s.Labels)
		known.labels[known.hashes[key]] = s.Labels
		for _, l := range s.Labels {
			if !slices.Contains(known.names, l.Name) {
				known.names = append(known.names, l.Name)
			}
		}
	}
	return known, err
}

// points collects the profiles or spans of an answer, in a slot for each combination of labels to group by.
type points struct {
	series []*typesv1.HeatmapSeries
	of     map[string]*typesv1.HeatmapSlot
	count  int
	most   int // greatest count
}

// pointBytes is about the memory of a point, and of its share of a heat map.
const pointBytes = 384

// add adds the points of a line, which has the labels of one profile and the labels to group by.
func (p *points) add(line profile.Line, known knownSources, by, names []string, ofType []profile.Label) error {
	if p.count += len(line.Points); p.count > p.most {
		return fault.TooCostly("the memory of a query, for at most %d profiles or spans", p.most)
	}
	grouped, own := (&meanLine{labels: keptLabels(line.Labels, by)}).series(ofType, names), keptLabels(line.Labels, known.names)
	hash, isKnown := known.hashes[fanout.LabelsKey(fanout.LabelPairs(own))]
	key := fanout.LabelsKey(grouped.GetLabels())
	slot := p.of[key]
	if slot == nil {
		slot = &typesv1.HeatmapSlot{}
		p.of[key] = slot
		p.series = append(p.series, &typesv1.HeatmapSeries{Labels: grouped.GetLabels(), Slots: []*typesv1.HeatmapSlot{slot}})
	}
	others := fanout.LabelPairs(slices.DeleteFunc(own, func(l profile.Label) bool { return l.Name == profile.NameLabel || slices.Contains(by, l.Name) }))
	for _, at := range line.Points {
		e := &typesv1.Exemplar{
			Timestamp: at.Time / int64(time.Millisecond), Value: at.Value, Labels: others,
			SpanId: question.ValueOf(line.Labels, spanLabel), TraceId: question.ValueOf(line.Labels, traceLabel),
		}
		if isKnown {
			e.ProfileId = question.ProfileID(at.Time, hash)
		}
		slot.Exemplars = append(slot.Exemplars, e)
	}
	return nil
}

// keptLabels returns a copy of the labels with one of several names.
func keptLabels(labels []profile.Label, names []string) []profile.Label {
	return slices.DeleteFunc(slices.Clone(labels), func(l profile.Label) bool { return !slices.Contains(names, l.Name) })
}

// OfProfile restricts a query to the profile with an id. ids are valid, and at most one.
func (v *At) OfProfile(ctx context.Context, q profile.Query, ids []string) (profile.Query, error) {
	if len(ids) == 0 {
		return q, nil
	}
	at, want, err := question.ParseProfileID(ids[0])
	if err != nil {
		return q, err
	}
	isOutside := at < q.From || q.To != 0 && at >= q.To
	q.From, q.To = at, at+1
	known, err := v.sourcesOf(ctx, q)
	if err != nil {
		return q, err
	}
	labels, has := known.labels[want]
	if isOutside || !has {
		q.Where = columnstore.Or() // which never holds: there is no such profile
		return q, nil
	}
	conditions := []columnstore.Expr{q.Where}
	for _, name := range known.names { // also labels of other profiles, which this one lacks
		conditions = append(conditions, columnstore.Equal(profile.ColumnLabels+"."+name, question.ValueOf(labels, name)))
	}
	q.Where = columnstore.And(conditions...)
	return q, nil
}
