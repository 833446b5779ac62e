package source

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// Gate bounds the number of queries in progress, and their time. It is safe for concurrent use.
type Gate struct {
	places  chan struct{} // has a value for each query in progress
	waiting atomic.Int64  // queries without a place
	time    time.Duration
	bytes   int64
}

// NewGate returns a gate for at most `places` queries at once, each within `most`. Errors about memory name
// `bytes`.
func NewGate(places int, most time.Duration, bytes int64) *Gate {
	return &Gate{places: make(chan struct{}, places), time: most, bytes: bytes}
}

// IsFull reports whether queries wait for a place.
func (g *Gate) IsFull() bool { return g.waiting.Load() > 0 }

// InTime calls f within the limits on the number of queries and on their time, which includes the wait for a
// place. A request with a web.Stay keeps its place until that ends, when its answer is written.
func (g *Gate) InTime(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, g.time, context.DeadlineExceeded)
	defer cancel()
	if stay := web.StayOf(ctx); !stay.HasPlace() {
		if err := g.enter(ctx); err != nil {
			return err
		}
		leave := func() { <-g.places }
		if !stay.Keep(leave) {
			defer leave()
		}
	}
	err := f(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.TooCostly("the time of a query, at most %s", g.time)
	}
	if errors.Is(err, columnstore.ErrQueryMemory) {
		return fault.TooCostly("the memory of a query, at most %d bytes: %v", g.bytes, err)
	}
	return err
}

// enter waits for a place.
func (g *Gate) enter(ctx context.Context) error {
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	select {
	case g.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return fault.TooMany("%d queries at once", cap(g.places))
	}
}
