package columnstore

import (
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
)

func init() { leastBudget = 1 } // a history has few rows

// checkMemory walks all reachable memory and compares the accounts with it.
func (h *simRun) checkMemory() {
	if h.failure != nil {
		return
	}
	s := h.store
	root := s.roots.Root().State
	now := [...]int64{s.memory.dicts.Load(), s.memory.pending.Load(), s.roots.Pinned(), int64(len(h.snaps)), int64(h.reading), s.roots.Expired()}
	if root == h.checked.root && now == h.checked.accounts {
		return // nothing has changed
	}
	h.checked.root, h.checked.accounts = root, now
	current, bytes := h.checked.parts, int64(0)
	clear(current)
	for i, state := range root.Tables {
		bytes += h.walk(state, current)
		h.checkCommitOrder(i, state)
		h.compare(i, state)
		h.checkCold(h.tables[i], state)
	}
	for p := range current {
		bytes += int64(p.Size())
	}
	if bytes != root.Bytes {
		h.fail("the root has %d bytes by its account, %d by a walk", root.Bytes, bytes)
	}
	s.roots.Sweep()
	pinned := h.pinned(current)
	if held := s.roots.Pinned(); held < pinned {
		h.fail("open snapshots hold %d bytes, the account has %d", pinned, held)
	} else if h.reading == 0 && !h.isFlushing() && len(h.snaps) == 0 && held > 0 {
		h.fail("nobody reads, but the account has %d bytes held by snapshots", held)
	}
	if pinned > 0 {
		h.note("snapshot that pins memory")
	}
	dicts := int64(0)
	for _, t := range h.tables {
		for _, g := range t.generations.All() {
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
	if used, budget := bytes+dicts+pending+pinned, max(s.memory.budget.Load(), h.excess); s.memory.budget.Load() > 0 && used > budget {
		h.fail("%d bytes are used of a budget of %d: rows %d, dictionaries %d, pending %d, pinned %d", used, budget, bytes, dicts, pending, pinned)
	}
}

// checkCommitOrder checks G7: each fresh part of a granule has a later commit than its base part, and no
// earlier commit than the previous fresh part.
func (h *simRun) checkCommitOrder(table int, state *catalog.TableState) {
	for _, g := range state.Granules.All() {
		h.sections = g.AppendSections(h.sections[:0])
		for i, s := range h.sections[min(1, len(h.sections)):] {
			before, behindBase := h.sections[i].Part.Commit(), i == 0 && g.FreshParts() < len(h.sections)
			if commit := s.Part.Commit(); commit < before || behindBase && commit == before {
				h.fail("table %d: a part of commit %d stands behind a part of commit %d", table, commit, before)
			}
		}
	}
}

// compare notes the changes of a table since the step before.
func (h *simRun) compare(table int, state *catalog.TableState) {
	before := h.before[table]
	h.before[table] = state
	if before == nil {
		return
	}
	if state.Floor < before.Floor || state.Open < before.Open || state.Evicted < before.Evicted {
		h.fail("table %d: floor %d, open from %d, %d rows evicted after %d, %d, %d", table,
			state.Floor, state.Open, state.Evicted, before.Floor, before.Open, before.Evicted)
	}
	if state.Evicted > before.Evicted {
		h.note("eviction")
	}
	if state.Open > before.Open {
		h.note("bucket closed")
	}
	h.compareCuts(table, before, state)
}

// compareCuts records buckets that began inside their range, and checks their rows: a part belongs to one
// bucket, with times from its start to the end of its range, and not later than its latest time.
func (h *simRun) compareCuts(table int, before, state *catalog.TableState) {
	s := h.tables[table].schema
	for bound, b := range state.Buckets.All() {
		if _, known := before.Buckets.Get(bound); !known && b.Start != s.BucketStart(b.Start) {
			h.note(map[bool]string{false: "bucket cut", true: "late bucket"}[b.Late])
		}
	}
	if s.BucketColumn() < 0 || before.Granules.Len() == 0 && state.Granules.Len() == 0 {
		return
	}
	for bound, g := range state.Granules.All() {
		start := bucketOf(s, bound)
		next, cut := nextStart(state, start)
		_, b, ok := state.Buckets.Floor(bound)
		if ok = ok && b.Start == start; !ok && g.Rows() > 0 {
			h.fail("table %d: rows of bucket %d, which is not there", table, start)
		}
		h.sections = g.AppendSections(h.sections[:0])
		for _, slice := range h.sections {
			lo, hi := slice.Part.TimeRange()
			if lo < start && (!ok || !b.Late) || s.BucketStart(lo) != s.BucketStart(start) || s.BucketStart(hi) != s.BucketStart(start) {
				h.fail("table %d: bucket %d has rows of times from %d to %d", table, start, lo, hi)
			}
			if ok && hi > b.Latest {
				h.fail("table %d: bucket %d has a row of %d, its latest is %d", table, start, hi, b.Latest)
			}
			if cut && hi >= next {
				h.note("row behind the cut of its bucket")
			}
		}
	}
}

// nextStart returns the bucket's start after another.
func nextStart(state *catalog.TableState, start int64) (next int64, ok bool) {
	for _, b := range state.Buckets.All() {
		if b.Start > start {
			return b.Start, true
		}
	}
	return 0, false
}

// walk collects the parts of a table and returns the bytes of the rest.
func (h *simRun) walk(state *catalog.TableState, parts map[*granule.Part]bool) int64 {
	var bytes int64
	for _, g := range state.Granules.All() {
		bytes += catalog.GranuleSize
		h.sections = g.AppendSections(h.sections[:0])
		for _, slice := range h.sections {
			parts[slice.Part] = true
		}
	}
	for _, b := range state.Buckets.All() {
		bytes += b.Size()
	}
	for _, n := range state.Notes {
		bytes += int64(len(n)) + catalog.NoteSize
	}
	return bytes
}

// pinned returns the bytes of the parts and generations that open snapshots can
// still reach, and the current root cannot.
func (h *simRun) pinned(current map[*granule.Part]bool) int64 {
	parts, generations := map[*granule.Part]bool{}, map[*granule.Generation]int64{}
	for snap := range h.snaps {
		for _, t := range h.tables {
			if r, err := snap.peek(t); err == nil && r.State != nil {
				h.walk(r.State, parts)
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
	for _, own := range t.generations.All() {
		if own.Generation == g {
			return true
		}
	}
	return false
}

// sizeAtDrop returns a dropped generation's size when it was first found dropped: a late transaction may
// still add to it.
func (h *simRun) sizeAtDrop(g *granule.Generation) int64 {
	size, seen := h.dropped[g]
	if !seen {
		size = int64(g.Size())
		h.dropped[g] = size
	}
	return size
}
