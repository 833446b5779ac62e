package source

import (
	"context"
	"net/url"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
)

// Source has the profiles that answer queries. It is safe for concurrent use.
type Source interface {
	// Types returns the types of the profiles in a time range, sorted by their ids.
	Types(context.Context, *querierv1.ProfileTypesRequest) ([]*typesv1.ProfileType, error)
	// LabelNames returns the names of the labels of profiles and of their types, sorted.
	LabelNames(context.Context, *typesv1.LabelNamesRequest) ([]string, error)
	// LabelValues returns the values of a label, sorted.
	LabelValues(context.Context, *typesv1.LabelValuesRequest) ([]string, error)
	// Series returns the distinct sets of labels of profiles, including the labels of their types.
	Series(context.Context, *querierv1.SeriesRequest) ([]*typesv1.Labels, error)
	// Lines returns values over time. A point has the sum of the profiles from its time up to the next step.
	// For gauges it has the mean of each source, unless the query asks for the sum or the average of the
	// profiles.
	Lines(context.Context, *querierv1.SelectSeriesRequest) ([]*typesv1.Series, error)
	// Points returns the profiles of a query with their values, or its spans in each profile, by the labels to group by.
	// A series has one slot, whose exemplars are all of them, in no order.
	Points(context.Context, *querierv1.SelectHeatmapRequest) ([]*typesv1.HeatmapSeries, error)

	// Stats returns whether there ever were profiles, and the times of the oldest and the newest one.
	Stats(context.Context, *typesv1.GetProfileStatsRequest) (*typesv1.GetProfileStatsResponse, error)
	// Scopes returns what a query would read, an upper bound, for each kind of server that answers it.
	Scopes(context.Context, *querierv1.AnalyzeQueryRequest) ([]*querierv1.QueryScope, error)

	// View calls f with the present profiles. If the store takes the snapshot's memory back for its budget,
	// View calls f once more with a new snapshot; f must therefore not have answered before.
	View(ctx context.Context, f func(View) error) error
	// Held is View with a view that is held for later queries, which name its commit. A nil commit means the
	// newest.
	Held(ctx context.Context, commit *uint64, f func(View) error) error
	// Store returns the store with all profiles, or an error for a need that several stores cannot meet.
	Store(Need) (*Store, error)

	// Ready returns an error if no queries should be sent now.
	Ready(context.Context) error
	// Tidy drops expired snapshots and summaries, which were held for later queries.
	Tidy()
	// Close drops everything that is held. No query may follow.
	Close()
}

// View is a source at one instant. One query uses it.
type View interface {
	// Commit returns the number of the view, or 0 if later queries cannot name the view.
	Commit() uint64
	// Tag returns an ETag for the answer to a query, or "" if different answers could have the same tag.
	Tag(path string, parameters url.Values) string
	// FindType resolves the name of a type for a query. Errors are as in profile.DB.FindTypeIn.
	FindType(ctx context.Context, query profile.Query, name string) (Typed, error)
	// DefaultType returns the type of the first profiles of a query. Errors name the parameter that chooses a type.
	DefaultType(ctx context.Context, query profile.Query, parameter string) (Typed, error)
	// Sources returns the sources that a query's selector and times choose, with their types. Bounds on time can be coarse.
	Sources(ctx context.Context, query profile.Query) ([]profile.Source, error)
	// Scales returns an error if the sides of a difference cannot be scaled.
	Scales() error
	// Newest returns the time of the newest profile in Unix nanoseconds, or 0 if there are no profiles. Oldest is Newest for the oldest.
	Newest(context.Context) (int64, error)
	Oldest(context.Context) (int64, error)
	// HasLabel reports whether a query's profiles have a label. Bounds on time can be coarse.
	HasLabel(ctx context.Context, query profile.Query, label string) (bool, error)
	// ByLabel returns a row for each value of a label in a range or in those to compare with, in no order, and whether each of the latter
	// has any. Errors are as for profile.DB.Range.
	ByLabel(ctx context.Context, q *ByLabel) (rows []LabelRow, has []bool, err error)
	// Stacks calls f with the profiles of the sides, for sums by stack. If t is the zero value, each side names its type.
	Stacks(ctx context.Context, t Typed, sides []Side, f func(*Profiles) error) error
	// Profile calls f with the profiles of a side, for a profile with all that pprof has: labels of samples, times and periods. If t is
	// the zero value, the side names its type, or has all types.
	Profile(ctx context.Context, t Typed, side *Side, f func(*Profiles) error) error
	// Store returns the store of the view and its snapshot, or an error for a need that several stores cannot meet.
	Store(Need) (*At, error)
}

// Typed is a type, with the places of its profiles. The zero value means no type.
type Typed = fanout.Typed

// ByLabel is a question for sums by a label.
type ByLabel = fanout.ByLabel

// LabelRow is a row of the answer to ByLabel.
type LabelRow = fanout.LabelRow

// Side is a query for stacks. A difference has two.
type Side struct {
	Query profile.Query
	Type  profile.Type // type of Message
	// Message is the query as a message of querier.v1. If it is nil, the query is that of GET /pprof: a type
	// by its name or id, "" for all types, and a selector, which Query includes.
	Message        *querierv1.SelectMergeStacktracesRequest
	Name, Selector string
}

// Profiles are the profiles of a snapshot that sides choose.
type Profiles struct {
	DB       *profile.DB
	Snap     *columnstore.Snapshot
	Queries  []profile.Query // by side: the query that chooses its profiles
	Comments []string        // for a profile made from them: its missing parts
}

// Need is a service that only a single store has. Its text tells a user of several nodes what to do instead.
type Need string

// The services of a single store.
const (
	Commits     Need = "a front has no commits: ask one of its nodes for an answer of one"
	Histories   Need = "a front has no histories: ask one of its nodes without h, p, state, status, attribute and shares"
	Annotations Need = "a front has no annotations: ask one of its nodes"
	Archives    Need = "a front has no archives: push them to one of its nodes, or map directories by --sources"
	Assistants  Need = "a front has no /mcp: ask one of its nodes"
	Rules       Need = "a front has no rules: give them to its nodes"
	Times       Need = "a front has no times of its nodes' profiles: ask without spread"
	Labels      Need = "a front has stacks without labels: ask one of its nodes, or here without group"
	Rows        Need = "a front has no rows: ask each node for its /arrow"
	Pushes      Need = "a front takes no profiles: push them to one of its nodes"
)

// Page returns the need of a page's query that requires one store.
func Page(path string) Need {
	return Need("a front does not answer /api/v1/" + path + ": ask one of its nodes, each for its own profiles")
}
