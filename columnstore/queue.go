package columnstore

import "sync"

// dueGranule names a granule that may need maintenance.
type dueGranule struct {
	granuleName
	closing  bool // its bucket was closed or cut, so any fresh part makes it due
	pressing bool // the maintainer does not keep up with it
}

type granuleName struct {
	table *Table
	bound string
}

// dueQueue holds due granules in order of arrival. Each is in the queue once, because commits announce a
// granule more often than it is maintained. It is safe for concurrent use after init.
type dueQueue struct {
	// wake holds a token if something was added.
	wake chan struct{}

	mu        sync.Mutex
	order     []granuleName
	in        map[granuleName]dueGranule
	postponed []dueGranule // queued again with the next addition
}

func (q *dueQueue) init() {
	q.wake, q.in = make(chan struct{}, 1), map[granuleName]dueGranule{}
}

// add adds granules, and the postponed ones. Without granules it does nothing.
func (q *dueQueue) add(due []dueGranule) {
	if len(due) == 0 {
		return
	}
	q.mu.Lock()
	due = append(due, q.postponed...)
	q.postponed = nil
	for _, d := range due {
		if known, ok := q.in[d.granuleName]; ok {
			d.closing = d.closing || known.closing
		} else {
			q.order = append(q.order, d.granuleName)
		}
		q.in[d.granuleName] = d
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default: // there is a token already
	}
}

// postpone holds d back until the next add.
func (q *dueQueue) postpone(d dueGranule) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.postponed = append(q.postponed, d)
}

// pop takes the first granule. ok is false if there is none.
func (q *dueQueue) pop() (d dueGranule, ok bool) {
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
