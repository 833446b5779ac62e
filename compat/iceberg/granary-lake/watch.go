package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/iceberg"
	"github.com/granarydb/granary/compat/iceberg/mirror"
	"github.com/granarydb/granary/server"
)

// watch is how far a node's rows are in the table, for /metrics and /readyz.
type watch struct {
	store  *columnstore.Store
	sealer *iceberg.Sealer // set before the first request
	mirror *mirror.FS      // nil without --ack lake
	limit  time.Duration   // of a time without success until the node is not ready; 0 is none

	mu   sync.Mutex
	last server.LakeState // without what the store says
	err  error            // of the last attempt
}

func newWatch(store *columnstore.Store, limit time.Duration) *watch {
	return &watch{store: store, limit: limit, last: server.LakeState{Caught: time.Now()}}
}

// sealed takes what an attempt did, and its error.
func (w *watch) sealed(did iceberg.Sealed, err error, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	w.last.Units, w.last.Rows = w.last.Units+int64(did.Units), w.last.Rows+did.Rows
	if did.Units > 0 {
		w.last.Committed = now
	}
	if err == nil {
		w.last.Caught = now
	} else {
		w.last.Failures++
	}
}

// state is server.Options.Lake.
func (w *watch) state() server.LakeState { return w.stateAt(time.Now()) }

func (w *watch) stateAt(now time.Time) server.LakeState {
	w.mu.Lock()
	s, err := w.last, w.err
	w.mu.Unlock()
	s.LostRows = w.store.Stats().LostUnitRows
	s.Oldest, s.Err = w.sealer.Oldest()
	if w.mirror != nil {
		m := w.mirror.Stats()
		s.Segments = &server.LakeSegments{Written: m.Segments, Bytes: m.Bytes, Failures: m.Failures, Latencies: m.Latencies, Unjoined: m.Unjoined, Waiting: m.Waiting}
		if refusal := w.mirror.Refusal(); s.Err == nil && refusal != nil {
			s.Err = fmt.Errorf("pushes are refused: %w", refusal)
		}
	}
	if behind := now.Sub(s.Caught); s.Err == nil && w.limit > 0 && behind > w.limit {
		s.Err = fmt.Errorf("the table lacks rows that were due %v ago (--seal-limit %v)", behind.Round(time.Second), w.limit)
		if err != nil {
			s.Err = fmt.Errorf("%w: %w", s.Err, err)
		}
	}
	return s
}
