package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/fanout"
)

// ProfileTypes returns the types of the profiles of a range of time, without reading rows.
func (q *querier) ProfileTypes(ctx context.Context, r *connect.Request[querierv1.ProfileTypesRequest]) (*connect.Response[querierv1.ProfileTypesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*querierv1.ProfileTypesResponse, error) {
		query := profile.Query{MaxBytes: q.s.limits.QueryBytes}
		if err := millis(&query, r.Msg.GetStart(), r.Msg.GetEnd()); err != nil {
			return nil, err
		}
		kinds, err := q.s.db.Kinds(ctx, snap, query)
		if err != nil {
			return nil, err
		}
		out := &querierv1.ProfileTypesResponse{}
		known := map[string]bool{}
		for _, k := range kinds {
			for _, t := range k.Types {
				if id := typeID(k.Name, t); !known[id] {
					known[id] = true
					out.ProfileTypes = append(out.ProfileTypes, &typesv1.ProfileType{
						ID: id, Name: cmp.Or(k.Name, unnamed), SampleType: t.Sample, SampleUnit: t.SampleUnit, PeriodType: t.Period, PeriodUnit: t.PeriodUnit,
					})
				}
			}
		}
		slices.SortFunc(out.ProfileTypes, func(a, b *typesv1.ProfileType) int { return cmp.Compare(a.GetID(), b.GetID()) })
		return out, nil
	})
}

// LabelNames returns the names of the labels of profiles, and of those of their types.
func (q *querier) LabelNames(ctx context.Context, r *connect.Request[typesv1.LabelNamesRequest]) (*connect.Response[typesv1.LabelNamesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*typesv1.LabelNamesResponse, error) {
		names := map[string]bool{}
		err := q.eachSelector(ctx, snap, r.Msg, false, func(f found) error {
			all, err := q.s.db.LabelNames(ctx, snap, f.query)
			if err != nil || len(all) == 0 || f.isNone() {
				return err
			}
			for _, l := range typeLabels("", profile.Type{}) {
				names[l.Name] = true
			}
			for _, s := range f.sources {
				for _, l := range s.Labels {
					names[l.Name] = true
				}
			}
			for _, name := range all {
				if !f.others[name] { // of a source, or of samples
					names[name] = true
				}
			}
			return nil
		})
		return &typesv1.LabelNamesResponse{Names: slices.Sorted(maps.Keys(names))}, err
	})
}

// LabelValues returns the values of a label.
func (q *querier) LabelValues(ctx context.Context, r *connect.Request[typesv1.LabelValuesRequest]) (*connect.Response[typesv1.LabelValuesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*typesv1.LabelValuesResponse, error) {
		name, values := r.Msg.GetName(), map[string]bool{}
		if name == "" {
			return nil, invalid("name: want the name of a label")
		}
		ofType := isTypeLabel(name)
		err := q.eachSelector(ctx, snap, r.Msg, ofType, func(f found) error {
			for _, s := range f.sources {
				labels := s.Labels
				if ofType {
					labels = typeLabels(valueOf(labels, profile.NameLabel), s.Type)
				}
				values[valueOf(labels, name)] = true
			}
			if ofType || f.isNone() || f.others[name] {
				return nil // there are no further values, or they are those of other types
			}
			all, err := q.s.db.LabelValues(ctx, snap, name, f.query)
			for _, v := range all {
				values[v] = true
			}
			return err
		})
		delete(values, "")
		return &typesv1.LabelValuesResponse{Names: slices.Sorted(maps.Keys(values))}, err
	})
}

