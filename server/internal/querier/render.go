package querier

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// renderRoutes returns the handlers of Pyroscope's API without Connect, each below /pyroscope and as older versions have it.
func (q *querier) renderRoutes() (routes []web.Route) {
	for path, answer := range map[string]func(http.ResponseWriter, *http.Request) error{
		"/render": q.render, "/render-diff": q.renderDiff, "/labels": q.getLabels, "/label-values": q.getLabelValues,
	} {
		for _, above := range []string{"", "/pyroscope"} {
			routes = append(routes, web.Route{Pattern: "GET " + above + path, Name: path, Handler: web.Headed(web.Handler(answer))})
		}
	}
	return routes
}

// newest returns the time of the newest profile.
func (q *querier) newest(ctx context.Context) func() (int64, error) {
	return func() (at int64, err error) {
		err = q.Source.View(ctx, func(v source.View) (err error) {
			at, err = v.Newest(ctx)
			return err
		})
		return at, err
	}
}

// render handles GET /pyroscope/render: a flame graph with values over time, or a call graph.
func (q *querier) render(w http.ResponseWriter, r *http.Request) error {
	of, err := question.ParseQuery(r.URL.RawQuery, slices.Concat(question.RenderedNames[:], question.NodesNames[:], []string{"format", "groupBy"}))
	if err != nil {
		return err
	}
	most, err := q.Read.RenderedNodes(of)
	if err != nil {
		return err
	}
	format := of.Get("format")
	if !slices.Contains([]string{"", "json", "dot"}, format) {
		return fault.Refused("parameter format: %s is not made; json and dot are, and GET /pprof has a profile", fault.Quoted(format))
	}
	var out *flamebearer
	var dot string
	err = q.Gate.InTime(r.Context(), func(ctx context.Context) error {
		m, err := q.Read.Rendered(of, question.RenderedNames, q.newest(ctx))
		if err != nil {
			return err
		}
		s, err := q.side(ctx, m)
		if err != nil {
			return err
		}
		calls, err := q.tree(ctx, s)
		if err != nil {
			return err
		}
		if format == "dot" {
			dot = dotOf(calls, most, s.Type)
			return nil
		}
		g := graphOf(calls, most)
		out = newFlamebearer("single", s.Type, g.GetNames(), g.GetLevels(), g.GetTotal(), g.GetMaxSelf())
		whole, err := q.timelines(ctx, m, "")
		if err != nil {
			return err
		}
		out.Timeline = whole[""]
		if label := of.Get("groupBy"); label != "" {
			out.Groups, err = q.timelines(ctx, m, label)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case format != "dot":
		return web.SendJSON(w, r, q.ResultBytes, out)
	}
	w.Header().Set("Content-Type", "text/vnd.graphviz; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	whole := web.NewWhole(r.Context(), q.ResultBytes)
	if _, err := whole.Write([]byte(dot)); err != nil {
		return err
	}
	whole.Send(w)
	return nil
}

// renderDiff handles GET /pyroscope/render-diff: a flame graph of two sides.
func (q *querier) renderDiff(w http.ResponseWriter, r *http.Request) error {
	ofSide := [2][3]string{{"leftQuery", "leftFrom", "leftUntil"}, {"rightQuery", "rightFrom", "rightUntil"}}
	of, err := question.ParseQuery(r.URL.RawQuery, slices.Concat(ofSide[0][:], ofSide[1][:], question.NodesNames[:], []string{"format"}))
	if err != nil {
		return err
	}
	most, err := q.Read.RenderedNodes(of)
	if err != nil {
		return err
	}
	if format := of.Get("format"); format != "" && format != "json" {
		return fault.Refused("parameter format: %s is not made; json is", fault.Quoted(format))
	}
	var out *flamebearer
	err = q.Gate.InTime(r.Context(), func(ctx context.Context) error {
		var sides [2]*querierv1.SelectMergeStacktracesRequest
		for i, names := range ofSide {
			if sides[i], err = q.Read.Rendered(of, names, q.newest(ctx)); err != nil {
				return err
			}
		}
		g, t, err := q.diff(ctx, sides, most)
		if err != nil {
			return err
		}
		out = newFlamebearer("double", t, g.GetNames(), g.GetLevels(), g.GetTotal(), g.GetMaxSelf())
		out.LeftTicks, out.RightTicks = &g.LeftTicks, &g.RightTicks
		return nil
	})
	if err != nil {
		return err
	}
	return web.SendJSON(w, r, q.ResultBytes, out)
}

// listed answers with a list of texts about the profiles that the parameters query, from and until choose.
func (q *querier) listed(w http.ResponseWriter, r *http.Request, others []string, list func(ctx context.Context, of url.Values, matchers []string, from, until int64) ([]string, error)) error {
	of, err := question.ParseQuery(r.URL.RawQuery, append(others, question.RenderedNames[:]...))
	if err != nil {
		return err
	}
	var out []string
	err = q.Gate.InTime(r.Context(), func(ctx context.Context) error {
		from, until, err := q.Read.RenderedTimes(of, q.newest(ctx))
		if err != nil {
			return err
		}
		var matchers []string
		if text := of.Get("query"); text != "" {
			matchers = []string{text}
		}
		out, err = list(ctx, of, matchers, from, until)
		return err
	})
	if err != nil {
		return err
	}
	if out == nil {
		out = []string{}
	}
	return web.SendJSON(w, r, q.ResultBytes, out)
}

// getLabels handles GET /pyroscope/labels: the names of labels.
func (q *querier) getLabels(w http.ResponseWriter, r *http.Request) error {
	return q.listed(w, r, nil, func(ctx context.Context, _ url.Values, matchers []string, from, until int64) ([]string, error) {
		return q.labelNames(ctx, r.Header, &typesv1.LabelNamesRequest{Matchers: matchers, Start: from, End: until})
	})
}

// getLabelValues handles GET /pyroscope/label-values: the values of a label. The values of __name__ are the ids of types.
func (q *querier) getLabelValues(w http.ResponseWriter, r *http.Request) error {
	return q.listed(w, r, []string{"label"}, func(ctx context.Context, of url.Values, matchers []string, from, until int64) ([]string, error) {
		name := of.Get("label")
		switch name {
		case "":
			return nil, fault.Invalid("parameter label: want the name of a label")
		case profile.NameLabel:
			name = "__profile_type__"
		}
		return q.Source.LabelValues(ctx, &typesv1.LabelValuesRequest{Name: name, Matchers: matchers, Start: from, End: until})
	})
}
