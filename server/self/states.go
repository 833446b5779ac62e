package self

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/trace"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace/golang"
)

const (
	// windowBytes is about the greatest size of the flight recorder. A busy program writes a tenth of a
	// MiB a second.
	windowBytes = 16 << 20
	// readBytes bounds the bytes that are read of a window, because the recorder takes its bound for a
	// hint.
	readBytes = 4 * windowBytes
	// keptBytes bounds the memory that is kept for the next window.
	keptBytes = 4 << 20
)

// states writes the windows of a flight recorder into a history.
type states struct {
	*profiler
	history  *columnstore.History
	follower *golang.Follower
	recorder recorder // nil while there is none
	window   bytes.Buffer
	samples  []golang.Sampled
	dropped  int64 // states before this time were dropped
	left     int   // number of omitted goroutines that was reported
}

func newStates(p *profiler) (*states, error) {
	s := &states{profiler: p, history: p.opts.States}
	snap, err := p.store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	view, err := snap.History(s.history)
	if err != nil {
		return nil, err
	}
	if view.Closed() {
		return nil, fmt.Errorf("history %q: %w", s.history.Name(), history.ErrClosed)
	}
	s.dropped = view.Start()
	from := view.Start()
	if view.Instants() {
		from = view.End() + 1
	}
	s.follower = golang.NewFollower(golang.FollowOptions{From: from})
	return s, nil
}

// start starts the flight recorder, unless it or another recorder runs.
func (s *states) start() {
	if s.recorder != nil {
		return
	}
	// A window has everything since the previous window, even if it comes late.
	r, err := s.of.record(trace.FlightRecorderConfig{MinAge: 2 * s.opts.Every, MaxBytes: windowBytes})
	if err != nil {
		s.skip("states", err)
		return
	}
	s.recorder = r
}

func (s *states) stop() {
	if s.recorder != nil {
		s.recorder.Stop()
		s.recorder = nil
	}
}

// insert inserts the events since the last window: samples and states in one transaction.
func (s *states) insert(ctx context.Context) error {
	if s.recorder == nil {
		return nil
	}
	if s.window.Reset(); s.window.Cap() > keptBytes {
		s.window = bytes.Buffer{}
	}
	if _, err := s.recorder.WriteTo(&s.window); err != nil {
		s.skip("states", err)
		s.stop() // and begin anew
		return nil
	}
	missed := s.follower.Missed()
	if err := s.lasting("states", s.insertWindow(ctx)); err != nil {
		return err
	}
	if now := s.follower.Missed(); now > missed {
		s.skip(fmt.Sprintf("%v of states", time.Duration(now-missed)), errors.New("the flight recorder had no room for them"))
	}
	if n := s.follower.LeftOut(); n > s.left {
		s.skip(fmt.Sprintf("states of %d goroutines", n-s.left), fmt.Errorf("there are more than %d", golang.DefaultMost))
		s.left = n
	}
	return nil
}

func (s *states) insertWindow(ctx context.Context) error {
	r, err := golang.NewReader(bytes.NewReader(s.window.Bytes()), readBytes)
	if err != nil {
		return err
	}
	tx := s.store.Begin()
	defer tx.Abort()
	w, err := tx.History(s.history)
	if err != nil {
		return err
	}
	s.samples = s.samples[:0]
	err = s.follower.Window(ctx, r, w, func(sample golang.Sampled) { s.samples = append(s.samples, sample) })
	if err == nil {
		s.drop(w)
		err = s.insertSamples(ctx, tx)
	}
	if lost := r.Broken(); lost != nil {
		s.skip("end of the states", lost)
	}
	clear(s.samples) // samples keep the stacks of the window alive
	if errors.Is(err, columnstore.ErrMemory) {
		// The commit makes room, because a history that a transaction writes is evicted only then.
		s.follower.Cut()
		_, commitErr := tx.Commit()
		return errors.Join(err, commitErr)
	}
	if err == nil {
		_, err = tx.Commit()
	}
	if err != nil {
		s.follower.Lost()
		return err
	}
	return nil
}

// drop lets the transaction drop states that are older than Options.Keep, in steps, because each drop
// rewrites the lanes that lose a state.
func (s *states) drop(w *history.Writer) {
	keep := int64(s.opts.Keep)
	if floor := s.follower.End() - keep; keep > 0 && floor-keep/16 > s.dropped {
		s.dropped = floor
		w.DropBefore(floor)
	}
}
