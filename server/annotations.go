package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/marks"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// mostAnnotation bounds the bytes of the body of POST /annotations.
const mostAnnotation = 32 << 10

// annotation is the body of POST /annotations.
type annotation struct {
	Time   string            `json:"time"`  // as in parameters; now without one
	Until  string            `json:"until"` // the end of a range
	Text   string            `json:"text"`
	Labels map[string]string `json:"labels"`
}

// annotate handles POST /annotations: it adds an annotation of the caller's tenant, and answers with it.
func (s *Server) annotate(of source.Source) http.Handler {
	return web.Handler(func(w http.ResponseWriter, r *http.Request) error {
		store, err := of.Store(source.Annotations)
		if err != nil {
			return err
		}
		tenant := web.CallerOf(r.Context()).Tenant
		if _, err := s.pushDB(tenant); err != nil { // it may not push either
			return err
		}
		var asked annotation
		in := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostAnnotation))
		in.DisallowUnknownFields()
		var tooLong *http.MaxBytesError
		if err := in.Decode(&asked); errors.As(err, &tooLong) {
			return fault.TooLarge("an annotation of more than %d bytes", mostAnnotation)
		} else if err != nil {
			return fault.Invalid(`body: want JSON such as {"text":"deployed 1.2","labels":{"service_name":"shop"}}: %w`, err)
		}
		if _, err := in.Token(); !errors.Is(err, io.EOF) {
			return fault.Invalid("body: want one annotation")
		}
		m := marks.Mark{Tenant: tenant, Text: asked.Text, Labels: asked.Labels}
		if m.Time, err = store.Instant(r.Context(), "time", cmp.Or(asked.Time, "now")); err == nil {
			m.Until, err = store.Instant(r.Context(), "until", asked.Until)
		}
		if err = cmp.Or(err, m.Check(s.limits.Labels, s.limits.LabelName, s.limits.LabelValue)); err != nil {
			return err
		}
		if m, err = s.marks.Add(m); err == nil {
			err = s.kept(r.Context(), s.opts.Annotations)
		}
		if err != nil {
			return err
		}
		m.Tenant = ""
		return web.SendJSON(w, r, s.limits.ResultBytes, m)
	})
}

// unannotate handles DELETE /annotations: it removes the annotation with an id.
func (s *Server) unannotate(of source.Source) http.Handler {
	return web.Handler(func(w http.ResponseWriter, r *http.Request) error {
		if _, err := of.Store(source.Annotations); err != nil {
			return err
		}
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil || len(query) != 1 || query.Get("id") == "" {
			return fault.Invalid("want the parameter id, of an annotation")
		}
		found, err := s.marks.Remove(web.CallerOf(r.Context()).Tenant, query.Get("id"))
		if err == nil { // also if it is gone already: a request before may have failed behind it
			err = s.kept(r.Context(), s.opts.Annotations)
		}
		if err == nil && !found {
			err = fault.Missing("there is no annotation %s", fault.Quoted(query.Get("id")))
		}
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	})
}
