package txn

import "slices"

// Garbage is something that a root has no more, but the one before it had. Its
// bytes count as held for as long as a snapshot can reach it.
type Garbage struct {
	Since Version // of the first root that had it
	Bytes int64
}

// held is a replaced root that was read when it was replaced.
type held[R any] struct {
	*published[R]
	// garbage is what no root has that is newer and read. Where several read
	// roots have something, it is listed with the newest.
	garbage []Garbage
}

// free says that nothing can reach the root any more. A read that begins after
// the root was let go of finds that out and ends; one that began before is
// counted. So the count is looked at after the letting go.
func (h *held[R]) free() bool {
	if h.readers.Load() == 0 {
		h.root.Store(nil)
	}
	return h.root.Load() == nil && h.readers.Load()/use == 0
}

// hold counts what a root that was just replaced had and its successor has not. It is
// nil if nobody has taken it. The caller holds the commit lock.
func (l *Log[R]) hold(old *published[R], garbage []Garbage) {
	if old != nil {
		old.replaced.Store(true)
		if old.readers.Load() > 0 {
			l.held = append(l.held, held[R]{published: old})
		}
	}
	for _, g := range garbage {
		l.list(g)
	}
	if len(l.held) >= l.sweepAt {
		l.sweep()
		l.sweepAt = max(16, 2*len(l.held))
	}
}

// list puts garbage with the newest read root that has it. Roots newer than the
// last that had it are not in the list yet, or not any more.
func (l *Log[R]) list(g Garbage) {
	if last := len(l.held) - 1; last >= 0 && l.held[last].version >= g.Since {
		l.held[last].garbage = append(l.held[last].garbage, g)
		l.heldBytes.Add(g.Bytes)
	}
}

// sweep drops the roots that are not read any more. What older ones have too is
// listed there. The caller holds the commit lock.
func (l *Log[R]) sweep() {
	kept := l.held[:0]
	for _, h := range l.held {
		if !h.free() {
			kept = append(kept, h)
			continue
		}
		for _, g := range h.garbage {
			l.heldBytes.Add(-g.Bytes)
			if last := len(kept) - 1; last >= 0 && kept[last].version >= g.Since {
				kept[last].garbage = append(kept[last].garbage, g)
				l.heldBytes.Add(g.Bytes)
			}
		}
	}
	clear(l.held[len(kept):])
	l.held = kept
}

// Held returns the bytes of all garbage that reads can still reach, or could
// when Sweep was last called. One atomic load.
func (l *Log[R]) Held() int64 { return l.heldBytes.Load() }

// Sweep brings Held up to date with the snapshots that were closed. It takes the
// commit lock.
func (l *Log[R]) Sweep() {
	l.commit.Lock()
	defer l.commit.Unlock()
	l.sweep()
}

// HeldBefore returns what of Held is reached by reads of roots older than v, and
// the newest version among those: what entered after it, they do not hold. ok is
// false if there is none. It takes the commit lock.
func (l *Log[R]) HeldBefore(v Version) (bytes int64, newest Version, ok bool) {
	l.commit.Lock()
	defer l.commit.Unlock()
	l.sweep()
	for _, h := range l.held {
		if h.version < v {
			newest, ok = h.version, true
		}
	}
	for _, h := range l.held {
		for _, g := range h.garbage {
			if ok && g.Since <= newest {
				bytes += g.Bytes
			}
		}
	}
	return bytes, newest, ok
}

// Expire lets go of the oldest replaced root with snapshots or reads, of those of
// versions [from, to): they get ErrSnapshotExpired from now on. It returns false if
// there is none. What reads under way still use stays held until they end. It takes
// the commit lock.
func (l *Log[R]) Expire(from, to Version) bool {
	l.commit.Lock()
	defer l.commit.Unlock()
	l.sweep()
	i := slices.IndexFunc(l.held, func(h held[R]) bool { return h.version >= from && h.version < to && h.root.Load() != nil })
	if i < 0 {
		return false
	}
	l.expired.Add(l.held[i].readers.Load() % use)
	l.held[i].expired.Store(true)
	l.held[i].root.Store(nil)
	l.sweep()
	return true
}

// Expired returns how many snapshots have expired.
func (l *Log[R]) Expired() int64 { return l.expired.Load() }
