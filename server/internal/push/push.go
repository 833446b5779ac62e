// Package push accepts profiles: push.v1 of Pyroscope's API, /ingest, POST /pprof and OTLP. Each push is
// one transaction.
package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// Limits bounds pushes, like the fields of package server with the same names. There are no defaults.
type Limits struct {
	Body      int64
	Profile   profile.Limits
	Profiles  int
	PushBytes int64
	PushMost  int64

	Labels, LabelName, LabelValue int
	Series                        int
}

// Options are the settings of a Pusher. All except Deltas, FirstWhole, Series, Wait and Refusal are needed.
type Options struct {
	// DB returns the profiles of a tenant, or nil if it has none yet and may. Make gives it a table.
	DB, Make   func(tenant string) (*profile.DB, error)
	DropLabels []string
	// Deltas turns profiles that count from the start of a process into differences. nil stores them as they are.
	Deltas *profile.Deltas
	// FirstWhole is that of profile.InsertOptions.
	FirstWhole bool
	Limits     Limits
	// Keep returns how long a tenant keeps the states of its traces. nil and 0 mean as long as the store does.
	Keep func(tenant string) time.Duration
	// Series returns the sets of labels that a tenant may push in an hour. 0 means Limits.Series.
	Series func(tenant string) int
	Now    func() time.Time
	Counts *Counts
	// Log is called with the error of a profile that a push omits.
	Log func(ctx context.Context, path string, err error)
	// Wait is how long a push waits for memory. 0 means two seconds, because clients wait 10 s or more
	// for an answer.
	Wait time.Duration
	// Refusal returns the answer to a push that is not accepted, before it is read, or nil. nil accepts all. DB is not needed if
	// it never returns nil.
	Refusal func() error
}

// Counts count committed pushes.
type Counts struct {
	Profiles   prometheus.Counter
	Duplicates prometheus.Counter // not committed, because their id had been
	Rows       prometheus.Counter
	Received   prometheus.Counter // bytes of profiles on the wire
}

// Pusher accepts pushes. It is safe for concurrent use.
type Pusher struct {
	Options
	ids     *ids
	tenants *tenants
	traces  traces
	room    *web.Room
	mended  atomic.Int64 // values of labels
	refused atomic.Pointer[refusal]

	failures atomic.Uint64 // commits that were not durable when they were answered
	durable  atomic.Uint64 // the number of them that are by now
}

// refusal is a push that the store had no room for.
type refusal struct {
	err error
	at  time.Time
}

// refusedTime is how long a refusal counts if no other push follows.
const refusedTime = 10 * time.Second

// Ready returns why pushes are refused: the error of the last one that the store had no room for. It is forgotten with the
// next push that is accepted, or after ten seconds, because no pushes come while a server is not ready.
func (s *Pusher) Ready() error {
	r := s.refused.Load()
	if r == nil {
		return nil
	}
	if past := s.Now().Sub(r.at); past < 0 || past >= refusedTime { // before it, if the clock was wrong
		return nil
	}
	return fmt.Errorf("pushes are refused: %w", r.err)
}

// awaitDurable waits until the commits are durable that were not when they were answered, if there are any. A repetition of such a push is
// answered behind it. The errors are those of columnstore.Store.Sync.
func (s *Pusher) awaitDurable(ctx context.Context, tenant string) error {
	failures := s.failures.Load()
	if s.durable.Load() >= failures {
		return nil
	}
	db, err := s.DB(tenant)
	if err != nil || db == nil {
		return err
	}
	if err := db.Store().Sync(ctx); err != nil {
		return err
	}
	s.durable.Store(failures) // a smaller number than another goroutine's costs a sync
	return nil
}

// note keeps the outcome of a push.
func (s *Pusher) note(err error) {
	if errors.Is(err, columnstore.ErrNotDurable) {
		s.failures.Add(1)
	}
	switch {
	case err == nil:
		s.refused.Store(nil)
	case errors.Is(err, columnstore.ErrMemory), errors.Is(err, columnstore.ErrDisk), errors.Is(err, columnstore.ErrNotDurable):
		s.refused.Store(&refusal{err, s.Now()})
	}
}

// New returns a Pusher.
func New(opts Options) *Pusher {
	opts.Wait = cmp.Or(opts.Wait, 2*time.Second)
	return &Pusher{
		Options: opts, traces: traces{open: map[string]*process{}}, ids: newIDs(opts.Now), tenants: newTenants(opts), room: web.NewRoom("pushes in progress", opts.Limits.PushBytes, opts.Wait).Within(opts.Limits.PushMost),
	}
}

