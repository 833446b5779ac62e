// Package querier answers queries of other programs: querier.v1 of Pyroscope's API by Connect, GET
// /pprof, GET /arrow, and the queries of a front to its nodes. It reads a source.Source, whichever it is.
package querier

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	pprof "github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/pgo"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// Options are the settings of the handlers. All are needed.
type Options struct {
	Source      source.Source
	Gate        *source.Gate
	Read        *question.Reader
	ResultBytes int64 // greatest size of an encoded answer
}

// querier implements querier.v1.QuerierService for Grafana's data source for Pyroscope.
type querier struct {
	querierv1connect.UnimplementedQuerierServiceHandler
	Options
}

// Routes returns the handlers for queries.
func Routes(opts Options) []web.Route {
	q := &querier{Options: opts}
	path, handler := querierv1connect.NewQuerierServiceHandler(q, web.ConnectOptions(maxQuestion, maxQuestionMessages)...)
	routes := []web.Route{
		{Pattern: path, Name: "querier", Handler: web.Headed(web.Speaks(handler, nil))},
		{Pattern: "GET /pprof", Name: "pprof", Handler: web.Headed(web.Handler(q.getPprof))},
		{Pattern: "GET /pgo", Name: "pgo", Handler: web.Headed(web.Handler(q.getPGO))},
		{Pattern: "GET /arrow", Name: "arrow", Handler: web.Handler(q.getArrow)},
	}
	if store, err := opts.Source.Store(source.Rows); err == nil {
		of := &sources{q, store}
		routes = append(routes, web.Route{Pattern: "GET " + fanout.ByLabelPath, Name: "by-label", Handler: web.Headed(web.Handler(of.byLabel))})
		routes = append(routes, web.Route{Pattern: "POST " + fanout.StacksPath, Name: "stacks", Handler: web.Headed(web.Handler(of.stacks))})
		answer := web.Headed(web.Handler(of.answer))
		for _, method := range []string{"GET ", "POST "} {
			routes = append(routes, web.Route{Pattern: method + fanout.SourcesPath, Name: "sources", Handler: answer})
		}
	}
	return slices.Concat(routes, q.renderRoutes(), serviceRoutes())
}

// Bounds on a query's bytes and messages.
const maxQuestion, maxQuestionMessages = 1 << 20, 10_000

// answered answers a query with a message of a limited size.
func answered[M any, P interface {
	*M
	proto.Message
}](ctx context.Context, q *querier, f func(context.Context, P) error) (*connect.Response[M], error) {
	answer := P(new(M))
	err := q.Gate.InTime(ctx, func(ctx context.Context) error { return f(ctx, answer) })
	if err == nil {
		const encoded = 2 // the message, and the same compressed
		if size := int64(proto.Size(answer)); size > q.ResultBytes {
			err = fault.TooCostly("an answer of %d bytes, at most %d", size, q.ResultBytes)
		} else {
			err = web.StayOf(ctx).Take(ctx, encoded*size)
		}
	}
	if err != nil {
		return nil, web.Error(ctx, err)
	}
	return connect.NewResponse((*M)(answer)), nil
}

// ProfileTypes returns the types of the profiles in a time range.
func (q *querier) ProfileTypes(ctx context.Context, r *connect.Request[querierv1.ProfileTypesRequest]) (*connect.Response[querierv1.ProfileTypesResponse], error) {
	return answered(ctx, q, func(ctx context.Context, out *querierv1.ProfileTypesResponse) (err error) {
		out.ProfileTypes, err = q.Source.Types(ctx, r.Msg)
		return err
	})
}

// LabelNames returns the names of the labels of profiles and of their types.
func (q *querier) LabelNames(ctx context.Context, r *connect.Request[typesv1.LabelNamesRequest]) (*connect.Response[typesv1.LabelNamesResponse], error) {
	return answered(ctx, q, func(ctx context.Context, out *typesv1.LabelNamesResponse) (err error) {
		out.Names, err = q.labelNames(ctx, r.Header(), r.Msg)
		return err
	})
}

// LabelValues returns a label's values.
func (q *querier) LabelValues(ctx context.Context, r *connect.Request[typesv1.LabelValuesRequest]) (*connect.Response[typesv1.LabelValuesResponse], error) {
	return answered(ctx, q, func(ctx context.Context, out *typesv1.LabelValuesResponse) (err error) {
		out.Names, err = q.Source.LabelValues(ctx, r.Msg)
		return err
	})
}

