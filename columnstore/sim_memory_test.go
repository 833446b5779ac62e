package columnstore

import (
	"slices"

	"github.com/granarydb/granary/granule"
)

func init() { leastBudget = 1 } // a history has few rows

// checkMemory walks all that can be reached and holds the accounts to it.
func (h *simRun) checkMemory() {
	if h.failure != nil {
		return
	}
	s := h.store
	root := s.log.Root().State
	now := [...]int64{s.memory.dicts.Load(), s.memory.pending.Load(), s.log.Held(), int64(len(h.snaps)), int64(h.reading), s.log.Expired()}
	if root == h.checked.root && now == h.checked.accounts {
		return // nothing has changed
	}
	h.checked.root, h.checked.accounts = root, now
	current, bytes := map[*granule.Part]bool{}, int64(0)
	for i, state := range root.tables {
		bytes += h.walk(state, current)
		h.compare(i, state)
	}
	for p := range current {
		bytes += int64(p.Size())
	}
	if bytes != root.bytes {
		h.fail("the root has %d bytes by its account, %d by a walk", root.bytes, bytes)
	}
	s.log.Sweep()
	pinned := h.pinned(current)
	if held := s.log.Held(); held < pinned {
		h.fail("open snapshots hold %d bytes, the account has %d", pinned, held)
	} else if h.reading == 0 && len(h.snaps) == 0 && held > 0 {
		h.fail("nobody reads, but the account has %d bytes held by snapshots", held)
	}
	if pinned > 0 {
		h.note("snapshot that pins memory")
	}
	dicts := int64(0)
	for _, t := range h.tables {
		for _, g := range t.generations.byNumber {
			dicts += int64(g.Size())
		}
	}
	if counted := s.memory.dicts.Load(); counted != dicts {
		h.fail("dictionaries have %d bytes, the account %d", dicts, counted)
	}
	pending := s.memory.pending.Load()
	if pending < 0 {
		h.fail("%d bytes are pending", pending)
	}
	if used, budget := bytes+dicts+pending+pinned, s.memory.budget; budget > 0 && used > budget {
		h.fail("%d bytes are used of a budget of %d: rows %d, dictionaries %d, pending %d, pinned %d", used, budget, bytes, dicts, pending, pinned)
	}
}

// compare notes what became of a table since the step before.
func (h *simRun) compare(table int, state *tableState) {
	before := h.before[table]
	h.before[table] = state
	if before == nil {
		return
	}
	if state.floor < before.floor || state.open < before.open || state.evicted < before.evicted {
		h.fail("table %d: floor %d, open from %d, %d rows evicted after %d, %d, %d", table,
			state.floor, state.open, state.evicted, before.floor, before.open, before.evicted)
	}
	if state.evicted > before.evicted {
		h.note("eviction")
	}
	if state.open > before.open {
		h.note("bucket closed")
	}
	h.compareCuts(table, before, state)
}

// compareCuts notes buckets that began amid their range, and holds rows to them: a part is
// of one bucket, of times from its start to the end of its range, and not later than its latest.
func (h *simRun) compareCuts(table int, before, state *tableState) {
	s := h.tables[table].schema
	for bound, b := range state.buckets.All() {
		if _, known := before.buckets.Get(bound); !known && b.start != s.BucketStart(b.start) {
			h.note("bucket cut")
		}
	}
	if s.BucketColumn() < 0 || before.granules.Len() == 0 && state.granules.Len() == 0 {
		return
	}
	for bound, g := range state.granules.All() {
		start := bucketOf(s, bound)
		next, cut := nextStart(state, start)
		_, b, ok := state.buckets.Floor(bound)
		if ok = ok && b.start == start; !ok && g.Rows() > 0 {
			h.fail("table %d: rows of bucket %d, which is not there", table, start)
		}
		for _, slice := range g.Slices() {
			lo, hi := slice.Part.TimeRange()
			if lo < start || s.BucketStart(hi) != s.BucketStart(start) {
				h.fail("table %d: bucket %d has rows of times from %d to %d", table, start, lo, hi)
			}
			if ok && hi > b.latest {
				h.fail("table %d: bucket %d has a row of %d, its latest is %d", table, start, hi, b.latest)
			}
			if cut && hi >= next {
				h.note("row behind the cut of its bucket")
			}
		}
	}
}

// nextStart returns where the bucket after another begins.
func nextStart(state *tableState, start int64) (next int64, ok bool) {
	for _, b := range state.buckets.All() {
		if b.start > start {
			return b.start, true
		}
	}
	return 0, false
}

// walk collects the parts of a table and returns the bytes of the rest.
func (h *simRun) walk(state *tableState, parts map[*granule.Part]bool) int64 {
	var bytes int64
	for _, g := range state.granules.All() {
		bytes += granuleSize
		for _, slice := range g.Slices() {
			parts[slice.Part] = true
		}
	}
	for _, b := range state.buckets.All() {
		bytes += b.size()
	}
	for _, n := range state.notes {
		bytes += int64(len(n)) + noteSize
	}
	return bytes
}

// pinned returns the bytes of the parts and generations that open snapshots can
// still reach, and the current root cannot.
func (h *simRun) pinned(current map[*granule.Part]bool) int64 {
	parts, generations := map[*granule.Part]bool{}, map[*granule.Generation]int64{}
	for snap := range h.snaps {
		for _, t := range h.tables {
			if state, err := snap.table(t); err == nil && state != nil {
				h.walk(state, parts)
			}
		}
	}
	var bytes int64
	for p := range parts {
		if !current[p] {
			bytes += int64(p.Size())
		}
		generations[p.Generation()] = 0
	}
	for g := range generations {
		if !slices.ContainsFunc(h.tables, func(t *Table) bool { return t.has(g) }) {
			bytes += h.sizeAtDrop(g)
		}
	}
	return bytes
}

func (t *Table) has(g *granule.Generation) bool {
	for _, own := range t.generations.byNumber {
		if own.Generation == g {
			return true
		}
	}
	return false
}

// sizeAtDrop returns the size that a dropped generation had when it was first seen
// to be gone: a transaction that is too late may still add to it.
func (h *simRun) sizeAtDrop(g *granule.Generation) int64 {
	size, seen := h.dropped[g]
	if !seen {
		size = int64(g.Size())
		h.dropped[g] = size
	}
	return size
}
