package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/listing"
	"github.com/granarydb/granary/server/internal/marks"
	"github.com/granarydb/granary/server/internal/page"
	"github.com/granarydb/granary/server/internal/push"
	"github.com/granarydb/granary/server/internal/querier"
	"github.com/granarydb/granary/server/internal/question"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
	"github.com/granarydb/granary/server/ui"
)

// Server answers the protocols of profiling servers from a store's profiles. It is an http.Handler, safe
// for concurrent use, and owns no goroutine. The store belongs to the caller, which closes it after the last
// request has ended.
type Server struct {
	opts     Options
	limits   Limits
	metrics  *metrics
	grants   atomic.Pointer[grants] // of the tokens
	read     *question.Reader
	gate     *source.Gate
	answers  *web.Room     // memory of encoded answers that clients read
	grace    time.Duration // for which a client may read nothing
	tenants  tenants
	source   source.Source  // of the nodes, or of the tenant Anonymous
	mux      *http.ServeMux // for source
	pushes   *push.Pusher
	older    *source.Older // nil without Options.Older
	opened   *source.Files // by clients; nil for a front
	sources  *listing.Dirs // nil without Options.Sources
	archives *archives     // nil without Options.Archives
	deltas   *profile.Deltas
	marks    *marks.Log
	rules    *ruleSets               // nil for a front
	files    map[string]http.Handler // of the page
	closing  atomic.Bool
	copying  sync.Mutex   // held by a backup
	erasing  sync.Mutex   // held by a deletion
	symbols  *symbolFiles // nil without names for addresses
	active   atomic.Int64 // requests in progress
}

// New returns a server for the profiles in a store, and creates the table of the tenant Anonymous if it does not exist.
// Errors are ErrLimit for a limit that is negative or too small (Limits.OlderBytes), that of a directory of Options.Sources, and
// the errors of profile.Open and SetTenants.
//
// To mount a server below a path, use http.StripPrefix. For gRPC the http.Server needs HTTP/2, without TLS
// http.Protocols.SetUnencryptedHTTP2.
func New(store *columnstore.Store, opts Options) (*Server, error) {
	s, err := newBare(opts, newMetrics(store))
	if err != nil {
		return nil, err
	}
	if s.deltas = s.opts.Deltas; s.deltas == nil {
		s.deltas = profile.NewDeltas(s.limits.DeltaOptions())
	}
	if s.marks, err = marks.Open(s.opts.Annotations, s.opts.Now); err != nil {
		return nil, err
	}
	s.tenants.store, s.tenants.open = store, map[string]*tenant{}
	if s.symbols, err = newSymbolFiles(s.opts.Symbols, s.limits); err != nil {
		return nil, err
	}
	s.archives = newArchives(&s.opts, s.limits)
	s.opts.Profiles.Names = s.symbols.names(profile.Anonymous)
	s.rules = newRuleSets(s.opts.Rules, s.limits)
	if err := s.rules.load(s.opts.Now()); err != nil {
		return nil, errors.Join(err, s.symbols.close())
	}
	s.metrics.registry.MustRegister(deltaCollector{s.deltas}, tenantCollector{s}, ruleCollector{s.rules})
	if opts.Lake != nil {
		s.metrics.registry.MustRegister(lakeCollector{opts.Lake})
	}
	s.pushes = s.newPusher(s.refusal())
	s.opened = source.NewFiles(source.FilesOptions{Bytes: s.limits.ViewBytes, Time: s.limits.QueryTime, Profiles: s.opts.Profiles, Reader: s.read, Handler: s.filesHandler})
	if err := s.openTenants(); err != nil {
		return nil, errors.Join(err, s.tenants.close(), s.symbols.close())
	}
	return s, nil
}

// newBare returns a server without profiles and routes.
func newBare(opts Options, m *metrics) (*Server, error) {
	if err := opts.Limits.Check(); err != nil {
		return nil, err
	}
	limits := opts.Limits.WithDefaults()
	if opts.Older != nil && limits.OlderBytes < source.LeastOlder {
		return nil, fmt.Errorf("%w on bytes of older profiles: %d, want %d or more", ErrLimit, limits.OlderBytes, source.LeastOlder)
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
		opts: opts, limits: limits, metrics: m, files: ui.Handlers(),
		read:    &question.Reader{QueryBytes: limits.QueryBytes, MaxNodes: limits.Nodes, MaxLabels: limits.Labels, Now: opts.Now},
		gate:    source.NewGate(limits.Queries, limits.QueryTime, limits.QueryBytes),
		answers: web.NewRoom("answers in progress", limits.AnswerBytes, answerWait), grace: readGrace,
	}
	if len(opts.Sources) > 0 {
		var err error
		if s.sources, err = listing.New(opts.Sources); err != nil {
			return nil, err
		}
	}
	return s, s.SetTokens(opts.Tokens)
}

