package txn

import "slices"

// Garbage is something that the new root no longer reaches but the previous root did. Its bytes count as
// pinned for as long as a read can reach it.
type Garbage struct {
	Since Version // version of the first root that reached it
	Bytes int64
}

// pin is a root that had readers when it was replaced.
type pin[R any] struct {
	*rootReaders[R]
	// garbage is unreachable from every newer root that is read. If several read roots reach an item,
	// it is listed with the newest.
	garbage []Garbage
}

// free reports whether nothing can reach the root any more. A read that begins after the root
// was cleared finds it nil and ends; an earlier read is counted. The count is therefore
// checked after the root is cleared.
func (h *pin[R]) free() bool {
	h.clear()
	return h.root.Load() == nil && h.readers.Load()/use == 0
}

// pin records a root that was just replaced, and its garbage. old is nil if the root never
// had a snapshot. The caller holds the commit lock.
func (p *Publisher[R]) pin(old *rootReaders[R], garbage []Garbage) {
	if old != nil {
		old.replaced.Store(true)
		if old.readers.Load() > 0 {
			p.pins = append(p.pins, pin[R]{rootReaders: old})
		}
	}
	for _, g := range garbage {
		p.list(g)
	}
	if len(p.pins) >= p.sweepAt {
		p.sweep()
		p.sweepAt = max(16, 2*len(p.pins))
	}
}

// list charges garbage to the newest read root that reaches it. That is the last pinned root, because roots
// newer than the last one to reach the garbage are not listed yet, or no longer.
func (p *Publisher[R]) list(g Garbage) {
	if last := len(p.pins) - 1; last >= 0 && p.pins[last].version >= g.Since {
		p.pins[last].garbage = append(p.pins[last].garbage, g)
		p.pinnedBytes.Add(g.Bytes)
	}
}

// sweep drops the roots that are no longer read. Their garbage moves to the next older root that reaches
// it. The caller holds the commit lock.
func (p *Publisher[R]) sweep() {
	kept := p.pins[:0]
	for _, h := range p.pins {
		if !h.free() {
			kept = append(kept, h)
			continue
		}
		for _, g := range h.garbage {
			p.pinnedBytes.Add(-g.Bytes)
			if last := len(kept) - 1; last >= 0 && kept[last].version >= g.Since {
				kept[last].garbage = append(kept[last].garbage, g)
				p.pinnedBytes.Add(g.Bytes)
			}
		}
	}
	clear(p.pins[len(kept):])
	p.pins = kept
}

// Pinned returns the bytes of all garbage that reads can still reach, as of the last Sweep or
// publish. It costs one atomic load.
func (p *Publisher[R]) Pinned() int64 { return p.pinnedBytes.Load() }

// Sweep updates Pinned for the snapshots that were closed. It takes the commit lock.
func (p *Publisher[R]) Sweep() {
	p.commit.Lock()
	defer p.commit.Unlock()
	p.sweep()
}

// PinnedBefore returns the bytes of Pinned that are reached by reads of roots older than v, and
// the newest version among these roots. The reads hold nothing that entered after that
// version. ok is false if there is no such root. It takes the commit lock.
func (p *Publisher[R]) PinnedBefore(v Version) (bytes int64, newest Version, ok bool) {
	p.commit.Lock()
	defer p.commit.Unlock()
	p.sweep()
	for _, h := range p.pins {
		if h.version < v {
			newest, ok = h.version, true
		}
	}
	for _, h := range p.pins {
		for _, g := range h.garbage {
			if ok && g.Since <= newest {
				bytes += g.Bytes
			}
		}
	}
	return bytes, newest, ok
}

// Expire expires the oldest replaced root in [from, to) that has snapshots or reads: its
// snapshots return ErrSnapshotExpired from now on. It reports whether there was one. Memory
// that reads in progress use stays pinned until they end. It takes the commit lock.
func (p *Publisher[R]) Expire(from, to Version) bool {
	p.commit.Lock()
	defer p.commit.Unlock()
	p.sweep()
	i := slices.IndexFunc(p.pins, func(h pin[R]) bool { return h.version >= from && h.version < to && h.root.Load() != nil })
	if i < 0 {
		return false
	}
	p.expired.Add(p.pins[i].readers.Load() % use)
	p.pins[i].expired.Store(true)
	p.pins[i].root.Store(nil)
	p.sweep()
	return true
}

// Oldest returns the commit id of the oldest replaced root that is still read, as of the last
// Sweep or publish. ok is false if there is none. It takes the commit lock.
func (p *Publisher[R]) Oldest() (commit ID, ok bool) {
	p.commit.Lock()
	defer p.commit.Unlock()
	if len(p.pins) == 0 {
		return 0, false
	}
	return p.pins[0].commit, true
}

// Expired returns the number of snapshots that have expired.
func (p *Publisher[R]) Expired() int64 { return p.expired.Load() }