// Routes returns the handlers for pushes.
func (s *Pusher) Routes() []web.Route {
	return []web.Route{
		{Pattern: pushv1connect.PusherServicePushProcedure, Name: "push", Handler: s.takesInto(func(sh *share) http.Handler {
			// A message is a series, a profile or a label.
			options := s.options(sh, s.Limits.Body, s.Limits.Profiles*(s.Limits.Labels+3))
			return speaks(connect.NewUnaryHandler(pushv1connect.PusherServicePushProcedure, s.push, options...))
		})},
		{Pattern: "POST /ingest", Name: "ingest", Handler: s.takes(s.ingest)},
		{Pattern: "POST /pyroscope/ingest", Name: "ingest", Handler: s.takes(s.ingest)},
		{Pattern: "POST /pprof", Name: "pprof push", Handler: s.takes(s.pushPprof)},
		{Pattern: "POST /traces", Name: "traces", Handler: s.takes(s.pushTrace)},
		{Pattern: "POST /v1development/profiles", Name: "otlp", Handler: s.takes(s.exportHTTP)},
		{Pattern: OTLPProcedure, Name: "otlp grpc", Handler: s.takesInto(func(sh *share) http.Handler {
			options := append(s.options(sh, int64(s.Limits.Profile.Bytes), s.otlpMessages()), connect.WithCodec(s.otlpProto(sh)))
			return speaks(connect.NewUnaryHandler(OTLPProcedure, s.exportConnect, options...))
		})},
	}
}

// MemoryInUse returns the bytes reserved for pushes in progress, an upper bound of their memory.
func (s *Pusher) MemoryInUse() float64 { return s.room.InUse() }

// takes returns a handler for pushes. They share Limits.PushBytes.
func (s *Pusher) takes(f func(http.ResponseWriter, *http.Request) error) http.Handler {
	return s.takesInto(func(*share) http.Handler { return web.Handler(f) })
}

// takesInto is takes for handlers that use their share.
func (s *Pusher) takesInto(h func(*share) http.Handler) http.Handler {
	taken := s.shared(h)
	if s.Refusal == nil {
		return taken
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.Refusal(); err != nil {
			isCall := r.URL.Path == pushv1connect.PusherServicePushProcedure || r.URL.Path == OTLPProcedure
			web.Refuse(w, r, isCall, err)
			return
		}
		taken.ServeHTTP(w, r)
	})
}

// speaks returns a handler for the protocols of Connect. Messages are decoded into a push's share.
func speaks(h http.Handler) http.Handler {
	return web.Speaks(h, func(ctx context.Context) error { return shareOf(ctx).err })
}

// push handles push.v1.PusherService/Push.
func (s *Pusher) push(ctx context.Context, r *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	out, err := s.take(ctx, r.Header(), func(p *push) error { return readPush(r.Msg, p) })
	if err != nil {
		return nil, web.Error(ctx, err)
	}
	answer := connect.NewResponse(&pushv1.PushResponse{})
	out.tell(answer.Header())
	return answer, nil
}

// readPush appends the profiles in a request to a push.
func readPush(r *pushv1.PushRequest, p *push) error {
	for i, series := range r.GetSeries() {
		labels := make(map[string]string, len(series.GetLabels()))
		for _, l := range series.GetLabels() {
			if _, twice := labels[l.GetName()]; twice {
				return fault.Invalid("series %d: label %s is given twice", i, fault.Quoted(l.GetName()))
			}
			labels[l.GetName()] = l.GetValue()
		}
		for j, sample := range series.GetSamples() {
			p.profiles = append(p.profiles, pushed{
				where: fmt.Sprintf("series %d, sample %d", i, j), labels: labels, id: sample.GetID(),
				Decoded: format.Decoded{Encoded: sample.GetRawProfile()}, size: len(sample.GetRawProfile()),
			})
		}
	}
	return nil
}

// options is web.ConnectOptions for pushes with a share, which they decompress and decode into.
func (s *Pusher) options(sh *share, bytes int64, messages int) []connect.HandlerOption {
	return append(web.ConnectOptions(bytes, messages),
		connect.WithCodec(web.ProtoCodec{Most: messages, Take: sh.take, Mended: s.hasMended}),
		connect.WithCodec(web.JSONCodec{Most: messages, Take: sh.take, Mended: s.hasMended}),
		connect.WithCompression("gzip", func() connect.Decompressor { return &sharedGzip{share: sh} }, web.NewZip))
}
