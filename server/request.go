package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// handle registers handlers, which require a right.
func (s *Server) handle(mux *http.ServeMux, of right, routes ...web.Route) {
	for _, r := range routes {
		mux.Handle(r.Pattern, s.measuredRoute(r, of))
	}
}

// measured is measuredRoute for a handler whose requests have the limits of most.
func (s *Server) measured(name string, of right, h http.Handler) http.Handler {
	return s.measuredRoute(web.Route{Name: name, Handler: h}, of)
}

// measuredRoute wraps a route's handler. Its requests need a right, and are counted under its name. Bodies beyond
// Limits.Body, or that of the route, are refused while they are read, and the client has Limits.ReadTime to send one.
func (s *Server) measuredRoute(route web.Route, of right) http.Handler {
	body, readTime := s.limits.Body, s.limits.ReadTime
	if route.Body > 0 {
		body, readTime = route.Body, 10*readTime
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec, ok := w.(*web.Recorder)
		if !ok {
			rec = web.NewRecorder(w, s.log)
		}
		start := time.Now()
		defer func() { s.metrics.request(route.Name, rec, time.Since(start)) }()
		// A copy, because net/http inspects the body of its own request to see whether unread bytes
		// precede the next request.
		ctx, stay := web.NewStay(r.Context(), s.answers)
		r = r.WithContext(ctx)
		s.setDeadline(rec, r, readTime)
		rec.Pace(s.readGrace, s.limits.ReadRate, start.Add(readTime+s.limits.QueryTime))
		defer func() { s.endAnswer(rec, r, stay) }()
		switch c := web.CallerOf(r.Context()); {
		case of == toWrite && !c.Write, of != toWrite && !c.Read:
			rec.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(rec, "token: a bearer token is missing or unknown", http.StatusUnauthorized)
			return
		case of == toWatch && c.Bound:
			web.Fail(rec, r, fault.Denied("token: it is for one tenant, and this is about all of them"))
			return
		}
		if r.ContentLength > body {
			web.Fail(rec, r, fault.TooLarge("a body of %d bytes, at most %d", r.ContentLength, body))
			return
		}
		r.Body = http.MaxBytesReader(rec, r.Body, body)
		route.Handler.ServeHTTP(rec, r)
	})
}

// setDeadline lets the reading of a body fail after a time. The deadline ends with the body,
// because it belongs to the connection, and its expiry cancels the request. A request without a body has
// none.
func (s *Server) setDeadline(w *web.Recorder, r *http.Request, after time.Duration) {
	if r.ContentLength == 0 {
		return
	}
	// Errors come from servers without deadlines, such as in tests.
	set := http.NewResponseController(w.ResponseWriter).SetReadDeadline
	_ = set(time.Now().Add(after))
	r.Body = &timedBody{r.Body, after, func() { _ = set(time.Time{}) }}
}

// readGrace returns how long a client may read nothing: less while other queries wait for its place.
func (s *Server) readGrace() time.Duration {
	if s.gate.IsFull() {
		return s.grace / 5
	}
	return s.grace
}

// endAnswer ends a query, whose place and memory are free once its answer was written.
func (s *Server) endAnswer(rec *web.Recorder, r *http.Request, stay *web.Stay) {
	if err := rec.EndPace(); err != nil {
		web.Note(rec, r, err)
	}
	stay.End()
}

// timedBody is a body with a deadline.
type timedBody struct {
	io.ReadCloser
	time  time.Duration
	clear func() // removes the deadline
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.clear()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = web.Coded(&fault.LimitError{Status: http.StatusRequestTimeout, Text: fmt.Sprintf("limit: a body that takes more than %s", b.time)})
	}
	return n, err
}

// log logs a request's error.
func (s *Server) log(r *http.Request, err error) { s.logError(r.Context(), r.URL.Path, err) }

// logError logs an error as the server's or as its client's.
func (s *Server) logError(ctx context.Context, path string, err error) {
	c := fault.CauseOf(err)
	if c.Status >= http.StatusInternalServerError && c.Status != http.StatusNotImplemented {
		s.opts.Log.ErrorContext(ctx, "request failed", "path", path, "cause", c.Name, "error", fault.Text(err))
		return
	}
	s.opts.Log.InfoContext(ctx, "request refused", "path", path, "cause", c.Name, "error", fault.Text(err))
}

// checkOrigin returns an error for a request that a browser sends for a page of another origin, because it
// could change something, or cause the cost of a query whose answer that page could not read. Followed
// links are accepted. Clients other than browsers send neither header, and are accepted too.
func checkOrigin(r *http.Request) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		if err := new(http.CrossOriginProtection).Check(r); err != nil {
			return fault.Origin("origin: a page of another site, %s, may not push or ask here", fault.Quoted(r.Header.Get("Origin")))
		}
		return nil
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "same-origin", "none":
		return nil
	default:
		if r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
			return nil
		}
		return fault.Origin("origin: a page of another site may link to this server, but not load its answers")
	}
}