// openTenants opens the tenants that always are: Anonymous, and nobody.
func (s *Server) openTenants() error {
	empty, err := columnstore.Open(columnstore.Options{Manual: true})
	if err != nil {
		return err
	}
	db, err := profile.Open(empty, s.opts.Profiles)
	if err != nil {
		return errors.Join(err, empty.Close())
	}
	s.tenants.nobody = s.newTenant(db, false)
	if err := s.SetTenants(s.opts.Tenants); err != nil {
		return err
	}
	first, err := s.open(profile.Anonymous)
	if err != nil {
		return err
	}
	s.source, s.mux = first.source, first.mux
	if s.opts.Older != nil {
		s.older = source.NewOlder(source.OlderOptions{
			Read: s.opts.Older, Bytes: s.limits.OlderBytes, Profiles: s.opts.Profiles, Reader: s.read, Handler: s.olderHandler,
		})
		s.olderRoutes()
	}
	return nil
}

// kept calls Options.Kept for a file or a folder that a request has changed; "" is none.
func (s *Server) kept(ctx context.Context, path string) error {
	if s.opts.Kept == nil || path == "" {
		return nil
	}
	if err := s.opts.Kept(ctx, path); err != nil {
		return fmt.Errorf("%w: %w", disk.ErrNotDurable, err)
	}
	return nil
}

// refusal returns Options.Refusal for the receiver of pushes, as an error that clients repeat.
func (s *Server) refusal() func() error {
	if s.opts.Refusal == nil {
		return nil
	}
	return func() error {
		if err := s.opts.Refusal(); err != nil {
			return &fault.LimitError{Status: http.StatusServiceUnavailable, Text: "pushes are refused: " + err.Error()}
		}
		return nil
	}
}

// newPusher returns the receiver of pushes, which refuses those for which refusal, unless it is nil, returns an error.
func (s *Server) newPusher(refusal func() error) *push.Pusher {
	l := s.limits
	pushes := push.New(push.Options{
		DB: s.pushDB, Make: s.makeDB, Keep: s.keepOf, Series: s.seriesOf, DropLabels: s.opts.DropLabels, Deltas: s.deltas, FirstWhole: s.opts.FirstWhole, Now: s.opts.Now,
		Counts: &s.metrics.pushes, Log: s.logError, Refusal: refusal,
		Limits: push.Limits{
			Body: l.Body, Profile: l.Profile, Profiles: l.Profiles, PushBytes: l.PushBytes, PushMost: l.PushMost,
			Labels: l.Labels, LabelName: l.LabelName, LabelValue: l.LabelValue, Series: l.Series,
		},
	})
	s.metrics.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "granary_push_memory_bytes", Help: "Memory that pushes in progress are counted with, at the worst.",
	}, pushes.MemoryInUse), prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "granary_push_mended_total", Help: "Names and values of pushed profiles that were mended: not UTF-8, or too long.",
	}, s.mended), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "granary_answer_memory_bytes", Help: "Memory of encoded answers that clients read.",
	}, s.answers.InUse))
	return pushes
}

// mended returns how many names and values of pushed profiles were mended since the start.
func (s *Server) mended() float64 {
	n := s.pushes.Mended()
	for _, t := range s.tenants.all() {
		n += t.source.DB().Mended()
	}
	return float64(n)
}

// newMux returns the handlers for requests to a source.
func (s *Server) newMux(of source.Source, hasOlder bool) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /ready", s.ready)
	s.handle(mux, toWatch, web.Route{Pattern: "GET /metrics", Name: "/metrics", Handler: s.metrics.handler()})
	s.handle(mux, toWatch, web.Route{Pattern: "POST /backup", Name: "backup", Handler: web.Handler(s.backup)})
	s.handle(mux, toWrite, s.pushes.Routes()...)
	s.handle(mux, toWrite, web.Route{Pattern: "POST /annotations", Name: "annotations", Handler: s.annotate(of)}, web.Route{Pattern: "DELETE /annotations", Name: "annotations", Handler: s.unannotate(of)})
	s.handle(mux, toWrite, web.Route{Pattern: "POST /rules", Name: "rules", Handler: s.postRules(of)})
	s.handle(mux, toRead, web.Route{Pattern: "GET /rules", Name: "rules", Handler: s.getRules(of)})
	s.handle(mux, toWrite, web.Route{Pattern: "POST /delete", Name: "delete", Handler: s.deleteHandler(of)})
	s.handle(mux, toWrite, web.Route{Pattern: "POST /symbols", Name: "symbols", Handler: s.symbolsHandler(of), Body: s.limits.Symbols})
	s.handle(mux, toWrite, web.Route{Pattern: "POST /archives", Name: "archives", Handler: s.keepArchive(of), Body: s.limits.Archives}, web.Route{Pattern: "DELETE /archives", Name: "archives", Handler: s.removeArchive(of)})
	s.handle(mux, toRead, web.Route{Pattern: "GET /archives", Name: "archives", Handler: web.Headed(s.listArchives(of))})
	s.questions(mux, of, hasOlder, s.opts.Self)
	if s.opts.Assist != nil {
		s.handle(mux, toRead, web.Route{Pattern: "/mcp", Name: "mcp", Handler: s.assistant(of)})
	}
	s.filesRoutes(mux)
	return mux
}

