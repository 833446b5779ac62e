package columnstore

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/txn"
)

// dueGranule names a granule that maintenance should look at.
type dueGranule struct {
	granuleName
	closing  bool // its bucket was closed: it is due if it has any fresh part
	pressing bool // the maintainer does not keep up with it
}

type granuleName struct {
	table *Table
	bound string
}

// queue holds granules that are due, each once, oldest first.
type queue struct {
	wake chan struct{} // holds one token when something was added

	mu        sync.Mutex
	order     []granuleName
	in        map[granuleName]dueGranule
	postponed []dueGranule // come back with the next that is added
}

func (q *queue) init() {
	q.wake = make(chan struct{}, 1)
	q.in = map[granuleName]dueGranule{}
}

func (q *queue) add(due []dueGranule) {
	if len(due) == 0 {
		return
	}
	q.mu.Lock()
	due = append(due, q.postponed...)
	q.postponed = nil
	for _, d := range due {
		known, ok := q.in[d.granuleName]
		if !ok {
			q.order = append(q.order, d.granuleName)
		}
		d.closing = d.closing || known.closing
		q.in[d.granuleName] = d
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default: // the maintainer is told already
	}
}

// postpone keeps what cannot be done now.
func (q *queue) postpone(d dueGranule) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.postponed = append(q.postponed, d)
}

func (q *queue) pop() (d dueGranule, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 {
		return d, false
	}
	d = q.in[q.order[0]]
	delete(q.in, q.order[0])
	q.order = q.order[1:]
	return d, true
}

// maintain is the maintainer goroutine: steps while there is work, then waits.
func (s *Store) maintain() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.queue.wake:
		}
		for !s.closed.Load() && s.maintainOnce() {
		}
	}
}

// maintainOnce looks at one due granule and rewrites it if it still is due. It
// returns false if there was none. It is the step that simulators drive; any
// number of them may run at once.
func (s *Store) maintainOnce() bool { return s.maintainNext(runtime.Gosched) }

// help is maintainOnce for an insert, which is late already: it does not give way to those
// who wait for a processor. Each time it did it came back when they had used up their time
// slices, so that 10 ms of work took 60 to 200.
func (s *Store) help() { s.maintainNext(nil) }

// maintainNext is maintainOnce that calls pause, unless it is nil, between its pieces.
func (s *Store) maintainNext(pause func()) bool {
	due, ok := s.queue.pop()
	if !ok {
		return false
	}
	s.opts.Yield("maintain/picked")
	g, ok := s.log.Root().State.table(due.table.ordinal).granules.Get(due.bound)
	if !ok || !s.isDue(g) && (!due.closing || g.FreshParts() == 0) {
		return true
	}
	// The oldest of many fresh rows: so that a rewrite has a bound, even if nobody came to the
	// granule for long, and an insert that helps has one too. A granule of a closed bucket is
	// listed again until it has none.
	base := g.Rows() - g.FreshRows()
	g = g.Oldest(max(2*s.opts.GranuleRows-base, base))
	switch ok, err := s.rewritePausing(due.table, g, pause); {
	case err != nil:
		s.queue.postpone(due) // for want of memory
	case !ok && due.closing:
		s.queue.add([]dueGranule{due}) // it was changed meanwhile
	}
	return true
}

// isDue says whether a granule has enough fresh parts for a rewrite to pay, or
// grew too large. A base that is too large by itself cannot be split (its keys
// are all equal) and is left to the first two conditions.
func (s *Store) isDue(g *granule.Granule) bool {
	base, baseSize := g.Rows()-g.FreshRows(), g.Size()-g.FreshSize()
	switch {
	case g.FreshParts() >= s.opts.MaxParts:
		return true
	case g.FreshParts() >= s.opts.FreshParts && g.FreshRows() >= base:
		return true
	case g.Rows() > s.opts.GranuleRows && base <= s.opts.GranuleRows:
		return true
	}
	return g.Size() > s.opts.GranuleBytes && baseSize <= s.opts.GranuleBytes
}

// isPressing says that the maintainer does not keep up with a granule: inserts into
// it help, so that a rewrite never has much more than a granule to go through.
func (s *Store) isPressing(g *granule.Granule) bool {
	return !s.opts.Manual && (g.FreshParts()/2 >= s.opts.MaxParts || g.FreshRows()/2 > s.opts.GranuleRows)
}

