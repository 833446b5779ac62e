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

// olderRoutes registers the handlers for older profiles.
func (s *Server) olderRoutes() {
	s.handle(s.mux, toRead, web.Route{Pattern: "POST /older/{range}/read", Name: "older", Handler: web.Handler(s.readOlder)})
	unread := s.measured("older", toRead, web.Handler(func(_ http.ResponseWriter, r *http.Request) error {
		return fault.Unread("the profiles of %s are not read: POST read beside this path reads them, or its page", fault.Quoted(r.PathValue("range")))
	}))
	s.mux.HandleFunc("GET /older/{range}", func(w http.ResponseWriter, r *http.Request) {
		redirect(w, r, url.PathEscape(r.PathValue("range")))
	})
	s.mux.HandleFunc("/older/{range}/{rest...}", func(w http.ResponseWriter, r *http.Request) {
		of, err := source.ParseSpan(r.PathValue("range"))
		if err != nil {
			web.Fail(w, r, err)
			return
		}
		inside := insideOf(r, "/older/")
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

// redirect sends a client from the path that ends with last to the one with a slash behind it. The location is relative,
// because the server can be below another path.
func redirect(w http.ResponseWriter, r *http.Request, last string) {
	at := "./" + last + "/"
	if r.URL.RawQuery != "" {
		at += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", at)
	w.WriteHeader(http.StatusMovedPermanently)
}

// insideOf returns a request without a prefix, such as /older/, and the part behind it in its path.
func insideOf(r *http.Request, prefix string) *http.Request {
	_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), prefix), "/")
	return within(r, rest)
}

// logClose logs the error of closing a store of older profiles, or of opened files.
func (s *Server) logClose(err error) {
	if err != nil {
		s.opts.Log.Error("a store in memory is closed", "error", fault.Text(err))
	}
}

// olderLine is a line of JSON about a reading of older profiles.
type olderLine struct {
	Read  int64  `json:"read"` // rows read so far
	Of    int64  `json:"of"`   // upper bound of the rows; 0 while unknown
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error,omitempty"` // the reading failed: the last line
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

// readOlder answers POST /older/{range}/read: it reads the range's profiles, unless they are kept, and
// reports the progress. If another request reads them, it waits for that request.
func (s *Server) readOlder(w http.ResponseWriter, r *http.Request) error {
	of, err := source.ParseSpan(r.PathValue("range"))
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil { // because its deadline ends with it
		return err
	}
	lines := &olderLines{s: s, w: w}
	if rec, ok := w.(*web.Recorder); ok {
		_ = rec.EndPace() // because a reading has no time limit
	}
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
		if isLeft, err := reading.Outcome(); !isLeft { // otherwise begin again
			return lines.end(r, reading, err)
		}
	}
}

// fill reads a reading's profiles. It first drops the previous range, so that both are not in memory
// together.
func (s *Server) fill(ctx context.Context, reading *source.Reading, lines *olderLines) error {
	s.logClose(s.older.Forget(0))
	return s.older.Fill(ctx, reading, func() { lines.progress(reading) })
}

// follow reports the progress of another request's reading, until that ends.
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

// progress reports a reading's progress, if olderEvery has passed since the last line.
func (l *olderLines) progress(reading *source.Reading) {
	if time.Since(l.told) >= olderEvery {
		read, of := reading.Rows()
		l.say(olderLine{Read: read, Of: of})
	}
}

// end reports a reading's outcome. An error before the first line is the request's error.
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

// say writes a line. It ignores errors, because they mean that the client has gone, which ends the
// request's context.
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
