package columnstore

import "sync"

// dueGranule names a granule that may need maintenance.
type dueGranule struct {
	granuleName
	closing  bool // its bucket was closed or cut: any fresh part makes it due
	pressing bool // the maintainer does not keep up with it
}

type granuleName struct {
	table *Table
	bound string
}

// queue holds due granules in order of arrival, each once. It is safe for concurrent use.
type queue struct {
	wake chan struct{} // holds a token if something was added

	mu        sync.Mutex
	order     []granuleName
	in        map[granuleName]dueGranule
	postponed []dueGranule // queued again with the next addition
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
	default: // the maintainer has a token already
	}
}

// postpone holds back a granule until the next addition.
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
