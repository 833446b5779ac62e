package querier

import (
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"

	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// Routes returns the handlers for queries.
func Routes(opts Options) []web.Route {
	q := &querier{Options: opts}
	path, handler := querierv1connect.NewQuerierServiceHandler(q, web.ConnectOptions(maxQuestion, maxQuestionMessages)...)
	routes := []web.Route{
		{Pattern: path, Name: "querier", Handler: web.Headed(web.Speaks(handler, nil))},
		{Pattern: "GET /pprof", Name: "pprof", Handler: web.Headed(web.Handler(q.getPprof))},
		{Pattern: "GET /arrow", Name: "arrow", Handler: web.Handler(q.getArrow)},
	}
	if store, err := opts.Source.Store(source.Rows); err == nil {
		answer := web.Headed(web.Handler((&sources{q, store}).answer))
		for _, method := range []string{"GET ", "POST "} {
			routes = append(routes, web.Route{Pattern: method + fanout.SourcesPath, Name: "sources", Handler: answer})
		}
	}
	return routes
}
