package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/webpprof"
)

// pprofRoutes registers the pages of google/pprof: those of a selection are below a path of their own, so that their
// links, which have parameters of pprof alone, keep it.
func (s *Server) pprofRoutes() {
	choose, show := s.choosePprof, s.showPprof
	if s.front != nil {
		choose = func(http.ResponseWriter, *http.Request) error {
			return refused("a front has no pages of pprof: go tool pprof shows what its /pprof answers")
		}
		show = choose
	}
	s.mux.Handle("GET /ui/pprof/{$}", s.asks("pprof pages", headed(s.handler(choose))))
	s.mux.Handle("GET /ui/pprof/{selection}/{page...}", s.asks("pprof pages", headed(s.handler(show))))
}

// pprofSelection are the parameters that choose the profiles of a page of pprof.
var pprofSelection = []string{"t", "q", "from", "to", "sum"}

// choosePprof sends a client to the pages of a selection, whose times are then fixed.
func (s *Server) choosePprof(w http.ResponseWriter, r *http.Request) error {
	of, err := pageParameters(r.URL.RawQuery, pprofSelection)
	if err != nil {
		return err
	}
	err = s.query(r.Context(), func(ctx context.Context, snap *columnstore.Snapshot) error {
		query, _, err := (&pageQuestion{s: s, snap: snap, of: of}).side(ctx, "")
		for name, at := range map[string]int64{"from": query.From, "to": query.To} {
			if at != 0 {
				of.Set(name, timeText(time.Unix(0, at)))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	maps.DeleteFunc(of, func(_ string, values []string) bool { return values[0] == "" })
	selection := cmp.Or(base64.RawURLEncoding.EncodeToString([]byte(of.Encode())), allProfiles)
	w.Header().Set("Cache-Control", "no-store") // a time before now is another one the next time
	w.Header().Set("Location", selection+"/flamegraph")
	w.WriteHeader(http.StatusFound)
	return nil
}

// allProfiles stands for a selection without parameters: it is no base64.
const allProfiles = "~"

// showPprof answers with a page of a selection.
func (s *Server) showPprof(w http.ResponseWriter, r *http.Request) error {
	page, text := r.PathValue("page"), r.PathValue("selection")
	if len(r.URL.RawQuery) > maxURL {
		_, err := pageParameters(r.URL.RawQuery, nil)
		return err
	}
	if page == "" {
		w.Header().Set("Location", (&url.URL{Path: "flamegraph", RawQuery: r.URL.RawQuery}).String())
		w.WriteHeader(http.StatusFound)
		return nil
	}
	if page != "download" && !slices.Contains(webpprof.Pages, page) {
		http.NotFound(w, r)
		return nil
	}
	of, err := selectionOf(text)
	if err != nil {
		return err
	}
	settings, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("query: %w", err)
	}
	var answer *webpprof.Answer
	err = s.query(r.Context(), func(ctx context.Context, snap *columnstore.Snapshot) error {
		p, err := (&pageQuestion{s: s, snap: snap, of: of}).pprof(ctx)
		if err != nil {
			return err
		}
		if page == "download" {
			answer, err = s.download(p)
			return err
		}
		answer, err = webpprof.Render(ctx, p, page, settings, s.limits.ResultBytes)
		return err
	})
	if err != nil {
		return pprofError(err)
	}
	h := w.Header()
	h.Set("Content-Type", answer.Type)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Content-Security-Policy", webpprof.Policy)
	h.Set("Referrer-Policy", "no-referrer")
	if page == "download" {
		h.Set("Content-Disposition", `attachment; filename="profile.pb.gz"`)
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body) // an error is that the client has gone
	return nil
}

// selectionOf returns the parameters that a part of a path stands for.
func selectionOf(text string) (url.Values, error) {
	if text == allProfiles {
		return url.Values{}, nil
	}
	query, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, invalid("path: %s is no selection of profiles", quoted(text))
	}
	return pageParameters(string(query), pprofSelection)
}

// pprof returns the merged profile of a question: of its type, or without one of all types.
func (q *pageQuestion) pprof(ctx context.Context) (*pprof.Profile, error) {
	query, name, err := q.side(ctx, "")
	if err != nil {
		return nil, err
	}
	var types []profile.Type
	if name != "" {
		t, err := q.findType(ctx, query, name)
		if err != nil {
			return nil, err
		}
		types = append(types, t)
	}
	return q.s.db.Profile(ctx, q.snap, query, types...)
}

// download returns a profile as a file.
func (s *Server) download(p *pprof.Profile) (*webpprof.Answer, error) {
	var whole bytes.Buffer
	if err := p.Write(&limitedWriter{w: &whole, most: s.limits.ResultBytes}); err != nil {
		return nil, err
	}
	return &webpprof.Answer{Status: http.StatusOK, Type: "application/vnd.google.protobuf+gzip", Body: whole.Bytes()}, nil
}

// pprofError returns the error of a page of pprof.
func pprofError(err error) error {
	switch {
	case errors.Is(err, webpprof.ErrLimit):
		return &limitError{http.StatusUnprocessableEntity, err.Error()}
	case errors.Is(err, webpprof.ErrParameter):
		return invalid("%w", err)
	}
	return err
}