// Series returns the distinct label sets of profiles, with their types as labels.
func (q *querier) Series(ctx context.Context, r *connect.Request[querierv1.SeriesRequest]) (*connect.Response[querierv1.SeriesResponse], error) {
	return answered(ctx, q, func(ctx context.Context, out *querierv1.SeriesResponse) (err error) {
		out.LabelsSet, err = q.Source.Series(ctx, r.Msg)
		if !allowsUTF8(r.Header()) {
			underscoreSets(out.LabelsSet)
		}
		return err
	})
}

// SelectSeries returns values over time.
func (q *querier) SelectSeries(ctx context.Context, r *connect.Request[querierv1.SelectSeriesRequest]) (*connect.Response[querierv1.SelectSeriesResponse], error) {
	return answered(ctx, q, func(ctx context.Context, out *querierv1.SelectSeriesResponse) (err error) {
		if r.Msg.ProfileTypeID, err = q.typeID(ctx, r.Msg); err != nil {
			return err
		}
		out.Series, err = q.Source.Lines(ctx, r.Msg)
		if err == nil && r.Msg.GetExemplarType() > typesv1.ExemplarType_EXEMPLAR_TYPE_NONE {
			err = q.addExemplars(ctx, r.Msg, out.Series)
		}
		return err
	})
}

// side is a checked query for stacks.
type side struct {
	question.Asked
	message *querierv1.SelectMergeStacktracesRequest
}

// side checks a request for stacks. A short name of its type becomes an id.
func (q *querier) side(ctx context.Context, m *querierv1.SelectMergeStacktracesRequest) (s side, err error) {
	if m.GetProfileTypeID() != "" { // a missing message has none
		if m.ProfileTypeID, err = q.typeID(ctx, m); err != nil {
			return s, err
		}
	}
	a, err := q.Read.Stacks(m)
	return side{a, m}, err
}

// typeID returns the id of the type that a message asks about by its id or by a short name, as for GET /pprof.
func (q *querier) typeID(ctx context.Context, m question.Typed) (string, error) {
	id := m.GetProfileTypeID()
	if !question.IsShort(id) {
		return id, nil
	}
	query, err := q.Read.Named(m)
	if err != nil {
		return id, err
	}
	err = q.Source.View(ctx, func(v source.View) error {
		t, err := v.FindType(ctx, query, m.GetProfileTypeID())
		if err != nil {
			return fault.At("profile_typeID", err)
		}
		id = question.TypeID(question.AnyName, t.Type)
		return nil
	})
	return id, err
}

// asked returns the side as a source takes it.
func (s *side) asked() source.Side {
	return source.Side{Query: s.Query, Type: s.Type, Message: s.message}
}

// stacks calls f with the profiles of sides.
func (q *querier) stacks(ctx context.Context, sides []side, f func(*source.Profiles) error) error {
	ask := make([]source.Side, len(sides))
	for i, s := range sides {
		ask[i] = s.asked()
	}
	return q.Source.View(ctx, func(v source.View) error { return v.Stacks(ctx, source.Typed{}, ask, f) })
}

