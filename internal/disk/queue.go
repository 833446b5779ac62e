package disk

// queue has the entries that are not durable, in order. Log.mu guards it.
type queue struct {
	first     *Room // the oldest; nil if there is none
	unwritten *Room // the oldest that is not written; nil if all are
	last      *Room

	bytes          int64 // of all rooms, with or without an entry
	unsyncedBytes  int64 // of entries
	unwrittenBytes int64

	added   uint64 // number of entries that were ever added
	durable uint64 // number of entries that became durable
	commit  uint64 // greatest durable commit id
}

// add appends a room's entry.
func (q *queue) add(r *Room) {
	q.added++
	r.place = q.added
	if q.first == nil {
		q.first = r
	} else {
		q.last.next = r
	}
	if q.unwritten == nil {
		q.unwritten = r
	}
	q.last = r
	q.unsyncedBytes += r.size
	q.unwrittenBytes += r.size
}

// batch is consecutive rooms of a queue.
type batch struct {
	first, last *Room // nil if there are none
	bytes       int64
}

// batch returns the unwritten entries.
func (q *queue) batch() batch {
	if q.unwritten == nil {
		return batch{}
	}
	return batch{q.unwritten, q.last, q.unwrittenBytes}
}

// next takes the first room. It returns nil at the end.
func (b *batch) next() *Room {
	r := b.first
	if r == b.last {
		b.first, b.last = nil, nil // entries added since are not in the batch
	} else {
		b.first = r.next
	}
	return r
}

// wrote records that all entries up to a place are written.
func (q *queue) wrote(place uint64) {
	for q.unwritten != nil && q.unwritten.place <= place {
		q.unwrittenBytes -= q.unwritten.size
		q.unwritten = q.unwritten.next
	}
}

// synced records that all entries up to a place are durable, and drops them.
func (q *queue) synced(place uint64) {
	for r := q.first; r != nil && r.place <= place; r = q.first {
		q.first = r.next
		if q.unwritten == r {
			q.unwritten, q.unwrittenBytes = r.next, q.unwrittenBytes-r.size
		}
		q.bytes -= r.size
		q.unsyncedBytes -= r.size
		q.durable, q.commit = r.place, max(q.commit, r.entry.Commit)
		r.entry, r.next = Entry{}, nil
	}
}

// rewind makes all entries unwritten again.
func (q *queue) rewind() { q.unwritten, q.unwrittenBytes = q.first, q.unsyncedBytes }
