// Package push takes profiles: push.v1 of Pyroscope's API, /ingest, POST /pprof and OTLP, each push as one transaction.
package push

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// Limits bounds pushes, as those of package server with the same names do. None has a default.
type Limits struct {
	Body      int64
	Profile   profile.Limits
	Profiles  int
	PushBytes int64

	Labels, LabelName, LabelValue int
	Series, Tenants               int
}

// Options are what pushes are taken with. All but Wait and Refusal are needed.
type Options struct {
	DB         *profile.DB
	DropLabels []string
	Limits     Limits
	Now        func() time.Time
	Counts     *Counts
	// Log takes the error of profiles that a push leaves out.
	Log func(ctx context.Context, path string, err error)
	// Wait is how long a push waits for memory. 0 is two seconds: clients wait 10 s for an answer, or more.
	Wait time.Duration
	// Refusal is the answer to each push, if there is no place for profiles. DB is not needed then.
	Refusal error
}

// Counts count what is committed.
type Counts struct {
	Profiles   prometheus.Counter
	Duplicates prometheus.Counter // not committed, as their id had been
	Rows       prometheus.Counter
	Received   prometheus.Counter // bytes of profiles as they were sent
}

// Pusher takes pushes. It is safe for concurrent use.
type Pusher struct {
	Options
	ids     *ids
	tenants *tenants
	room    *pushRoom
}

// New returns a Pusher.
func New(opts Options) *Pusher {
	const wait = 2 * time.Second
	if opts.Wait == 0 {
		opts.Wait = wait
	}
	return &Pusher{
		Options: opts, ids: newIDs(opts.Now), tenants: newTenants(opts.Limits, opts.Now), room: &pushRoom{most: opts.Limits.PushBytes},
	}
}

// MemoryInUse returns the bytes of memory that pushes in progress are counted with, at the worst.
func (s *Pusher) MemoryInUse() float64 { return s.room.inUse() }

// Routes returns the handlers of pushes.
func (s *Pusher) Routes() []web.Route {
	return []web.Route{
		{Pattern: pushv1connect.PusherServicePushProcedure, Name: "push", Handler: s.takesInto(func(sh *share) http.Handler {
			// A message is a series, a profile or a label.
			options := pushOptions(sh, s.Limits.Body, s.Limits.Profiles*(s.Limits.Labels+3))
			return speaks(connect.NewUnaryHandler(pushv1connect.PusherServicePushProcedure, s.push, options...))
		})},
		{Pattern: "POST /ingest", Name: "ingest", Handler: s.takes(s.ingest)},
		{Pattern: "POST /pprof", Name: "pprof push", Handler: s.takes(s.pushPprof)},
		{Pattern: "POST /v1development/profiles", Name: "otlp", Handler: s.takes(s.exportHTTP)},
		{Pattern: OTLPProcedure, Name: "otlp grpc", Handler: s.takesInto(func(sh *share) http.Handler {
			options := pushOptions(sh, int64(s.Limits.Profile.Bytes), s.otlpMessages())
			return speaks(connect.NewUnaryHandler(OTLPProcedure, s.exportConnect, options...))
		})},
	}
}

// takes is a handler of pushes, which share Limits.PushBytes.
func (s *Pusher) takes(h http.HandlerFunc) http.Handler {
	return s.takesInto(func(*share) http.Handler { return h })
}

// takesInto is takes for handlers that know their share.
func (s *Pusher) takesInto(h func(*share) http.Handler) http.Handler {
	if s.Refusal != nil {
		h = func(*share) http.Handler { return http.HandlerFunc(s.refuse) }
	}
	return s.shared(h)
}

// refuse answers a push with the refusal, in the protocol that it came by.
func (s *Pusher) refuse(w http.ResponseWriter, r *http.Request) {
	isCall := r.URL.Path == pushv1connect.PusherServicePushProcedure || r.URL.Path == OTLPProcedure
	if connects := connect.NewErrorWriter(); isCall && connects.IsSupported(r) {
		web.Note(w, r, s.Refusal)
		_ = connects.Write(w, r, s.Refusal) // an error is that the client has gone
		return
	}
	web.Fail(w, r, s.Refusal)
}

// speaks is a handler of the protocols of Connect, whose messages are decoded into the share of a push.
func speaks(h http.Handler) http.Handler {
	return web.Speaks(h, func(ctx context.Context) error { return shareOf(ctx).refusal() })
}

// push takes the profiles of a collector: push.v1.PusherService/Push.
func (s *Pusher) push(ctx context.Context, r *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	p, err := newPush(r.Header())
	if err == nil {
		err = readPush(r.Msg, p)
	}
	if err == nil {
		_, err = s.insert(ctx, p)
	}
	if err != nil {
		return nil, web.Error(ctx, err)
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

// readPush appends the profiles of a request to a push.
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
				data: sample.GetRawProfile(), size: len(sample.GetRawProfile()),
			})
		}
	}
	return nil
}

// pushOptions is web.ConnectOptions for pushes with a share, which they decompress and decode into.
func pushOptions(sh *share, bytes int64, messages int) []connect.HandlerOption {
	return append(web.ConnectOptions(bytes, messages),
		connect.WithCodec(web.ProtoCodec{Most: messages, Take: sh.take}), connect.WithCodec(web.JSONCodec{Most: messages, Take: sh.take}),
		connect.WithCompression("gzip", func() connect.Decompressor { return &sharedGzip{share: sh} }, web.NewZip))
}
