package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/golang"
)

// Bounds of pushed traces.
const (
	maxHistories = 1000 // of a tenant, because a store keeps the name of each for ever
	maxFollowers = 100  // kept for the next traces of their processes, at most 2 MiB each
	traceFactor  = 8    // memory that a trace takes while it is read, for each byte, beside its states, which the store counts
)

// traces are the traces of processes, each of which goes on with its next one.
type traces struct {
	mu   sync.Mutex
	open map[string]*process // by the name of its history
}

// process is a process that pushes traces.
type process struct {
	turn     chan struct{}    // has an element while a push has the rest
	follower *golang.Follower // nil until a push has read the history
	dropped  int64            // states before this time were dropped
	isGone   bool             // it was forgotten
}

// take returns the process of a history, which its caller gives back to turn. It waits for another push to it.
func (t *traces) take(ctx context.Context, name string) (*process, error) {
	for {
		p := t.find(name)
		select {
		case p.turn <- struct{}{}:
			if !p.isGone {
				return p, nil
			}
			<-p.turn
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// find returns the process of a history.
func (t *traces) find(name string) *process {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.open[name]
	if p == nil {
		if len(t.open) >= maxFollowers {
			t.forget()
		}
		p = &process{turn: make(chan struct{}, 1)}
		t.open[name] = p
	}
	return p
}

// forget forgets the processes without a push in progress. Their next traces read the history. The caller holds mu.
func (t *traces) forget() {
	maps.DeleteFunc(t.open, func(_ string, p *process) bool {
		select {
		case p.turn <- struct{}{}:
			p.isGone = true
			<-p.turn
			return true
		default:
			return false
		}
	})
}

// pushTrace handles POST /traces?service_name=api: a Go execution trace in the body with its labels in the query. The
// states become those of a history of the labels, and the CPU samples a profile, in transactions of a part of the trace each.
func (s *Pusher) pushTrace(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	p, err := newPush(ctx, r.Header)
	if err == nil {
		err = s.readPprof(r, p)
	}
	if err != nil {
		return err
	}
	in := &insertion{s: s, push: p, share: shareOf(ctx)}
	if err := in.check(); err != nil {
		return err
	}
	isNew, err := in.claim(ctx)
	committed := false
	defer func() { in.release(committed) }()
	if err != nil {
		return err
	}
	if !isNew {
		s.Counts.Duplicates.Add(1)
		_, _ = fmt.Fprintln(w, "0 rows")
		return nil
	}
	t := &traced{insertion: in, labels: in.labels[0], name: historyName(in.labels[0])}
	err = t.store(ctx)
	s.note(err)
	committed = err == nil
	if err != nil {
		s.tenants.withdraw(in.series)
		return err
	}
	s.Counts.Profiles.Add(1)
	s.Counts.Rows.Add(float64(in.rows))
	s.Counts.Received.Add(float64(p.profiles[0].size))
	_, _ = fmt.Fprintf(w, "%d rows\n%s", in.rows, t.sentence())
	return nil
}

// historyName returns the name of the history of a process: its service, and its other labels in braces.
func historyName(labels map[string]string) string {
	var others []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if name != serviceLabel && name != profile.NameLabel {
			others = append(others, name+"="+labels[name])
		}
	}
	if others == nil {
		return labels[serviceLabel]
	}
	return labels[serviceLabel] + "{" + strings.Join(others, ",") + "}"
}

// traced is a trace on its way into a store.
type traced struct {
	*insertion
	labels  map[string]string // of its samples
	name    string            // of the history, as the tenant calls it
	of      *process
	history *columnstore.History
	end     int64 // date of the last state
	pending int   // rows of the transaction
	broken  error
}

// store writes the trace.
func (t *traced) store(ctx context.Context) error {
	data, err := t.share.inflate(t.profiles[0].Encoded, t.s.Limits.Profile.Bytes)
	if err == nil {
		err = t.share.take(traceFactor * int64(len(data)))
	}
	if err == nil {
		err = t.check(data)
	}
	if err == nil {
		err = profile.CheckOwnName(t.name)
	}
	if err != nil {
		return err
	}
	if t.db, err = t.s.DB(t.tenant); t.db == nil && err == nil {
		t.db, err = t.s.Make(t.tenant)
	}
	if err != nil {
		return err
	}
	if t.of, err = t.s.traces.take(ctx, profile.TenantName(t.tenant, t.name)); err != nil {
		return err
	}
	defer func() { <-t.of.turn }()
	if err := t.admit(); err != nil {
		return err
	}
	err = t.write(ctx, data)
	if errors.Is(err, columnstore.ErrMemory) && t.history != nil {
		// A history that a transaction writes loses its oldest states with a commit. What is stored counts once.
		if err = t.makeRoom(); err == nil {
			err = t.write(ctx, data)
		}
	}
	return err
}

// check returns an error for bytes that cannot be stored as a trace, as far as its first event tells.
func (t *traced) check(data []byte) error {
	if golang.IsWhole(data) {
		return fault.Unsupported("it is a trace of Go 1.21 or before, which has no dates: granary load takes it")
	}
	r, err := golang.NewReader(bytes.NewReader(data), math.MaxInt64)
	if err == nil {
		err = r.Peek()
	}
	if err != nil {
		return traceError(err)
	}
	if _, isDated := r.Clock(); !isDated {
		return fault.Unsupported("it is a trace of Go 1.24 or before, which has no dates: granary load takes it")
	}
	return nil
}

// traceError makes a fault of a trace one of the request.
func traceError(err error) error {
	if errors.Is(err, golang.ErrFormat) || errors.Is(err, golang.ErrLimit) {
		return fault.Invalid("body: %w", err)
	}
	return err
}

// admit counts the series of the samples, whether the trace has some or not, because its history is one too.
func (t *traced) admit() error {
	t.labels = maps.Clone(t.labels)
	if t.labels[profile.NameLabel] == "" {
		t.labels[profile.NameLabel] = kindOf([]string{"cpu"}, "cpu", "")
	}
	of := seriesOf(t.tenant, t.labels)
	isNew, err := t.s.tenants.admit(of)
	if isNew {
		t.series = append(t.series, of)
	}
	return err
}

// write writes what of the trace is not stored.
func (t *traced) write(ctx context.Context, data []byte) error {
	r, err := golang.NewReader(bytes.NewReader(data), math.MaxInt64)
	if err != nil {
		return traceError(err)
	}
	if t.of.follower == nil {
		if err := t.resume(); err != nil {
			return err
		}
	}
	to := trace.Target{Begin: t.begin, Commit: t.commit}
	defer func() {
		if t.tx != nil { // after an error or a panic
			t.tx.Abort()
			t.tx, t.of.follower = nil, nil
		}
	}()
	if err := t.of.follower.Write(ctx, r, to, func(some []golang.Sampled) error { return t.insert(ctx, some) }); err != nil {
		t.of.follower = nil // it is ahead of the history
		return traceError(err)
	}
	t.end, t.broken = t.of.follower.End(), r.Broken()
	return nil
}

// resume finds the history, if there is one, and a follower behind its states.
func (t *traced) resume() error {
	f := golang.NewFollower(golang.FollowOptions{Wakes: true, Resumable: true})
	t.history = profile.TenantHistory(t.db.Store(), t.tenant, t.name)
	if t.history == nil {
		if n := len(profile.TenantHistories(t.db.Store(), t.tenant)); n >= maxHistories {
			return fault.TooMany("%d histories of a tenant", maxHistories)
		}
		t.of.follower = f
		return nil
	}
	v, err := t.view()
	if err != nil {
		return err
	}
	if v.Closed() {
		return fault.Invalid("the history %s is closed: other labels lead to another", fault.Quoted(t.name))
	}
	t.of.dropped = v.Start()
	resumed, err := f.Resume(v)
	if err == nil && !resumed && v.Instants() {
		err = fault.Invalid("the history %s is not one of pushed traces: other labels lead to another", fault.Quoted(t.name))
	}
	if err == nil {
		t.of.follower = f
	}
	return err
}

// view returns the history as it is.
func (t *traced) view() (*history.View, error) {
	snap, err := t.db.Store().Snapshot()
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	return snap.History(t.history)
}

// begin begins a transaction. The first one of a process makes its history.
func (t *traced) begin(int64) (*history.Writer, error) {
	store := t.db.Store()
	if t.history == nil {
		t.history = profile.TenantHistory(store, t.tenant, t.name)
	}
	if t.history == nil {
		var err error
		if t.history, err = store.CreateHistory(profile.TenantName(t.tenant, t.name), columnstore.HistoryOptions{}); err != nil {
			return nil, err
		}
	}
	t.tx, t.pending = store.Begin(), 0
	return t.tx.History(t.history)
}

// commit commits a part of the trace, without the states that the tenant does not keep.
func (t *traced) commit() error {
	w, err := t.tx.History(t.history)
	if err != nil {
		return err
	}
	if keep := int64(t.keep()); keep > 0 {
		// In steps, because each drop rewrites the lanes that lose a state.
		if floor := t.of.follower.Now() - keep; floor-keep/16 > t.of.dropped {
			t.of.dropped = floor
			w.DropBefore(floor)
		}
	}
	_, err = t.tx.Commit()
	if t.tx = nil; err == nil || errors.Is(err, disk.ErrNotDurable) { // which are visible
		t.rows += t.pending
	}
	return err
}

// keep returns how long the tenant keeps states, or 0.
func (t *traced) keep() time.Duration {
	if t.s.Keep == nil {
		return 0
	}
	return t.s.Keep(t.tenant)
}

// makeRoom commits a transaction of the history alone, which drops the oldest states.
func (t *traced) makeRoom() error {
	if _, err := t.begin(0); err != nil {
		t.tx.Abort()
		return err
	}
	_, err := t.tx.Commit()
	t.tx = nil
	return err
}

// insert inserts samples in the transaction of their states.
func (t *traced) insert(ctx context.Context, some []golang.Sampled) error {
	if len(some) == 0 {
		return nil
	}
	p := format.OfGoSamples(some, true)
	rows, err := p.InsertTx(ctx, t.db, t.tx, profile.InsertOptions{Labels: t.labels})
	t.pending += rows
	return err
}

// sentence says where the states are.
func (t *traced) sentence() string {
	text := fmt.Sprintf("states up to %s in the history %s\n", time.Unix(0, t.end).UTC().Format(time.RFC3339Nano), fault.Quoted(t.name))
	if t.broken != nil {
		text += fmt.Sprintf("the trace breaks off, and the rest is lost: %v\n", t.broken)
	}
	return text
}
