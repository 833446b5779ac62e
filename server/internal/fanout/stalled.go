package fanout

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A stopped process takes connections and never answers. A partial answer does not wait for it: while a node's answer
// takes its time, the node is asked whether it is alive.
const (
	aliveAfter = 250 * time.Millisecond // until a node is asked first; most have answered by then
	aliveEach  = time.Second            // from then on
	aliveTime  = 750 * time.Millisecond // a node that takes longer to answer GET /healthz is stalled
	stalledFor = 2 * time.Second        // how long a stalled node is not asked anything
)

// exchangeAlive is exchange with a node that partial answers may lack. The error is a nodeError as soon as the node is known
// to be stalled, and at once for stalledFor.
func (s *Set) exchangeAlive(ctx context.Context, n *node, q Question, room *atomic.Int64) (reply, error) {
	if time.Now().UnixNano() < n.stalled.Load() {
		return reply{}, n.away("no answer within %s, a moment ago", aliveTime)
	}
	within, fail := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer fail(nil)
	watch.Go(func() {
		if err := s.watch(within, n); err != nil {
			n.stalled.Store(time.Now().Add(stalledFor).UnixNano())
			fail(err)
		}
	})
	r, err := s.exchange(within, n, q, room)
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		err = context.Cause(within)
	}
	return r, err
}

// watch asks a node whether it is alive until it is not, which is the error, or until ctx ends.
func (s *Set) watch(ctx context.Context, n *node) error {
	timer := time.NewTimer(aliveAfter)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if !s.isAlive(ctx, n) && ctx.Err() == nil {
			return n.away("no answer within %s to whether it is alive", aliveTime)
		}
		timer.Reset(aliveEach)
	}
}

// isAlive reports whether a node answers GET /healthz, whatever it says. A node that refuses the connection is not stalled: its
// question fails by itself.
func (s *Set) isAlive(ctx context.Context, n *node) bool {
	within, cancel := context.WithTimeout(ctx, aliveTime)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodGet, n.url+"/healthz", http.NoBody)
	if err != nil {
		return true
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return within.Err() == nil
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<10) // so that the connection is used again
	_ = resp.Body.Close()
	return true
}
