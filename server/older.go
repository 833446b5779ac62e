package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// olderTime is how long older profiles are kept behind the last question about them. The next request then lets them go.
const olderTime = 10 * time.Minute

// leastOlder is the least memory of a store.
const leastOlder = 1 << 20

// older keeps the profiles that Options.Older read last, with a server of their own. It is safe for concurrent use.
type older struct {
	now func() time.Time

	mu      sync.Mutex
	kept    *olderProfiles // nil if there are none
	reading *olderReading  // in progress, or nil
}

// olderSpan is a range of times, Unix nanoseconds from from up to but not to.
type olderSpan struct{ from, to int64 }

// olderProfiles are the profiles of a span, in a store in memory. It is closed when it is neither kept nor in use.
type olderProfiles struct {
	*olderReading // that made them
	store         *columnstore.Store
	server        *Server
	used          time.Time
	uses          int
	left          bool // it is kept no more
}

// olderReading is how far a call of Options.Older is.
type olderReading struct {
	olderSpan
	read, of atomic.Int64  // rows
	ended    chan struct{} // closed when it has ended
	err      error         // of its end
	isLeft   bool          // it failed since its client had gone
}

// parseSpan returns the span of a path: two times of RFC 3339 with two hyphens between them, as in ISO 8601.
func parseSpan(text string) (of olderSpan, err error) {
	first, last, _ := strings.Cut(text, "--")
	if of.from, err = spanTime(first); err == nil {
		of.to, err = spanTime(last)
	}
	if err == nil && of.from >= of.to {
		err = invalid("range %s: its start is not before its end", quoted(text))
	}
	return of, err
}

func spanTime(text string) (int64, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.Year() < 1700 || at.Year() > 2261 { // nanoseconds of 64 bits
		return 0, invalid("range: %s is no time of RFC 3339: want FROM--TO, such as 2026-11-20T08:00:00Z--2026-11-20T09:00:00Z", quoted(text))
	}
	return at.UnixNano(), nil
}

// take returns the profiles of a span for one use, nil if they are not kept.
func (o *older) take(of olderSpan) *olderProfiles {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.kept == nil || o.kept.olderSpan != of {
		return nil
	}
	o.kept.uses++
	return o.kept
}

// leave ends a use.
func (o *older) leave(p *olderProfiles) error {
	o.mu.Lock()
	p.uses--
	p.used = o.now()
	isOver := p.left && p.uses == 0
	o.mu.Unlock()
	if !isOver {
		return nil
	}
	return p.close()
}

// begin returns the reading of a span: that of the profiles that are kept, a new one (isMine), whose profiles replace what is
// kept, or one in progress. One of another span is an error.
func (o *older) begin(of olderSpan) (reading *olderReading, isMine bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.reading != nil && o.reading.olderSpan == of:
		return o.reading, false, nil
	case o.reading != nil:
		return nil, false, tooMany("one range of older profiles at a time: that of another is read now, %d rows so far", o.reading.read.Load())
	case o.kept != nil && o.kept.olderSpan == of:
		return o.kept.olderReading, false, nil
	}
	o.reading = &olderReading{olderSpan: of, ended: make(chan struct{})}
	return o.reading, true, nil
}

// end ends a reading, and keeps its profiles if there is no error.
func (o *older) end(reading *olderReading, p *olderProfiles, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reading, reading.err = nil, err
	if p != nil {
		o.kept, p.used = p, o.now()
	}
	close(reading.ended)
}

// forget lets the profiles go if there was no question about them for so long.
func (o *older) forget(age time.Duration) error {
	o.mu.Lock()
	p := o.kept
	if p == nil || age > 0 && (p.uses > 0 || o.now().Sub(p.used) < age) {
		o.mu.Unlock()
		return nil
	}
	o.kept, p.left = nil, true
	isOver := p.uses == 0
	o.mu.Unlock()
	if !isOver {
		return nil
	}
	return p.close()
}

// close ends what belongs to the profiles. There are no requests about them.
func (p *olderProfiles) close() error {
	p.server.Wait()
	return p.store.Close()
}

// makeOlder makes the profiles of a reading. Their store is maintained here: nothing changes it once they are there, so
// that it evicts none of them.
func (s *Server) makeOlder(ctx context.Context, reading *olderReading, progress func()) (_ *olderProfiles, err error) {
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: s.limits.OlderBytes, FutureLimit: -1, PastLimit: -1, Manual: true})
	if err != nil {
		return nil, err
	}
	isMade := false
	defer func() {
		if !isMade { // also after a panic of Options.Older
			_ = store.Close()
		}
	}()
	p := &olderProfiles{olderReading: reading, store: store}
	if p.server, err = s.newOlder(store); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	full := tooCostly("the memory of older profiles, at most %d bytes: choose a shorter time", s.limits.OlderBytes)
	isFull := func() bool { return store.Stats().EvictedRows > 0 }
	err = s.opts.Older(ctx, p.server.db, reading.from, reading.to, func(read, of int64) {
		reading.read.Store(read)
		reading.of.Store(of)
		_ = store.Maintain(ctx) // an error is that of ctx, which Older returns
		if isFull() {
			stop(full)
		}
		progress()
	})
	if err == nil {
		err = store.Compact(ctx)
	}
	switch {
	case isFull() || errors.Is(err, columnstore.ErrMemory): // what was read first is gone, or there was nothing to evict
		return nil, full
	case err != nil:
		return nil, fmt.Errorf("older profiles: %w", err)
	}
	isMade = true
	return p, nil
}

// newOlder returns a server that answers from older profiles, and takes none. It shares the counts, the tokens and the places
// for queries of this one.
func (s *Server) newOlder(store *columnstore.Store) (*Server, error) {
	opts := s.opts
	opts.Older = nil
	o, err := newBare(opts, s.metrics)
	if err != nil {
		return nil, err
	}
	o.tokens, o.queries, o.isOlder = s.tokens, s.queries, true
	if o.db, err = profile.Open(store, o.opts.Profiles); err != nil {
		return nil, err
	}
	o.routes()
	return o, nil
}

// olderRoutes registers the handlers of older profiles.
func (s *Server) olderRoutes() {
	s.mux.Handle("POST /older/{range}/read", s.asks("older", s.handler(s.readOlder)))
	unread := s.asks("older", s.handler(func(_ http.ResponseWriter, r *http.Request) error {
		return &unreadError{"the profiles of " + quoted(r.PathValue("range")) + " are not read: POST read beside this path reads them, or its page"}
	}))
	s.mux.HandleFunc("GET /older/{range}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", (&url.URL{Path: "./" + r.PathValue("range") + "/", RawQuery: r.URL.RawQuery}).String()) // also below another path
		w.WriteHeader(http.StatusMovedPermanently)
	})
	s.mux.HandleFunc("/older/{range}/{rest...}", func(w http.ResponseWriter, r *http.Request) {
		of, err := parseSpan(r.PathValue("range"))
		if err != nil {
			s.fail(w, r, err)
			return
		}
		inside := insideOlder(r)
		p := s.older.take(of)
		if p == nil {
			if file, has := s.files[inside.URL.Path]; has {
				file.ServeHTTP(w, inside)
				return
			}
			unread.ServeHTTP(w, r)
			return
		}
		defer func() { s.logClose(s.older.leave(p)) }()
		p.server.ServeHTTP(w, inside)
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
		s.opts.Log.Error("older profiles are closed", "error", textOf(err))
	}
}
