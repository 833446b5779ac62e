package source

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
)

// listed returns a list from a snapshot of the present store.
func listed[M, T any](ctx context.Context, s *Store, m M, list func(*At, context.Context, M) ([]T, error)) (out []T, err error) {
	err = s.At(ctx, func(v *At) (err error) {
		out, err = list(v, ctx, m)
		return err
	})
	return out, err
}

// Types implements Source, without reading rows.
func (s *Store) Types(ctx context.Context, m *querierv1.ProfileTypesRequest) ([]*typesv1.ProfileType, error) {
	return listed(ctx, s, m, (*At).types)
}

// LabelNames implements Source.
func (s *Store) LabelNames(ctx context.Context, m *typesv1.LabelNamesRequest) ([]string, error) {
	return listed(ctx, s, m, (*At).labelNames)
}

// LabelValues implements Source.
func (s *Store) LabelValues(ctx context.Context, m *typesv1.LabelValuesRequest) ([]string, error) {
	return listed(ctx, s, m, (*At).labelValues)
}

// Series implements Source.
func (s *Store) Series(ctx context.Context, m *querierv1.SeriesRequest) ([]*typesv1.Labels, error) {
	return listed(ctx, s, m, (*At).series)
}

func (v *At) types(ctx context.Context, m *querierv1.ProfileTypesRequest) (out []*typesv1.ProfileType, err error) {
	query := profile.Query{MaxBytes: v.store.read.QueryBytes}
	if err := question.Millis(&query, m.GetStart(), m.GetEnd()); err != nil {
		return nil, err
	}
	kinds, err := v.DB.Kinds(ctx, v.Snap, query)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, k := range kinds {
		for _, t := range k.Types {
			if id := question.TypeID(k.Name, t); !known[id] {
				known[id] = true
				out = append(out, &typesv1.ProfileType{
					ID: id, Name: cmp.Or(k.Name, question.Unnamed), SampleType: t.Sample, SampleUnit: t.SampleUnit, PeriodType: t.Period, PeriodUnit: t.PeriodUnit,
				})
			}
		}
	}
	slices.SortFunc(out, func(a, b *typesv1.ProfileType) int { return cmp.Compare(a.GetID(), b.GetID()) })
	return out, nil
}

func (v *At) labelNames(ctx context.Context, m *typesv1.LabelNamesRequest) ([]string, error) {
	names := map[string]bool{}
	err := v.eachSelector(ctx, m, false, func(f found) error {
		f.query.Exact = f.query.Selector.String() != "" // otherwise a service would list the labels of another's samples
		all, err := v.DB.LabelNames(ctx, v.Snap, f.query)
		if err != nil || len(all) == 0 || f.isNone() {
			return err
		}
		for _, l := range question.TypeLabels("", profile.Type{}) {
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
	return slices.Sorted(maps.Keys(names)), err
}

func (v *At) labelValues(ctx context.Context, m *typesv1.LabelValuesRequest) ([]string, error) {
	name, values := m.GetName(), map[string]bool{}
	if name == "" {
		return nil, fault.Invalid("name: want the name of a label")
	}
	ofType := question.IsTypeLabel(name)
	err := v.eachSelector(ctx, m, ofType, func(f found) error {
		for _, s := range f.sources {
			labels := s.Labels
			if ofType {
				labels = question.TypeLabels(question.ValueOf(labels, profile.NameLabel), s.Type)
			}
			values[question.ValueOf(labels, name)] = true
		}
		if ofType || f.isNone() || f.others[name] {
			return nil // no further values, or only values for other types
		}
		all, err := v.DB.LabelValues(ctx, v.Snap, name, f.query)
		for _, value := range all {
			values[value] = true
		}
		return err
	})
	delete(values, "")
	return slices.Sorted(maps.Keys(values)), err
}

func (v *At) series(ctx context.Context, m *querierv1.SeriesRequest) (out []*typesv1.Labels, err error) {
	var sets [][]profile.Label
	known := map[string]bool{}
	err = v.eachSelector(ctx, m, true, func(f found) error {
		for _, s := range f.sources {
			labels := sourceLabels(s, m.GetLabelNames())
			if key := fmt.Sprintf("%q", labels); len(labels) > 0 && !known[key] {
				known[key] = true
				sets = append(sets, labels)
			}
		}
		return nil
	})
	slices.SortFunc(sets, question.CompareLabels)
	for _, labels := range sets {
		out = append(out, &typesv1.Labels{Labels: fanout.LabelPairs(labels)})
	}
	return out, err
}

// found is the result of a selector on the series, without reading rows.
type found struct {
	query   profile.Query
	isTyped bool             // the selector has conditions on the type, which are not in query
	sources []profile.Source // set if isTyped, or if the caller asks for them
	others  map[string]bool  // the labels of series of which only the type is not chosen
}

// isNone reports whether no type is chosen.
func (f *found) isNone() bool { return f.isTyped && len(f.sources) == 0 }

// labelQuestion is a query about labels.
type labelQuestion interface {
	GetMatchers() []string
	GetStart() int64
	GetEnd() int64
}

// eachSelector calls f for each selector of a query about labels, or once if there is none. The answer is the
// union.
func (v *At) eachSelector(ctx context.Context, about labelQuestion, sources bool, f func(found) error) error {
	const most = 100
	matchers := about.GetMatchers()
	if len(matchers) > most {
		return fault.TooLarge("matchers: %d selectors, at most %d", len(matchers), most)
	}
	if len(matchers) == 0 {
		matchers = []string{""}
	}
	for _, text := range matchers {
		if err := ctx.Err(); err != nil {
			return err
		}
		one := found{query: profile.Query{MaxBytes: v.store.read.QueryBytes}, others: map[string]bool{}}
		s, err := question.ParseSelection(text)
		if err == nil {
			one.query.Selector, err = question.SelectorOf(s.Labels)
		}
		if err != nil {
			return fault.Invalid("matchers: %w", err)
		}
		if err := question.Millis(&one.query, about.GetStart(), about.GetEnd()); err != nil {
			return err
		}
		if one.isTyped = len(s.Types) > 0; one.isTyped || sources {
			all, err := v.DB.Series(ctx, v.Snap, one.query)
			if err != nil {
				return err
			}
			if err := one.choose(ctx, all, &s); err != nil {
				return err
			}
		}
		if err := f(one); err != nil {
			return err
		}
	}
	return nil
}

// choose divides series by their type. The error is that of the context.
func (f *found) choose(ctx context.Context, all []profile.Source, s *question.Selection) error {
	for _, source := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.HasType(question.ValueOf(source.Labels, profile.NameLabel), source.Type) {
			f.sources = append(f.sources, source)
			continue
		}
		for _, l := range source.Labels {
			f.others[l.Name] = true
		}
	}
	return nil
}

// sourceLabels returns the sorted labels of a series and of its type, or only the named labels if there are
// names.
func sourceLabels(s profile.Source, names []string) (labels []profile.Label) {
	labels = slices.DeleteFunc(slices.Clone(s.Labels), func(l profile.Label) bool { return question.IsTypeLabel(l.Name) })
	labels = append(labels, question.TypeLabels(question.ValueOf(s.Labels, profile.NameLabel), s.Type)...)
	labels = slices.DeleteFunc(labels, func(l profile.Label) bool {
		return l.Value == "" || len(names) > 0 && !slices.Contains(names, l.Name)
	})
	slices.SortFunc(labels, question.CompareLabel)
	return labels
}
