package page

import (
	"net/http"
	"time"

	"github.com/granarydb/granary/internal/selector"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/marks"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// mostMarks bounds the annotations of an answer.
const mostMarks = 1000

// AnnotationsAnswer is the answer to GET /api/v1/annotations. It is of no commit.
type AnnotationsAnswer struct {
	// All is the number of annotations in the range. Annotations are the newest of them, by time.
	All         int          `json:"all"`
	Annotations []marks.Mark `json:"annotations"`
}

// annotations answers GET /api/v1/annotations. A selector chooses those whose labels, as far as they have them, fit.
func (p *page) annotations(w http.ResponseWriter, r *http.Request) error {
	store, err := p.Source.Store(source.Annotations)
	if err != nil {
		return err
	}
	of, err := pageParameters(r.URL.RawQuery, []string{"q", "from", "to"})
	if err != nil {
		return err
	}
	var matchers []selector.Matcher
	if q := of.Get("q"); q != "" {
		if matchers, err = selector.Parse(q); err != nil {
			return fault.Invalid("parameter q: %w", err)
		}
	}
	var bounds [2]time.Time
	for i, name := range []string{"from", "to"} {
		if bounds[i], err = store.Instant(r.Context(), name, of.Get(name)); err != nil {
			return err
		}
	}
	out := &AnnotationsAnswer{Annotations: []marks.Mark{}}
	if p.Marks != nil {
		found, all := p.Marks.Range(web.CallerOf(r.Context()).Tenant, bounds[0], bounds[1], mostMarks, func(labels map[string]string) bool {
			for _, m := range matchers {
				if value, has := labels[m.Name]; has && !m.Matches(value) {
					return false
				}
			}
			return true
		})
		out.All, out.Annotations = all, append(out.Annotations, found...)
	}
	return web.SendJSON(w, r, p.ResultBytes, out)
}
