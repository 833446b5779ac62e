package columnstore

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/granarydb/granary/granule"
)

// dueGranule names a granule that maintenance should look at.
type dueGranule struct {
	table *Table
	bound string
}

// queue holds granules that are due, each once, oldest first.
type queue struct {
	wake chan struct{} // holds one token when something was added

	mu    sync.Mutex
	order []dueGranule
	in    map[dueGranule]bool
}

func (q *queue) init() {
	q.wake = make(chan struct{}, 1)
	q.in = map[dueGranule]bool{}
}

func (q *queue) add(due []dueGranule) {
	if len(due) == 0 {
		return
	}
	q.mu.Lock()
	for _, d := range due {
		if !q.in[d] {
			q.in[d] = true
			q.order = append(q.order, d)
		}
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default: // the maintainer is told already
	}
}

func (q *queue) pop() (d dueGranule, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 {
		return d, false
	}
	d = q.order[0]
	q.order = q.order[1:]
	delete(q.in, d)
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
func (s *Store) maintainOnce() bool {
	due, ok := s.queue.pop()
	if !ok {
		return false
	}
	s.opts.Yield("maintain/picked")
	g, ok := s.log.Root().State.table(due.table.ordinal).granules.Get(due.bound)
	if ok && s.isDue(g) {
		s.rewrite(due.table, g)
	}
	return true
}

// isDue says whether a granule has enough fresh parts for a rewrite to pay, or
// grew too large. A base that is too large by itself cannot be split (its keys
// are all equal) and is left to the first two conditions.
func (s *Store) isDue(g *granule.Granule) bool {
	base := g.Rows() - g.FreshRows()
	switch {
	case g.FreshParts() >= s.opts.MaxParts:
		return true
	case g.FreshParts() >= s.opts.FreshParts && 2*g.FreshRows() >= base:
		return true
	}
	return g.Rows() > s.opts.GranuleRows && base <= s.opts.GranuleRows
}

// rewrite merges a granule's parts privately and publishes what takes its
// place, unless another rewrite was faster: then the work is dropped and
// rewrite returns false.
func (s *Store) rewrite(t *Table, g *granule.Granule) bool {
	children := granule.Rewrite(t.schema, g, s.opts.GranuleRows)
	s.opts.Yield("maintain/merged")
	bound, _ := g.Bounds()
	var due []dueGranule
	ok := s.log.Rewrite(func(current *root) (*root, bool) {
		state := current.tables[t.ordinal]
		now, ok := state.granules.Get(bound)
		if !ok {
			return nil, false
		}
		successors, ok := now.Succeed(t.schema, g, children)
		if !ok {
			return nil, false
		}
		next := *state
		edit := state.granules.Edit()
		for _, child := range successors {
			lo, _ := child.Bounds()
			edit.Set(lo, child)
			if s.isDue(child) {
				due = append(due, dueGranule{t, lo})
			}
		}
		next.granules = edit.Done()
		return current.with(t.ordinal, &next), true
	})
	s.counters.count(ok, len(children), g.Rows())
	s.opts.Yield("maintain/published")
	s.queue.add(due)
	return ok
}

// Maintain does the maintenance that is due now and returns when none is left.
// With Options.Manual it is how splits and compactions happen. It returns early
// with ErrClosed or the error of ctx.
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
// About 300 ns a row. It returns early with ErrClosed or the error of ctx.
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
				if g.FreshParts() > 0 && !s.rewrite(t, g) {
					done = false // another rewrite was faster: look again
				}
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
