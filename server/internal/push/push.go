// Package push takes profiles: push.v1 of Pyroscope's API, /ingest, POST /pprof and OTLP, each push as one transaction.
package push

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/granarydb/granary/profile"
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
