// Package queue has a queue that holds each value once, for work that is announced more often than it is done.
package queue

import "sync"

// Queue holds values in order of arrival, each key once. It is safe for concurrent use. Init comes first.
type Queue[K comparable, V any] struct {
	// Wake holds a token if something was added.
	Wake chan struct{}

	key   func(V) K
	merge func(known, again V) V

	mu        sync.Mutex
	order     []K
	in        map[K]V
	postponed []V // queued again with the next addition
}

// Init sets the key of a value, and the value that takes the place of a known one and one with the same key.
func (q *Queue[K, V]) Init(key func(V) K, merge func(known, again V) V) {
	q.Wake, q.key, q.merge = make(chan struct{}, 1), key, merge
	q.in = map[K]V{}
}

// Add adds values, and those that were postponed. Without values it does nothing.
func (q *Queue[K, V]) Add(values []V) {
	if len(values) == 0 {
		return
	}
	q.mu.Lock()
	values = append(values, q.postponed...)
	q.postponed = nil
	for _, v := range values {
		k := q.key(v)
		if known, ok := q.in[k]; ok {
			v = q.merge(known, v)
		} else {
			q.order = append(q.order, k)
		}
		q.in[k] = v
	}
	q.mu.Unlock()
	select {
	case q.Wake <- struct{}{}:
	default: // there is a token already
	}
}

// Postpone holds back a value until the next addition.
func (q *Queue[K, V]) Postpone(v V) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.postponed = append(q.postponed, v)
}

// Pop takes the first value. ok is false if there is none.
func (q *Queue[K, V]) Pop() (v V, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 {
		return v, false
	}
	v = q.in[q.order[0]]
	delete(q.in, q.order[0])
	q.order = q.order[1:]
	return v, true
}
