package source

import (
	"context"
	"net/url"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
)

// Nodes are several servers, which together have the profiles.
type Nodes struct{ set *fanout.Set }

// NewNodes returns the source for a set of nodes.
func NewNodes(set *fanout.Set) *Nodes { return &Nodes{set} }

func itself(text string) string { return text }

// Types implements Source.
func (n *Nodes) Types(ctx context.Context, m *querierv1.ProfileTypesRequest) ([]*typesv1.ProfileType, error) {
	return fanout.Union(ctx, n.set, querierv1connect.QuerierServiceProfileTypesProcedure, m, (*querierv1.ProfileTypesResponse).GetProfileTypes, (*typesv1.ProfileType).GetID)
}

// LabelNames implements Source.
func (n *Nodes) LabelNames(ctx context.Context, m *typesv1.LabelNamesRequest) ([]string, error) {
	return fanout.Union(ctx, n.set, querierv1connect.QuerierServiceLabelNamesProcedure, m, (*typesv1.LabelNamesResponse).GetNames, itself)
}

// LabelValues implements Source.
func (n *Nodes) LabelValues(ctx context.Context, m *typesv1.LabelValuesRequest) ([]string, error) {
	return fanout.Union(ctx, n.set, querierv1connect.QuerierServiceLabelValuesProcedure, m, (*typesv1.LabelValuesResponse).GetNames, itself)
}

// Series implements Source.
func (n *Nodes) Series(ctx context.Context, m *querierv1.SeriesRequest) ([]*typesv1.Labels, error) {
	return fanout.Union(ctx, n.set, querierv1connect.QuerierServiceSeriesProcedure, m, (*querierv1.SeriesResponse).GetLabelsSet,
		func(l *typesv1.Labels) string { return fanout.LabelsKey(l.GetLabels()) })
}

// Lines implements Source. It adds up the points of the nodes.
func (n *Nodes) Lines(ctx context.Context, m *querierv1.SelectSeriesRequest) ([]*typesv1.Series, error) {
	name, t, err := question.ParseTypeID(m.GetProfileTypeID())
	if err != nil {
		return nil, err
	}
	return n.set.Series(ctx, m, t, question.IsNamed(name))
}

// Points implements Source.
func (n *Nodes) Points(ctx context.Context, m *querierv1.SelectHeatmapRequest) ([]*typesv1.HeatmapSeries, error) {
	name, t, err := question.ParseTypeID(m.GetProfileTypeID())
	if err != nil {
		return nil, fault.Invalid("profile_typeID: %w", err)
	}
	return n.set.Points(ctx, m, t, question.IsNamed(name))
}

// Stats implements Source.
func (n *Nodes) Stats(ctx context.Context, m *typesv1.GetProfileStatsRequest) (*typesv1.GetProfileStatsResponse, error) {
	return n.set.Stats(ctx, m)
}

// Scopes implements Source.
func (n *Nodes) Scopes(ctx context.Context, m *querierv1.AnalyzeQueryRequest) ([]*querierv1.QueryScope, error) {
	return n.set.Scopes(ctx, m)
}

// View implements Source.
func (n *Nodes) View(_ context.Context, f func(View) error) error { return f(nodesView{n}) }

// Held implements Source. Nodes have no commits.
func (n *Nodes) Held(_ context.Context, commit *uint64, f func(View) error) error {
	if commit != nil {
		return n.refuse(Commits)
	}
	return f(nodesView{n})
}

// refuse returns the error for a need that several nodes cannot meet.
func (n *Nodes) refuse(need Need) error { return fault.Refused("%s: %s", string(need), n.set) }

// Store implements Source.
func (n *Nodes) Store(need Need) (*Store, error) { return nil, n.refuse(need) }

// Ready implements Source.
func (n *Nodes) Ready(ctx context.Context) error { return n.set.Ready(ctx) }

// Tidy implements Source.
func (n *Nodes) Tidy() {}

// Close implements Source. It closes idle connections, and drops the stacks that are kept.
func (n *Nodes) Close() { n.set.Close() }

// nodesView is the view of one query: the nodes' answers to it.
type nodesView struct{ *Nodes }

// Commit implements View.
func (v nodesView) Commit() uint64 { return 0 }

// Tag implements View.
func (v nodesView) Tag(string, url.Values) string { return "" }

// FindType implements View. It also finds the nodes that have the type.
func (v nodesView) FindType(ctx context.Context, query profile.Query, name string) (Typed, error) {
	return v.set.FindType(ctx, query, name)
}

