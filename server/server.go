package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/fanout"
	"github.com/granarydb/granary/server/ui"
)

// Server answers the protocols of profiling servers from the profiles of a store. It is an
// http.Handler, safe for concurrent use, and owns no goroutine. The store belongs to the caller,
// who closes it when the last request has ended.
type Server struct {
	db       *profile.DB
	opts     Options
	limits   Limits
	metrics  *metrics
	tokens   *atomic.Pointer[Tokens]
	queries  chan struct{} // has a value for each query in progress
	ids      *ids
	tenants  *tenants
	room     *pushRoom
	mux      *http.ServeMux
	held     held                     // snapshots for the questions of a page
	newest   atomic.Pointer[newestAt] // of the last question of a page
	pyramids pyramids                 // of histories, for the same
	older    older                    // profiles that the store has no more
	isOlder  bool                     // this is the server of such profiles
	files    map[string]http.Handler  // of the page
	run      string                   // tells this run of the server from others
	closing  atomic.Bool
	active   sync.WaitGroup // requests in progress

	front    *fanout.Set    // of a server without a store
	comments []string       // of the profiles of its answers
	times    *profile.Times // of the profiles of its nodes
}

// New returns a server of the profiles of a store, and creates their table if it does not
// exist. Errors are ErrLimit for a negative limit, or too small a one (Limits.OlderBytes), and those of profile.Open.
//
// A server is mounted below a path by http.StripPrefix. For gRPC the http.Server needs HTTP/2,
// without TLS http.Protocols.SetUnencryptedHTTP2.
func New(store *columnstore.Store, opts Options) (*Server, error) {
	s, err := newBare(opts, newMetrics(store))
	if err != nil {
		return nil, err
	}
	if s.db, err = profile.Open(store, s.opts.Profiles); err != nil {
		return nil, err
	}
	s.routes()
	return s, nil
}

// newBare returns a server without profiles and routes.
func newBare(opts Options, m *metrics) (*Server, error) {
	if err := opts.Limits.Check(); err != nil {
		return nil, err
	}
	limits := opts.Limits.WithDefaults()
	if opts.Older != nil && limits.OlderBytes < leastOlder {
		return nil, fmt.Errorf("%w on bytes of older profiles: %d, want %d or more", ErrLimit, limits.OlderBytes, leastOlder)
	}
	opts.Profiles.Limits = limits.Profile
	if opts.DropLabels == nil {
		opts.DropLabels = DefaultDropLabels
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Server{
		opts: opts, limits: limits, metrics: m, tokens: new(atomic.Pointer[Tokens]),
		queries: make(chan struct{}, limits.Queries), mux: http.NewServeMux(),
		ids: newIDs(opts.Now), tenants: newTenants(limits, opts.Now),
		room: &pushRoom{most: limits.PushBytes, wait: pushWait},
		held: held{now: opts.Now}, pyramids: pyramids{now: opts.Now}, older: older{now: opts.Now}, run: rand.Text(),
		files: ui.Handlers(),
	}
	s.SetTokens(opts.Tokens)
	return s, nil
}

// routes registers the handlers.
func (s *Server) routes() {
	if !s.isOlder {
		s.ownRoutes()
		s.pushRoutes()
	}
	s.queryRoutes()
	s.pageRoutes()
	for path, h := range s.files { // without tokens: the page has no data of its own
		if path == "/" {
			path = "/{$}"
		}
		s.mux.Handle("GET "+path, h)
	}
	if s.front != nil {
		s.frontRoutes()
		return
	}
	s.mux.Handle("GET /pprof", s.asks("pprof", headed(s.handler(s.pprof))))
	s.mux.Handle("GET /arrow", s.asks("arrow", s.handler(s.arrow)))
	if s.opts.Older != nil {
		s.olderRoutes()
	}
	for _, method := range []string{"GET ", "POST "} {
		s.mux.Handle(method+fanout.SourcesPath, s.asks("sources", headed(s.handler(s.sources))))
	}
}

// ownRoutes registers the handlers of what the server itself is.
func (s *Server) ownRoutes() {
	s.metrics.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "granary_push_memory_bytes", Help: "Memory that pushes in progress are counted with, at the worst.",
	}, s.room.inUse))
	s.mux.HandleFunc("GET /healthz", s.health)
	s.mux.HandleFunc("GET /readyz", s.ready)
	s.mux.Handle("GET /metrics", s.asks("/metrics", s.metrics.handler()))
}

// SetTokens replaces the tokens. Requests that have begun keep those of before.
func (s *Server) SetTokens(t Tokens) { s.tokens.Store(&t) }

// Drain makes /readyz answer that the server is not ready, so that no new clients are sent to it
// while it shuts down. Requests are answered as before.
func (s *Server) Drain() { s.closing.Store(true) }

// Wait returns when no request is in progress. The caller takes no new ones meanwhile: it has shut
// its http.Server down. Snapshots that were held for later questions, and older profiles, are then closed. A front then closes its idle
// connections to nodes.
func (s *Server) Wait() {
	s.active.Wait()
	s.held.keep(0)
	s.logClose(s.older.forget(0))
	if s.front != nil {
		s.front.CloseIdle()
	}
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.Add(1)
	defer s.active.Done()
	rec := &recorder{ResponseWriter: w}
	defer s.recover(rec, r)
	if !s.knowsHost(r.Host) {
		s.fail(rec, r, &limitError{http.StatusMisdirectedRequest, "host: " + quoted(r.Host) + " is not a name of this server"})
		return
	}
	if err := checkOrigin(r); err != nil {
		s.fail(rec, r, err)
		return
	}
	s.held.keep(heldSnapshots)
	s.pyramids.forget()
	s.logClose(s.older.forget(olderTime))
	start := time.Now()
	s.mux.ServeHTTP(rec, r)
	if r.Pattern == "" {
		s.note(rec, r, invalid("method %s of this path is not served", quoted(r.Method)))
		s.metrics.request("none", rec, time.Since(start))
	}
}

// recover answers a request whose handler panicked. The panic is logged with its stack.
func (s *Server) recover(w *recorder, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	s.metrics.panics.Inc()
	s.opts.Log.Error("panic", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler) // the client sees a cut answer, not one that looks whole
	}
	http.Error(w, "internal error", http.StatusInternalServerError)
}

// knowsHost reports whether a Host header names this server.
func (s *Server) knowsHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil {
		return true
	}
	for _, h := range s.opts.Hosts {
		if h == "*" || strings.EqualFold(h, host) {
			return true
		}
	}
	return false
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }

// ready answers whether requests can be sent here: not while the server drains, and not when
// files of the store cannot be written, or the nodes of a front are not ready.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.closing.Load() {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	var err error
	if s.front != nil {
		err = s.front.Ready(r.Context())
	} else if err = s.db.Store().Stats().FilingError; err != nil {
		err = fmt.Errorf("files cannot be written: %w", err)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	s.health(w, nil)
}