// appendDue appends the granules that an edit made due.
func (s *Store) appendDue(due []dueGranule, e *tableEdit) []dueGranule {
	add := func(g *granule.Granule, closing bool) {
		lo, _ := g.Bounds()
		due = append(due, dueGranule{granuleName{e.table, lo}, closing, s.isPressing(g)})
	}
	for _, g := range e.due {
		if s.isDue(g) {
			add(g, false)
		}
	}
	for _, g := range e.closing {
		add(g, true)
	}
	return due
}

// rewrite merges a granule's parts privately and publishes what takes its
// place, unless another rewrite was faster: then the work is dropped and
// rewrite returns false. The only error is ErrMemory.
func (s *Store) rewrite(t *Table, g *granule.Granule) (bool, error) {
	return s.rewritePausing(t, g, runtime.Gosched)
}

// rewritePausing is rewrite that calls pause, unless it is nil, between its pieces.
func (s *Store) rewritePausing(t *Table, g *granule.Granule, pause func()) (bool, error) {
	bytes := int64(g.RewriteSize())
	if err := s.reserve(bytes, incoming{}); err != nil {
		return false, err
	}
	children := granule.Rewrite(t.schema, g, granule.Limit{
		Rows: s.opts.GranuleRows, Bytes: s.opts.GranuleBytes,
		Pause: pause, // inserts and queries that wait for a processor go first
	})
	s.release(bytes)
	bytes = 0
	for _, child := range children {
		bytes += int64(child.Size()) + granuleSize
	}
	if err := s.reserve(bytes, incoming{}); err != nil {
		return false, err // many small granules can be larger than one
	}
	s.opts.Yield("maintain/merged")
	bound, _ := g.Bounds()
	var due []dueGranule
	ok := s.log.Rewrite(func(current *txn.Root[*root]) (next txn.Next[*root], ok bool) {
		state := current.State.tables[t.ordinal]
		now, ok := state.granules.Get(bound)
		if !ok {
			return next, false
		}
		successors, ok := now.Succeed(t.schema, g, children)
		if !ok {
			return next, false
		}
		edit := state.edit(t)
		defer edit.release()
		edit.replace(now, successors)
		due = s.appendDue(nil, edit)
		next.State = current.State
		edit.done(current.Version+1, &next)
		return next, true
	})
	s.release(bytes) // they are counted in the root by now, or dropped
	s.counters.count(ok, len(children), g.Rows())
	s.opts.Yield("maintain/published")
	s.queue.add(due)
	return ok, nil
}

// Maintain does the maintenance that is due now and returns when none is left, but
// what there is no memory for. With Options.Manual it is how splits and compactions
// happen. It returns early with ErrClosed or the error of ctx.
func (s *Store) Maintain(ctx context.Context) error {
	for {
		if err := s.goOn(ctx); err != nil {
			return err
		}
		if !s.maintainOnce() {
			return nil
		}
	}
}

// goOn returns why maintenance must end, nil if it may go on.
func (s *Store) goOn(ctx context.Context) error {
	if s.closed.Load() {
		return ErrClosed
	}
	return ctx.Err()
}

// Compact rewrites every granule that has fresh parts, due or not, so that
// what was committed before the call is in base parts: the fewest parts, and
// the cheapest to read.
// 40 to 100 ns a row. It returns early with ErrClosed, ErrMemory or the error of
// ctx.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.goOn(ctx); err != nil {
		return err
	}
	for _, t := range s.tablesInOrder() {
		for done := false; !done; {
			done = true
			for _, g := range s.log.Root().State.table(t.ordinal).granules.All() {
				if err := s.goOn(ctx); err != nil {
					return err
				}
				if g.FreshParts() == 0 {
					continue
				}
				ok, err := s.rewrite(t, g)
				if err != nil {
					return err
				}
				done = done && ok // another rewrite was faster: look again
			}
		}
	}
	return nil
}

func (s *Store) tablesInOrder() []*Table {
	s.tables.Lock()
	defer s.tables.Unlock()
	return slices.SortedFunc(maps.Values(s.tables.byName), func(a, b *Table) int { return a.ordinal - b.ordinal })
}