// DefaultType implements View.
func (v nodesView) DefaultType(_ context.Context, _ profile.Query, parameter string) (Typed, error) {
	return Typed{}, fault.Refused("a front has no default type: choose one by the parameter %s", parameter)
}

// Sources implements View.
func (v nodesView) Sources(ctx context.Context, query profile.Query) ([]profile.Source, error) {
	return v.set.Sources(ctx, query)
}

// Scales implements View. Nodes cannot scale, because the remainder of rounding one stack goes to the next,
// and the order of stacks on a front differs.
func (v nodesView) Scales() error {
	return fault.Refused("parameter norm: a front does not scale, as the order of stacks is another there: ask without it")
}

// Oldest implements View.
func (v nodesView) Oldest(ctx context.Context) (int64, error) { return v.set.Oldest(ctx) }

// HasLabel implements View.
func (v nodesView) HasLabel(ctx context.Context, query profile.Query, label string) (bool, error) {
	sources, err := v.set.Sources(ctx, query)
	return slices.ContainsFunc(sources, func(s profile.Source) bool {
		return slices.ContainsFunc(s.Labels, func(l profile.Label) bool { return l.Name == label })
	}), err
}

// ByLabel implements View.
func (v nodesView) ByLabel(ctx context.Context, q *ByLabel) ([]LabelRow, []bool, error) {
	ask := *q
	ask.Name = nodeName(q.Name, q.Typed)
	return v.set.ByLabel(ctx, &ask)
}

// Newest implements View.
func (v nodesView) Newest(ctx context.Context) (int64, error) { return v.set.Newest(ctx) }

// Store implements View.
func (v nodesView) Store(need Need) (*At, error) { return nil, v.refuse(need) }

// Stacks implements View. It makes rows of complete stacks in a store in memory, because conditions on frames must see all frames.
func (v nodesView) Stacks(ctx context.Context, t Typed, sides []Side, f func(*Profiles) error) (err error) {
	ask := make([]fanout.Side, len(sides))
	for i := range sides {
		if ask[i], err = stacksAsked(&sides[i], t); err != nil {
			return err
		}
	}
	return v.set.Stacks(ctx, ask, t, func(db *profile.DB, at int64, times *profile.Times) error {
		queries := make([]profile.Query, len(sides))
		for i := range sides {
			queries[i] = sides[i].Query
			queries[i].Times, queries[i].From, queries[i].To = times, at, at+1
			if queries[i].Selector, err = profile.ParseSelector(fanout.SideSelector(i)); err != nil {
				return err
			}
		}
		return viewed(ctx, db, queries, f)
	})
}

// Profile implements View. It copies the nodes' profiles to a store in memory.
func (v nodesView) Profile(ctx context.Context, t Typed, s *Side, f func(*Profiles) error) error {
	return v.set.Profiles(ctx, asked(s, t), t, func(db *profile.DB, times *profile.Times) error {
		query := s.Query
		query.Selector, query.Times, query.From, query.To = profile.Selector{}, times, 0, 0
		return viewed(ctx, db, []profile.Query{query}, f)
	})
}

// viewed calls f with the profiles of a store in memory.
func viewed(ctx context.Context, db *profile.DB, queries []profile.Query, f func(*Profiles) error) error {
	return db.Store().View(ctx, func(snap *columnstore.Snapshot) error {
		return f(&Profiles{DB: db, Snap: snap, Queries: queries, Comments: warnings(ctx)})
	})
}

// stacksAsked returns the query for stacks to nodes for a side.
func stacksAsked(s *Side, t Typed) (fanout.Side, error) {
	if s.Message != nil {
		return fanout.StacksOf(s.Message, s.Type, s.Query.SumKinds)
	}
	return fanout.StacksAs(t, nodeName(s.Name, t), s.Query.SumKinds, s.Selector, s.Query.From, s.Query.To), nil
}

// asked returns the query for whole profiles to nodes for a side.
func asked(s *Side, t Typed) *fanout.Whole {
	if s.Message != nil {
		return fanout.WholeOf(s.Message, s.Type, s.Query.SumKinds)
	}
	return fanout.ProfileOf(t, nodeName(s.Name, t), s.Query.SumKinds, s.Selector, s.Query.From, s.Query.To)
}

// nodeName returns the name of a type for nodes: an id as it is, and another as its type, because its meaning depends on the types of a
// node. It is empty for no type.
func nodeName(name string, t Typed) string {
	if _, _, err := question.ParseTypeID(name); err == nil {
		return name
	}
	if t.Type == (profile.Type{}) {
		return ""
	}
	return t.Type.String()
}