// questions registers the handlers of queries of a source, and of the page. files are the names of opened files, if the source
// is of them.
func (s *Server) questions(mux *http.ServeMux, of source.Source, hasOlder bool, self string, files ...string) {
	s.handle(mux, toRead, querier.Routes(querier.Options{Source: of, Gate: s.gate, Read: s.read, ResultBytes: s.limits.ResultBytes})...)
	s.handle(mux, toRead, page.Routes(page.Options{Source: of, Gate: s.gate, Read: s.read, ResultBytes: s.limits.ResultBytes, Marks: s.marks, HasOlder: hasOlder, Files: files, Text: s.textFunc(), Self: self})...)
	for path, h := range s.files { // without tokens, because the page has no data of its own
		if path == "/" {
			path = "/{$}"
		}
		mux.Handle("GET "+path, h)
	}
}

// olderHandler returns the handler of queries of older profiles.
func (s *Server) olderHandler(of *source.Store) http.Handler {
	mux := http.NewServeMux()
	s.questions(mux, of, false, "")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(mux, w, r) })
}

// SetTokens replaces the tokens. Requests in progress keep the previous ones. The error is profile.ErrTenant for a token that
// is bound to an invalid name; nothing is replaced then.
func (s *Server) SetTokens(t Tokens) error {
	g, err := newGrants(t)
	if err == nil {
		s.grants.Store(g)
	}
	return err
}

// Drain makes /readyz answer that the server is not ready, so that no new clients are sent to it while it
// shuts down. Requests are answered as usual.
func (s *Server) Drain() { s.closing.Store(true) }

// Wait waits until no request is in progress, or ctx is done. The caller must have shut down its http.Server before, so
// that no new request arrives, and ended the contexts of requests that it cut: http.Server.Close does. Wait then closes
// the held snapshots and older profiles, and a front's idle connections to nodes. It returns an error if requests are in
// progress still. The caller can close the store then too: their pushes get columnstore.ErrClosed.
func (s *Server) Wait(ctx context.Context) error {
	const every = 5 * time.Millisecond
	var err error
	for tick := time.NewTicker(every); s.active.Load() > 0 && err == nil; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			err = fmt.Errorf("%d requests are still in progress: %w", s.active.Load(), context.Cause(ctx))
		}
	}
	if s.older != nil {
		s.logClose(s.older.Forget(0))
	}
	if s.tenants.store == nil {
		s.source.Close()
		return err
	}
	s.logClose(s.opened.Forget(0))
	s.logClose(s.tenants.close())
	s.logClose(s.symbols.close())
	return err
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.Add(1)
	defer s.active.Add(-1)
	rec := web.NewRecorder(w, s.log)
	defer s.recover(rec, r)
	if !s.knowsHost(r.Host) {
		web.Fail(rec, r, &fault.LimitError{Status: http.StatusMisdirectedRequest, Text: "host: " + fault.Quoted(r.Host) + " is not a name of this server"})
		return
	}
	if err := checkOrigin(r); err != nil {
		web.Fail(rec, r, err)
		return
	}
	s.tenants.tidy(time.Now())
	if s.older != nil {
		s.logClose(s.older.Forget(source.OlderTime))
	}
	if s.opened != nil {
		s.logClose(s.opened.Forget(source.FilesTime))
	}
	if completeTenantPath(rec, r) {
		return
	}
	rec.Header().Add("Vary", web.TenantHeader)
	start := time.Now()
	named, err := s.nameCaller(r)
	mux := s.mux
	if err == nil {
		mux, err = s.muxOf(web.CallerOf(named.Context()).Tenant)
	}
	if err != nil {
		web.Fail(rec, r, err)
		s.metrics.request("none", rec, time.Since(start))
		return
	}
	s.serve(mux, rec, named)
}

