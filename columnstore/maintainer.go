package columnstore

import (
	"context"
	"runtime"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/txn"
)

// maintainer rewrites granules that are due, in its goroutine and for inserts that help.
type maintainer struct {
	store *Store
	queue dueQueue
}

// run is the maintainer's goroutine. It runs steps while granules are due, then waits.
func (m *maintainer) run() {
	for {
		select {
		case <-m.store.stop:
			return
		case <-m.queue.wake:
		}
		for !m.store.closed.Load() && m.step() {
		}
	}
}

// step takes one granule from the queue and rewrites it if it is still due. It returns
// false if the queue is empty. Simulators drive this step. It is safe for concurrent use.
func (m *maintainer) step() bool { return m.stepPausing(runtime.Gosched) }

// help is step for an insert. It does not yield the processor, because the insert is
// waiting: with yields, 10 ms of work took 60 to 200 ms, since each yield waited for the time
// slices of other goroutines.
func (m *maintainer) help() { m.stepPausing(nil) }

// stepPausing is step with a pause function. It calls pause between pieces of work unless pause
// is nil.
func (m *maintainer) stepPausing(pause func()) bool {
	due, ok := m.queue.pop()
	if !ok {
		return false
	}
	m.store.opts.Yield("maintain/picked")
	g, ok := due.table.state().Granules.Get(due.bound)
	if !ok || !m.isDue(g) && (!due.closing || g.FreshParts() == 0) {
		return true
	}
	// Rewrite only the oldest fresh rows, because a granule that was not visited for long can have many,
	// and an insert that helps must have bounded work. A granule of a closed bucket is queued again until
	// it has no fresh rows.
	base := g.Rows() - g.FreshRows()
	g = g.Oldest(max(2*m.store.opts.GranuleRows-base, base))
	switch ok, err := m.rewritePausing(due.table, g, pause); {
	case err != nil:
		m.queue.postpone(due) // the error is ErrMemory
	case !ok && due.closing:
		m.queue.add([]dueGranule{due}) // the granule changed meanwhile
	}
	return true
}

// isDue reports whether a rewrite of the granule pays, or the granule exceeds its limits.
func (m *maintainer) isDue(g *granule.Granule) bool {
	return g.IsDue(granule.Limit{Rows: m.store.opts.GranuleRows, Bytes: m.store.opts.GranuleBytes}, m.store.opts.FreshParts, m.store.opts.MaxParts)
}

// isPressing reports whether the maintainer falls behind on a granule. Inserts then help, so that a
// rewrite never merges much more than a granule.
func (m *maintainer) isPressing(g *granule.Granule) bool {
	return !m.store.opts.Manual && (g.FreshParts()/2 >= m.store.opts.MaxParts || g.FreshRows()/2 > m.store.opts.GranuleRows)
}

// appendDue appends the granules that an edit made due.
func (m *maintainer) appendDue(due []dueGranule, t *Table, e *catalog.TableEdit) []dueGranule {
	add := func(g *granule.Granule, closing bool) {
		lo, _ := g.Bounds()
		due = append(due, dueGranule{granuleName{t, lo}, closing, m.isPressing(g)})
	}
	for _, g := range e.Due {
		if m.isDue(g) {
			add(g, false)
		}
	}
	for _, g := range e.Closing {
		add(g, true)
	}
	return due
}

// rewrite merges a granule's parts privately and publishes its successors. It returns false
// and drops the work if another rewrite was published first. The only error is ErrMemory.
func (m *maintainer) rewrite(t *Table, g *granule.Granule) (bool, error) {
	return m.rewritePausing(t, g, runtime.Gosched)
}

// rewritePausing is rewrite with a pause function, as in stepPausing.
func (m *maintainer) rewritePausing(t *Table, g *granule.Granule, pause func()) (bool, error) {
	children, bytes, err := m.merge(t, g, pause)
	if err != nil {
		return false, err
	}
	m.store.opts.Yield("maintain/merged")
	bound, _ := g.Bounds()
	var due []dueGranule
	ok := m.store.roots.Rewrite(func(current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], ok bool) {
		state := current.State.Tables[t.ordinal]
		now, ok := state.Granules.Get(bound)
		if !ok {
			return next, false
		}
		successors, ok := now.Succeed(t.schema, g, children)
		if !ok {
			return next, false
		}
		edit := state.Edit(t.ordinal)
		defer edit.Release()
		edit.Replace(now, successors)
		due = m.appendDue(nil, t, edit)
		next.State = current.State
		t.finish(edit, current.Version+1, &next)
		return next, true
	})
	m.store.memory.release(bytes) // counted in the root by now, or dropped
	m.store.counters.count(ok, len(children), g.Rows())
	m.store.opts.Yield("maintain/published")
	m.queue.add(due)
	return ok, nil
}

// merge merges a granule's parts into children, and reserves their bytes, which the caller releases. The only error is
// ErrMemory.
func (m *maintainer) merge(t *Table, g *granule.Granule, pause func()) (children []*granule.Granule, bytes int64, err error) {
	merging := int64(g.RewriteSize())
	if err := m.store.memory.reserve(merging, incoming{later: true}); err != nil {
		return nil, 0, err
	}
	children = granule.Rewrite(t.schema, g, granule.Limit{
		Rows: m.store.opts.GranuleRows, Bytes: m.store.opts.GranuleBytes,
		Pause: pause, // waiting inserts and queries go first
	})
	m.store.memory.release(merging)
	for _, child := range children {
		bytes += int64(child.Size()) + catalog.GranuleSize
	}
	if err := m.store.memory.reserve(bytes, incoming{later: true}); err != nil {
		return nil, 0, err // many small granules can take more memory than one
	}
	return children, bytes, nil
}

// Maintain does all maintenance that is due and possible within the memory budget. With Options.Manual
// only Maintain and Compact rewrite granules, and only Maintain writes files when the log is large. It
// returns early with ErrClosed or ctx's error. An error of the disk is in Stats.
func (s *Store) Maintain(ctx context.Context) error {
	for {
		if err := s.maintainer.goOn(ctx); err != nil {
			return err
		}
		if !s.maintainer.step() {
			_ = s.flusher.flushIfDue(ctx) // Stats has the error, and the next call tries again
			return ctx.Err()
		}
	}
}

// goOn returns ErrClosed or ctx's error if maintenance must end.
func (m *maintainer) goOn(ctx context.Context) error {
	if m.store.closed.Load() {
		return ErrClosed
	}
	return ctx.Err()
}

// Compact rewrites every granule that has fresh parts, due or not. All rows committed before the call are
// then in base parts, which are fewest and cheapest to read. It costs 40 to 100 ns a row. It returns
// early with ErrClosed, ErrMemory or ctx's error.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.maintainer.goOn(ctx); err != nil {
		return err
	}
	for _, t := range s.Tables() {
		for done := false; !done; {
			done = true
			for _, g := range t.state().Granules.All() {
				if err := s.maintainer.goOn(ctx); err != nil {
					return err
				}
				if g.FreshParts() == 0 {
					continue
				}
				ok, err := s.maintainer.rewrite(t, g)
				if err != nil {
					return err
				}
				done = done && ok // another rewrite was published first, so check again
			}
		}
	}
	return nil
}
