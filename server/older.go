package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// olderRoutes registers the handlers of older profiles.
func (s *Server) olderRoutes() {
	s.asks(s.mux, web.Route{Pattern: "POST /older/{range}/read", Name: "older", Handler: web.Handler(s.readOlder)})
	unread := s.measured("older", func(t *Tokens) []string { return t.Read }, web.Handler(func(_ http.ResponseWriter, r *http.Request) error {
		return fault.Unread("the profiles of %s are not read: POST read beside this path reads them, or its page", fault.Quoted(r.PathValue("range")))
	}))
	s.mux.HandleFunc("GET /older/{range}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", (&url.URL{Path: "./" + r.PathValue("range") + "/", RawQuery: r.URL.RawQuery}).String()) // also below another path
		w.WriteHeader(http.StatusMovedPermanently)
	})
	s.mux.HandleFunc("/older/{range}/{rest...}", func(w http.ResponseWriter, r *http.Request) {
		of, err := source.ParseSpan(r.PathValue("range"))
		if err != nil {
			web.Fail(w, r, err)
			return
		}
		inside := insideOlder(r)
		p := s.older.Take(of)
		if p == nil {
			if file, has := s.files[inside.URL.Path]; has {
				file.ServeHTTP(w, inside)
				return
			}
			unread.ServeHTTP(w, r)
			return
		}
		defer func() { s.logClose(s.older.Leave(p)) }()
		p.ServeHTTP(w, inside)
	})
}

// insideOlder returns a request as the server of older profiles gets it: without /older/{range}.
func insideOlder(r *http.Request) *http.Request {
	_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/older/"), "/")
	inside := r.WithContext(r.Context())
	inside.URL = new(url.URL)
	*inside.URL = *r.URL
	inside.URL.Path, inside.URL.RawPath = "/"+r.PathValue("rest"), "/"+rest
	return inside
}

// logClose logs an error of a store of older profiles that is closed.
func (s *Server) logClose(err error) {
	if err != nil {
		s.opts.Log.Error("older profiles are closed", "error", fault.Text(err))
	}
}

// olderLine is a line of JSON about a reading of older profiles.
type olderLine struct {
	Read  int64  `json:"read"` // rows that were looked at
	Of    int64  `json:"of"`   // of these, at most; 0 while that is not known
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error,omitempty"` // the reading has failed: the last line
}

// olderEvery is the time between two lines.
const olderEvery = 200 * time.Millisecond

// olderLines writes lines to a client.
type olderLines struct {
	s       *Server
	w       http.ResponseWriter
	told    time.Time
	isBegun bool
}

// readOlder answers POST /older/{range}/read: it reads the profiles of the range, unless they are kept, and says how far it
// is. If another request reads them, it waits for that one.
func (s *Server) readOlder(w http.ResponseWriter, r *http.Request) error {
	of, err := source.ParseSpan(r.PathValue("range"))
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil { // its deadline ends with it
		return err
	}
	lines := &olderLines{s: s, w: w}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // a reading takes as long as it takes
	for {
		reading, isMine, err := s.older.Begin(of)
		switch {
		case err != nil:
			return lines.end(r, nil, err)
		case isMine:
			return lines.end(r, reading, s.fill(r.Context(), reading, lines))
		}
		if err := lines.follow(r.Context(), reading); err != nil {
			return err // the client has gone
		}
		if isLeft, err := reading.Outcome(); !isLeft { // else begin again
			return lines.end(r, reading, err)
		}
	}
}

// fill reads the profiles of a reading. What was kept before goes first, so that the memory of both is not needed.
func (s *Server) fill(ctx context.Context, reading *source.Reading, lines *olderLines) error {
	s.logClose(s.older.Forget(0))
	return s.older.Fill(ctx, reading, func() { lines.progress(reading) })
}

// follow says how far the reading of another request is, until that ends.
func (l *olderLines) follow(ctx context.Context, reading *source.Reading) error {
	tick := time.NewTicker(olderEvery)
	defer tick.Stop()
	for {
		select {
		case <-reading.Ended():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			l.progress(reading)
		}
	}
}

// progress says how far a reading is, if a while has passed.
func (l *olderLines) progress(reading *source.Reading) {
	if time.Since(l.told) >= olderEvery {
		read, of := reading.Rows()
		l.say(olderLine{Read: read, Of: of})
	}
}

// end says how a reading has ended. An error before the first line is that of the request.
func (l *olderLines) end(r *http.Request, reading *source.Reading, err error) error {
	if err != nil && !l.isBegun {
		return err
	}
	last := olderLine{Done: err == nil}
	if reading != nil {
		last.Read, last.Of = reading.Rows()
	}
	if err != nil {
		last.Error = fault.Text(err)
		web.Note(l.w, r, err)
	}
	l.say(last)
	return nil
}

// say writes a line. An error of it is that the client has gone, which ends the context of the request.
func (l *olderLines) say(line olderLine) {
	answer := http.NewResponseController(l.w)
	if !l.isBegun {
		l.isBegun = true
		l.w.Header().Set("Content-Type", "application/x-ndjson")
		l.w.Header().Set("Cache-Control", "no-store")
		l.w.Header().Set("X-Content-Type-Options", "nosniff")
	}
	l.told = time.Now()
	_ = answer.SetWriteDeadline(l.told.Add(l.s.limits.ReadTime))
	_ = json.NewEncoder(l.w).Encode(line)
	_ = answer.Flush()
	_ = answer.SetWriteDeadline(time.Time{}) // until the next line
}