// serve answers a request with mux, and counts the request if mux has no handler for it. Handlers count theirs.
func (s *Server) serve(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	mux.ServeHTTP(w, r)
	if rec, ok := w.(*web.Recorder); ok && r.Pattern == "" {
		web.Note(rec, r, fault.Invalid("method %s of this path is not served", fault.Quoted(r.Method)))
		s.metrics.request("none", rec, time.Since(start))
	}
}

// recover answers a request whose handler panicked. The panic is logged with its stack.
func (s *Server) recover(w *web.Recorder, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	s.metrics.panics.Inc()
	s.opts.Log.Error("panic", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	if w.Status != 0 {
		panic(http.ErrAbortHandler) // so that the client sees a cut answer, not one that looks whole
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
	return slices.ContainsFunc(s.opts.Hosts, func(h string) bool { return h == "*" || strings.EqualFold(h, host) })
}

// health answers whether the process can go on (Options.Health).
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.opts.Health != nil {
		if err := s.opts.Health(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	_, _ = w.Write([]byte("ok\n"))
}

// ready answers whether requests can be sent here: not while the server drains, not while the store refuses pushes or
// cannot write files, not while a node of a lake says so (Options.Lake), and not while a front's nodes are not ready.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.closing.Load() {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	if err := cmp.Or(s.source.Ready(r.Context()), s.pushes.Ready(), s.lakeReady()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	s.health(w, nil)
}

// Times of answers: how long a query waits for memory for its answer, and a client may read nothing.
const (
	answerWait = 2 * time.Second
	readGrace  = 5 * time.Second
)

// Nodes are the servers from whose profiles a front answers. No profile is on two of them.
type Nodes struct {
	// URLs are the nodes' addresses, such as http://granary-0:4040: http or https, without a user and a
	// query.
	URLs []string
	// PartialAnswers lets a front answer without nodes that are away, as long as one answers. Each
	// answer then has a header Granary-Warning for each missing node, and a profile also a comment.
	// Otherwise a node that is away is an error.
	PartialAnswers bool
	// Transport carries the requests to nodes. nil means a transport that trusts the system's
	// certificates. It must be safe for concurrent use.
	Transport http.RoundTripper
}

// ErrNode reports a front's node with an invalid address, or one that did not answer. The text names the
// node.
var ErrNode = fault.ErrNode

// NewFront returns a server without a store: it answers queries from the profiles of all nodes, and takes
// no pushes. Options.Profiles, DropLabels, Older and Lake are not used; Tokens.Node is sent to the nodes. The
// limits bound the front's answers and its reads from each node. Errors are ErrLimit for a negative limit,
// and ErrNode for an address that is invalid or repeated.
func NewFront(nodes Nodes, opts Options) (*Server, error) {
	opts.Older, opts.Lake = nil, nil
	s, err := newBare(opts, newMetrics(nil))
	if err != nil {
		return nil, err
	}
	const message = 100 // approximate bytes of a message in memory
	set, err := fanout.New(fanout.Nodes(nodes), fanout.Options{
		Answer: s.limits.ResultBytes, Memory: s.limits.QueryBytes, Time: s.limits.QueryTime, Queries: s.limits.Queries, Profile: s.limits.Profile,
		Registry: s.metrics.registry, Codec: web.ProtoCodec{Most: int(max(s.limits.QueryBytes/message, 1000))},
		Token: func() string { return s.grants.Load().node }, Warn: s.warn,
	})
	if err != nil {
		return nil, err
	}
	s.source = source.NewNodes(set)
	_, refusal := s.source.Store(source.Pushes)
	s.pushes = s.newPusher(func() error { return refusal })
	s.mux = s.newMux(s.source, false)
	return s, nil
}

// warn adds a warning to the answer, and logs it.
func (s *Server) warn(ctx context.Context, err error) {
	source.Warn(ctx, err)
	s.opts.Log.WarnContext(ctx, "partial answer", "error", err)
}

// ReadAhead brings what the first question of most clients needs into memory, as profile.DB.ReadAhead does for the tenant Anonymous. It ends
// when ctx does. A server without it gives the same answers, the first one later. A front has nothing to read.
func (s *Server) ReadAhead(ctx context.Context) {
	if s.tenants.store == nil {
		return
	}
	t, err := s.open(profile.Anonymous)
	if err == nil {
		db := t.source.DB()
		err = db.Store().View(ctx, func(snap *columnstore.Snapshot) error { return db.ReadAhead(ctx, snap) })
	}
	if err != nil && ctx.Err() == nil {
		s.opts.Log.Warn("cannot read ahead", "error", err)
	}
}
