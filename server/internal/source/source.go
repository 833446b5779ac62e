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

// Source is where questions are answered from. It is safe for concurrent use.
type Source interface {
	// Types returns the types of the profiles of a range of time, sorted by their ids.
	Types(context.Context, *querierv1.ProfileTypesRequest) ([]*typesv1.ProfileType, error)
	// LabelNames returns the sorted names of the labels of profiles and of their types.
	LabelNames(context.Context, *typesv1.LabelNamesRequest) ([]string, error)
	// LabelValues returns the values of a label, sorted.
	LabelValues(context.Context, *typesv1.LabelValuesRequest) ([]string, error)
	// Series returns the distinct sets of labels of profiles, with their types as labels.
	Series(context.Context, *querierv1.SeriesRequest) ([]*typesv1.Labels, error)
	// Lines returns values over time. A point has the sum of the profiles from its time up to the next step, or of
	// gauges the mean of each source, unless the sum or the average of the profiles is asked for.
	Lines(context.Context, *querierv1.SelectSeriesRequest) ([]*typesv1.Series, error)

	// View calls f with the profiles as they are now. If the store takes the snapshot's memory back for its budget, f
	// is called once more with a new one, so f must not have answered yet.
	View(ctx context.Context, f func(View) error) error
	// Held is View with a view that is held for later questions: they name its commit. nil is the newest one.
	Held(ctx context.Context, commit *uint64, f func(View) error) error
	// Store returns the one store that has all profiles, or an error for a need that several cannot meet.
	Store(Need) (*Store, error)

	// Ready returns why questions should not be sent here now.
	Ready(context.Context) error
	// Tidy drops snapshots and summaries that were held for later questions and have expired.
	Tidy()
	// Close lets go all that is held. There are no questions any more.
	Close()
}

// View is a source at one instant. It is used by one question.
type View interface {
	// Commit returns the number of the view, or 0 if no later question can name the view.
	Commit() uint64
	// Tag returns an ETag for the answer to a question, "" if other answers can have the same.
	Tag(path string, parameters url.Values) string
	// FindType resolves the name of a type. Errors are as in profile.DB.FindType.
	FindType(ctx context.Context, name string) (Typed, error)
	// DefaultType returns the type of the first profiles of a query. Errors name the parameter that chooses a type.
	DefaultType(ctx context.Context, query profile.Query, parameter string) (Typed, error)
	// Scales returns an error if the sides of a difference cannot be scaled.
	Scales() error
	// Newest returns the time of the newest profile in Unix nanoseconds, 0 if there is none.
	Newest(context.Context) (int64, error)
	// Stacks calls f with the profiles of the sides. Without a type, each side names its own.
	Stacks(ctx context.Context, t Typed, sides []Side, f func(*Profiles) error) error
	// Store returns the store of the view and its snapshot, or an error for a need that several stores cannot meet.
	Store(Need) (*At, error)
}

// Typed is a type, and where profiles of it are. The zero value is no type.
type Typed = fanout.Typed

// Side is a question for stacks, of which a difference has two.
type Side struct {
	Query profile.Query
	Type  profile.Type // of Message
	// Message is the question as querier.v1 has it. Without one it is that of GET /pprof for profiles of a type by its
	// name or id, "" for all, and of a selector, which Query has too.
	Message        *querierv1.SelectMergeStacktracesRequest
	Name, Selector string
}

// Profiles are the profiles of a snapshot that sides choose.
type Profiles struct {
	DB       *profile.DB
	Snap     *columnstore.Snapshot
	Queries  []profile.Query // by side: chooses its profiles
	Comments []string        // for a profile made from them: the parts that it lacks
}

// Need is a service that only a single store has. Its text tells a user of several nodes what to do instead.
type Need string

// The services of a single store.
const (
	Commits   Need = "a front has no commits: ask one of its nodes for an answer of one"
	Histories Need = "a front has no histories: ask one of its nodes without h, p, state, status, attribute and shares"
	Rows      Need = "a front has no rows: ask each node for its /arrow"
	Pushes    Need = "a front takes no profiles: push them to one of its nodes"
)

// Page returns the need of a page's question that is about one store.
func Page(path string) Need {
	return Need("a front does not answer /api/v1/" + path + ": ask one of its nodes, each for its own profiles")
}
