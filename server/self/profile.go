package self

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// running is set while a Profile runs in the process.
var running atomic.Bool

// Profile inserts this process's profiles into a store, and with Options.States the states of its
// goroutines, until ctx ends. Then it inserts the last profiles and returns nil. The profiles are in the
// table "profiles" (profile.Open), which it creates if it is missing.
//
// The store is best used for nothing else, with a memory budget such as 32 MiB, which drops the oldest
// profiles: in a store with other data they would compete for room. The store may be closed after Profile
// returns.
//
// Errors are ErrRunning, ErrOptions, the errors of profile.Open, history.ErrClosed for a closed history,
// and columnstore.ErrClosed and ErrReadOnly of inserts. Other errors of inserts go to Options.Notify.
func Profile(ctx context.Context, store *columnstore.Store, opts Options) error {
	if !running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer running.Store(false)
	return run(ctx, store, opts, thisProcess())
}

// profiler is a running Profile.
type profiler struct {
	opts   Options
	of     process
	store  *columnstore.Store
	db     *profile.DB
	deltas *profile.Deltas
	states *states // nil without Options.States

	cpu      *cpuProfile // the running CPU profile
	buffer   bytes.Buffer
	lastLeak time.Time
}

func run(ctx context.Context, store *columnstore.Store, opts Options, of process) error {
	opts, err := opts.withDefaults()
	if err != nil {
		return err
	}
	p := &profiler{opts: opts, of: of, store: store, deltas: profile.NewDeltas(profile.DeltaOptions{MaxBytes: 16 << 20})}
	if p.db, err = openTable(store); err != nil {
		return err
	}
	if opts.States != nil {
		if p.states, err = newStates(p); err != nil {
			return err
		}
		defer p.states.stop()
	}
	defer p.stopCPU()
	return p.run(ctx)
}

// openTable opens the profile table, whatever the width of its buckets.
func openTable(store *columnstore.Store) (*profile.DB, error) {
	var opts profile.Options
	if t := store.Table("profiles"); t != nil {
		opts.Bucket = cmp.Or(time.Duration(t.Schema().BucketWidth()), -1)
	}
	return profile.Open(store, opts)
}

// run records until ctx ends. It then inserts the last profiles.
func (p *profiler) run(ctx context.Context) error {
	insertCtx := context.WithoutCancel(ctx)
	// The first differences are relative to the values since the start of the process.
	if err := p.insert(insertCtx, nil); err != nil {
		return err
	}
	for ctx.Err() == nil {
		begin := p.of.now()
		p.startCPU()
		if p.states != nil {
			p.states.start()
		}
		p.of.wait(ctx, p.opts.Every-p.opts.pause())
		if err := p.insert(insertCtx, p.stopCPU()); err != nil {
			return err
		}
		if p.states != nil {
			if err := p.states.insert(insertCtx); err != nil {
				return err
			}
		}
		// Leave at least a pause to others, however long the inserts took.
		p.of.wait(ctx, max(p.opts.Every-p.of.now().Sub(begin), p.opts.pause()))
	}
	return nil
}

// startCPU starts a CPU profile, unless another runs.
func (p *profiler) startCPU() {
	c := &cpuProfile{}
	if err := p.of.startCPU(c); err != nil {
		p.skip("CPU profile", err)
		return
	}
	p.cpu = c
}

// stopCPU ends the CPU profile and returns it, or nil if there is none. It stops no other profile: if
// someone else stopped this one, Go has written it.
func (p *profiler) stopCPU() []byte {
	c := p.cpu
	if c == nil {
		return nil
	}
	p.cpu = nil
	if c.ended.Load() {
		p.skip("rest of the CPU profile", errors.New("it was stopped by the program"))
	} else {
		p.of.stopCPU()
	}
	return c.data.Bytes()
}

// skip reports a skipped profile.
func (p *profiler) skip(what string, err error) {
	p.opts.Notify(fmt.Errorf("%s: %w: %w", what, ErrSkipped, err))
}

// insert inserts a CPU profile, unless it is nil, and the profiles of this instant in one transaction.
func (p *profiler) insert(ctx context.Context, cpu []byte) error {
	tx := p.store.Begin()
	defer tx.Abort()
	if cpu != nil {
		p.add(ctx, tx, "process_cpu", cpu)
	}
	for _, of := range []struct{ lookup, name string }{
		{"heap", "memory"}, {"goroutine", "goroutine"}, {"mutex", "mutex"}, {"block", "block"}, {"goroutineleak", "goroutineleak"},
	} {
		write := p.of.lookup(of.lookup)
		if write == nil || of.lookup == "goroutineleak" && !p.leakIsDue() {
			continue
		}
		p.buffer.Reset()
		if err := write(&p.buffer); err != nil {
			p.skip(of.name+" profile", err)
			continue
		}
		p.add(ctx, tx, of.name, p.buffer.Bytes())
	}
	_, err := tx.Commit()
	return p.lasting("profiles", err)
}

// leakIsDue reports whether a profile of leaked goroutines, which runs the collector, is due.
func (p *profiler) leakIsDue() bool {
	if now := p.of.now(); now.Sub(p.lastLeak) >= time.Minute {
		p.lastLeak = now
		return true
	}
	return false
}

// add adds a profile to a transaction. After an error the transaction is unchanged.
func (p *profiler) add(ctx context.Context, tx *columnstore.Tx, name string, data []byte) {
	p.opts.Labels[profile.NameLabel] = name
	_, err := p.db.InsertEncodedTx(ctx, tx, data, profile.InsertOptions{Labels: p.opts.Labels, Time: p.of.now(), Deltas: p.deltas})
	if err != nil {
		p.opts.Notify(fmt.Errorf("%s profile: %w", name, err))
	}
}

// lasting returns an error that would recur in all later inserts. It passes other errors to Notify.
func (p *profiler) lasting(what string, err error) error {
	if errors.Is(err, columnstore.ErrClosed) || errors.Is(err, columnstore.ErrReadOnly) {
		return err
	}
	if err != nil {
		p.opts.Notify(fmt.Errorf("%s: %w", what, err))
	}
	return nil
}