// Series returns the distinct sets of labels of profiles, with their types as labels.
func (q *querier) Series(ctx context.Context, r *connect.Request[querierv1.SeriesRequest]) (*connect.Response[querierv1.SeriesResponse], error) {
	return answered(ctx, q.s, func(ctx context.Context, snap *columnstore.Snapshot) (*querierv1.SeriesResponse, error) {
		var sets [][]profile.Label
		known := map[string]bool{}
		err := q.eachSelector(ctx, snap, r.Msg, true, func(f found) error {
			for _, s := range f.sources {
				labels := sourceLabels(s, r.Msg.GetLabelNames())
				if key := fmt.Sprintf("%q", labels); len(labels) > 0 && !known[key] {
					known[key] = true
					sets = append(sets, labels)
				}
			}
			return nil
		})
		slices.SortFunc(sets, compareLabels)
		out := &querierv1.SeriesResponse{}
		for _, labels := range sets {
			out.LabelsSet = append(out.LabelsSet, &typesv1.Labels{Labels: fanout.LabelPairs(labels)})
		}
		return out, err
	})
}

// found is what a selector can choose, without a look at rows.
type found struct {
	query   profile.Query
	isTyped bool             // the selector has conditions on the type, which query has not
	sources []profile.Source // if it is typed, or if they are asked for
	others  map[string]bool  // the labels of series whose type alone is not chosen
}

// isNone reports whether no type is chosen.
func (f *found) isNone() bool { return f.isTyped && len(f.sources) == 0 }

// labelQuestion is a question about labels.
type labelQuestion interface {
	GetMatchers() []string
	GetStart() int64
	GetEnd() int64
}

// eachSelector calls f for each selector of a question about labels, or once if it has none. The answer
// is that of all of them together.
func (q *querier) eachSelector(ctx context.Context, snap *columnstore.Snapshot, about labelQuestion, sources bool, f func(found) error) error {
	const most = 100
	matchers := about.GetMatchers()
	if len(matchers) > most {
		return tooLarge("matchers: %d selectors, at most %d", len(matchers), most)
	}
	if len(matchers) == 0 {
		matchers = []string{""}
	}
	for _, text := range matchers {
		one := found{query: profile.Query{MaxBytes: q.s.limits.QueryBytes}, others: map[string]bool{}}
		s, err := parseSelection(text)
		if err == nil {
			one.query.Selector, err = selectorOf(s.labels)
		}
		if err != nil {
			return invalid("matchers: %w", err)
		}
		if err := millis(&one.query, about.GetStart(), about.GetEnd()); err != nil {
			return err
		}
		if one.isTyped = len(s.types) > 0; one.isTyped || sources {
			all, err := q.s.db.Series(ctx, snap, one.query)
			if err != nil {
				return err
			}
			one.choose(all, &s)
		}
		if err := f(one); err != nil {
			return err
		}
	}
	return nil
}

// choose divides series by their type.
func (f *found) choose(all []profile.Source, s *selection) {
	for _, source := range all {
		if s.hasType(valueOf(source.Labels, profile.NameLabel), source.Type) {
			f.sources = append(f.sources, source)
			continue
		}
		for _, l := range source.Labels {
			f.others[l.Name] = true
		}
	}
}

// sourceLabels returns the labels of a series and of its type, sorted: those of some names, or all.
func sourceLabels(s profile.Source, names []string) (labels []profile.Label) {
	labels = slices.DeleteFunc(slices.Clone(s.Labels), func(l profile.Label) bool { return isTypeLabel(l.Name) })
	labels = append(labels, typeLabels(valueOf(s.Labels, profile.NameLabel), s.Type)...)
	labels = slices.DeleteFunc(labels, func(l profile.Label) bool {
		return l.Value == "" || len(names) > 0 && !slices.Contains(names, l.Name)
	})
	slices.SortFunc(labels, compareLabel)
	return labels
}

// valueOf returns the value of a label, or "" without it.
func valueOf(labels []profile.Label, name string) string {
	for _, l := range labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

func compareLabel(a, b profile.Label) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
}

// compareLabels orders by the first label that differs.
func compareLabels(a, b []profile.Label) int { return slices.CompareFunc(a, b, compareLabel) }