// tree returns the flame graph of a query, or of both sides of a difference.
func (q *querier) tree(ctx context.Context, sides ...side) (t *tree.Calls, err error) {
	err = q.stacks(ctx, sides, func(p *source.Profiles) error {
		t = tree.New(tree.FromRoot, "", q.Read.QueryBytes)
		for i := range sides {
			stacks, err := p.DB.Merge(ctx, p.Snap, sides[i].Type, p.Queries[i])
			if err == nil {
				err = t.Add(ctx, i, stacks)
			}
			if err != nil && len(sides) > 1 {
				err = fault.In(sideNames[i], err)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return t, err
}

// drawn returns the picture of a query's flame graph with at most `most` functions, which draw makes.
func drawn[T any](ctx context.Context, q *querier, s side, most int64, draw func(*tree.Calls, int) T) (picture T, err error) {
	n, err := q.Read.Nodes(most)
	if err != nil {
		return picture, err
	}
	t, err := q.tree(ctx, s)
	if err != nil {
		return picture, err
	}
	return draw(t, n), nil
}

// SelectMergeStacktraces returns the merged stacks of profiles as a flame graph, a tree, a call graph, or as pprof.
func (q *querier) SelectMergeStacktraces(ctx context.Context, r *connect.Request[querierv1.SelectMergeStacktracesRequest]) (*connect.Response[querierv1.SelectMergeStacktracesResponse], error) {
	return answered(ctx, q, func(ctx context.Context, out *querierv1.SelectMergeStacktracesResponse) error {
		s, err := q.side(ctx, r.Msg)
		if err != nil {
			return err
		}
		switch f := r.Msg.GetFormat(); f {
		case querierv1.ProfileFormat_PROFILE_FORMAT_UNSPECIFIED, querierv1.ProfileFormat_PROFILE_FORMAT_FLAMEGRAPH:
			out.Flamegraph, err = drawn(ctx, q, s, r.Msg.GetMaxNodes(), graphOf)
		case querierv1.ProfileFormat_PROFILE_FORMAT_PPROF:
			out.Pprof = &querierv1.PprofProfile{Profile: &googlev1.Profile{}}
			err = q.pprof(ctx, s, out.Pprof.Profile)
		case querierv1.ProfileFormat_PROFILE_FORMAT_TREE:
			out.Tree, err = drawn(ctx, q, s, r.Msg.GetMaxNodes(), treeBytes)
		case querierv1.ProfileFormat_PROFILE_FORMAT_DOT:
			out.Dot, err = drawn(ctx, q, s, r.Msg.GetMaxNodes(), func(t *tree.Calls, most int) string { return dotOf(t, most, s.Type) })
		default:
			return fault.Refused("format: %s is not made", f)
		}
		return err
	})
}

// SelectMergeSpanProfile is SelectMergeStacktraces for samples with one of several span ids.
func (q *querier) SelectMergeSpanProfile(ctx context.Context, r *connect.Request[querierv1.SelectMergeSpanProfileRequest]) (*connect.Response[querierv1.SelectMergeSpanProfileResponse], error) {
	return answered(ctx, q, func(ctx context.Context, out *querierv1.SelectMergeSpanProfileResponse) error {
		s, err := q.side(ctx, question.OfSpans(r.Msg))
		if err == nil {
			err = question.CheckGraph(r.Msg)
		}
		if err != nil {
			return err
		}
		if r.Msg.GetFormat() == querierv1.ProfileFormat_PROFILE_FORMAT_TREE {
			out.Tree, err = drawn(ctx, q, s, r.Msg.GetMaxNodes(), treeBytes)
			return err
		}
		out.Flamegraph, err = drawn(ctx, q, s, r.Msg.GetMaxNodes(), graphOf)
		return err
	})
}

// SelectMergeProfile returns the merged profiles as a pprof profile.
func (q *querier) SelectMergeProfile(ctx context.Context, r *connect.Request[querierv1.SelectMergeProfileRequest]) (*connect.Response[googlev1.Profile], error) {
	return answered(ctx, q, func(ctx context.Context, out *googlev1.Profile) error {
		s, err := q.side(ctx, question.OfProfile(r.Msg))
		if err != nil {
			return err
		}
		return q.pprof(ctx, s, out)
	})
}

// pprof makes the merged profile of a query, by stack alone.
func (q *querier) pprof(ctx context.Context, s side, out *googlev1.Profile) error {
	s.Query.NoSampleLabels = true
	whole := s.asked()
	return q.Source.View(ctx, func(v source.View) error {
		return v.Profile(ctx, source.Typed{}, &whole, func(p *source.Profiles) error {
			merged, err := p.DB.Profile(ctx, p.Snap, p.Queries[0], s.Type)
			if err == nil {
				err = p.TellKinds(ctx, p.Queries[0], s.Type)
			}
			if err != nil {
				return err
			}
			merged.Comments = p.Comments
			var buf bytes.Buffer
			if err := merged.WriteUncompressed(&buf); err != nil {
				return err
			}
			return proto.Unmarshal(buf.Bytes(), out)
		})
	})
}

// sideNames are the names of a difference's sides.
var sideNames = [2]string{"left", "right"}

// Diff returns the stacks of two queries side by side.
func (q *querier) Diff(ctx context.Context, r *connect.Request[querierv1.DiffRequest]) (*connect.Response[querierv1.DiffResponse], error) {
	return answered(ctx, q, func(ctx context.Context, out *querierv1.DiffResponse) error {
		left, right := r.Msg.GetLeft(), r.Msg.GetRight()
		most, err := q.Read.Nodes(max(left.GetMaxNodes(), right.GetMaxNodes()))
		if err != nil {
			return err
		}
		out.Flamegraph, _, err = q.diff(ctx, [2]*querierv1.SelectMergeStacktracesRequest{left, right}, most)
		return err
	})
}

// diff returns the flame graph of two queries with at most `most` functions, and the type of the first.
func (q *querier) diff(ctx context.Context, ask [2]*querierv1.SelectMergeStacktracesRequest, most int) (*querierv1.FlameGraphDiff, profile.Type, error) {
	var sides [2]side
	for i, m := range ask {
		var err error
		if sides[i], err = q.side(ctx, m); err != nil {
			return nil, profile.Type{}, fault.In(sideNames[i], err)
		}
	}
	l, r := sides[0].Type, sides[1].Type
	if l.Sample != r.Sample || l.SampleUnit != r.SampleUnit {
		return nil, l, fault.Invalid("left and right: the types are %s and %s", fault.Quoted(l.String()), fault.Quoted(r.String()))
	}
	t, err := q.tree(ctx, sides[:]...)
	if err != nil {
		return nil, l, err
	}
	return diffOf(t, most), l, nil
}

// chosen returns the type of a question, and the types to query. These are empty for "", which stands for
// all types.
func chosen(ctx context.Context, v source.View, p *question.Parameters) (t source.Typed, types []profile.Type, err error) {
	if p.Type == "" {
		return t, nil, nil
	}
	if t, err = v.FindType(ctx, p.Query, p.Type); err != nil {
		return t, nil, fault.At("parameter type", err)
	}
	return t, []profile.Type{t.Type}, nil
}

// getPprof handles GET /pprof: a merged profile, gzipped, as go tool pprof fetches it. It is an error to
// select no profile, unless a front asks. The parameters seconds and debug are ignored, because tools add them to every URL of a
// profile.
func (q *querier) getPprof(w http.ResponseWriter, r *http.Request) error {
	return q.sendMerged(w, r, "", "profile.pb.gz", func(p *pprof.Profile) (*pprof.Profile, error) { return p, nil })
}

// getPGO handles GET /pgo: the calls of Go's CPU profiles, for go build -pgo. The parameters are those of GET /pprof.
func (q *querier) getPGO(w http.ResponseWriter, r *http.Request) error {
	return q.sendMerged(w, r, "cpu", "default.pgo", func(p *pprof.Profile) (*pprof.Profile, error) {
		var calls pgo.Edges
		if err := calls.Add(p, 0, 1); err != nil {
			return nil, fault.Invalid("these profiles are of no Go program, or of one before Go 1.20: %w", err)
		}
		return calls.Profile(), nil
	})
}

// sendMerged sends what is made of the merged profile of the requested type, or of `otherwise` if none is.
func (q *querier) sendMerged(w http.ResponseWriter, r *http.Request, otherwise, name string, of func(*pprof.Profile) (*pprof.Profile, error)) error {
	var whole *web.Whole
	err := q.Gate.InTime(r.Context(), func(ctx context.Context) error {
		p, err := q.Read.Parameters(r.URL.RawQuery, "seconds", "debug")
		if err != nil {
			return err
		}
		p.Type = cmp.Or(p.Type, otherwise)
		return q.Source.View(ctx, func(v source.View) error {
			if err := q.Read.Bounds(&p, func() (int64, error) { return v.Newest(ctx) }); err != nil {
				return err
			}
			t, types, err := chosen(ctx, v, &p)
			if err != nil {
				return err
			}
			side := source.Side{Query: p.Query, Name: cmp.Or(p.Rest.Get("type"), otherwise), Selector: p.Rest.Get("selector")}
			return v.Profile(ctx, t, &side, func(from *source.Profiles) error {
				merged, err := from.DB.Profile(ctx, from.Snap, from.Queries[0], types...)
				if err == nil {
					err = from.TellKinds(ctx, from.Queries[0], types...)
				}
				if err == nil && len(merged.Sample) == 0 && r.Header.Get(fanout.EmptyHeader) == "" {
					err = missing(ctx, v, &p, t.Type)
				}
				if whole = web.NewWhole(ctx, q.ResultBytes); err != nil || len(merged.SampleType) == 0 { // which no profile may have, so that a front gets nothing
					return err
				}
				merged.Comments = from.Comments
				if merged, err = of(merged); err != nil {
					return err
				}
				return merged.Write(whole)
			})
		})
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", fanout.BytesMedia)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	whole.Send(w)
	return nil
}
