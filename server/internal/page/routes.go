package page

import (
	"context"
	"net/http"
	"slices"

	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// Routes returns the handlers for a page's queries.
func Routes(opts Options) (all []web.Route) {
	p := &page{opts}
	add := func(path string, h http.Handler) {
		all = append(all, web.Route{Pattern: "GET /api/v1/" + path, Name: "/api/v1/" + path, Handler: web.Headed(h)})
	}
	sides := []string{"t", "q", "from", "to", "bq", "bfrom", "bto", "norm", "rate", "sum", "s", "hide", "show", "focus", "ignore"}
	states := []string{"h", "p", "state", "status", "attribute"}
	stacks := slices.Concat(sides, states)
	add("flame", p.handler("", flameOf, append(slices.Clip(stacks), "inv", "function", "max_nodes", "shares", "granularity", "fold", "group")...))
	add("top", p.handler("", topOf, append(slices.Clip(stacks), "sort", "change", "rows", "offset", "spread", "granularity")...))
	add("callgraph", p.handler("", callGraphOf, append(slices.Clip(stacks), "nodes", "granularity", "fold")...))
	add("lines", p.handler("", sourceOf, append(slices.Clip(stacks), "function", "texts", "rows")...))
	add("export", p.handler("", exportOf, append(slices.Clip(stacks), "as", "inv", "function", "max_nodes", "sort", "change", "rows", "offset")...))
	add("command", p.handler("", commandOf, append(slices.Clip(stacks), "function", "sort", "granularity")...))

	one := func(path string, answer answerFunc, names ...string) {
		add(path, p.handler(source.Page(path), answer, names...))
	}
	samples := []string{"t", "q", "from", "to", "hide", "show", "focus", "ignore", "h", "p", "attribute"}
	one("profiles", profilesOf, "t", "q", "from", "to", "rows", "pixels")
	one("timeline", timelineOf, append(slices.Clip(samples), "pixels")...)
	add("services", p.handler("", servicesOf, "t", "q", "from", "to", "sum", "label", "points", "match", "sort", "ago", "reverse", "rows", "offset", "changed"))
	one("inspect", inspectOf, append(slices.Clip(stacks), "function", "rows", "offset")...)
	one("histories", historiesOf)
	one("states", statesOf, samples...)
	one("meanwhile", meanwhileOf, append(slices.Clip(samples), "state", "max_nodes")...)
	for path, ask := range historyQuestions {
		one("histories/{name}/"+path, func(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
			h, err := q.history(q.name)
			if err != nil {
				return nil, err
			}
			return ask.answer(ctx, q, h)
		}, ask.names...)
	}
	add("store", web.Handler(p.storeState))
	add("annotations", web.Handler(p.annotations))
	return all
}
