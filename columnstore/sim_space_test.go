package columnstore

import (
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/internal/oracle"
)

// simSpace is the state of the disk budget in a history with crashes.
type simSpace struct {
	bounded  bool            // its stores have a budget, but for some that are opened again
	fs       *measured       // of this store; nil without a budget
	excess   int64           // bytes of the directory when it was opened
	manifest *files.Manifest // of the step before
}

// boundSpace draws a budget, each 32nd of which is a segment, or none for a store that is opened again. It begins
// to measure the directory.
func (h *simRun) boundSpace() {
	h.opts.DiskBudget = 32*(5<<10) + h.rng.Int64N(64<<10)
	h.opts.segmentBytes = h.opts.DiskBudget / 32
	h.opts.queueBytes = 512 + h.rng.Int64N(h.opts.segmentBytes-(4<<10)-256) // waiting entries take one more segment, with its header
	if h.space.fs = nil; h.store != nil && h.rng.IntN(4) == 0 {
		h.opts.DiskBudget = 0
		return
	}
	sizes, err := disk.Sizes(h.fs)
	if err != nil {
		h.fail("sizes of the files: %v", err)
		return
	}
	h.space.fs = &measured{FS: h.fs, sizes: sizes}
	h.opts.FS = h.space.fs
}

// openedSpace begins to check the budget: a crash can bring back files that were removed.
func (h *simRun) openedSpace() {
	m := h.space.fs
	if m == nil {
		return
	}
	m.peak, m.failed, m.stuck = 0, map[string]bool{}, map[string]bool{}
	m.note("", 0, true)
	h.space.excess, h.space.manifest = m.peak, h.store.flusher.manifest
}

// checkSpace checks that the directory kept its budget after each disk call, up to a segment and a file,
// and one more segment for each failed segment beyond two. A crash must not lose the drops in a new
// manifest.
func (h *simRun) checkSpace() {
	m := h.space.fs
	if m == nil {
		return
	}
	// Commits are accepted up to refuseAt, or the store is larger when it is opened. On top come the rest
	// of the current segment, and the files that make room: two more segments and a file, and one more
	// for each failed segment, because the log and the files begin again. With up to two failures, that
	// is no more than the budget, a segment and a file.
	full := max(h.space.excess, h.opts.DiskBudget/32*refuseAt)
	most := max(h.opts.DiskBudget+m.segment+m.largest, full+int64(3+len(m.failed))*m.segment+m.largest)
	if m.peak > most {
		h.fail("%d bytes in the directory of a budget of %d, want at most %d: the largest segment has %d, the largest file %d",
			m.peak, h.opts.DiskBudget, most, m.segment, m.largest)
	}
	next := h.store.flusher.manifest
	if next == h.space.manifest {
		return
	}
	h.space.manifest = next
	for id, c := range h.commits.All() {
		for table, floor := range c.drops {
			if files := next.Table(table); c.forDisk && files != nil && floor <= files.State.Floor {
				h.promised = max(h.promised, id)
			}
		}
	}
}

// dropsForSpace is called before the store drops ranges of a table. It checks that the directory is
// crowded, and returns the bytes that crowd it. before is the result for the previous table, which was chosen at
// the same time.
func (h *simRun) dropsForSpace(before int64) int64 {
	used, states := int64(0), int64(0)
	for _, size := range h.space.fs.sizes {
		used += size
	}
	if h.states != nil {
		states = h.states.states.Size()
	}
	// Room is made for the files of replaced rows, half of the log, and states: less than the bytes in
	// use.
	most := max(before, 2*used+states)
	if most <= h.opts.DiskBudget/32*crowdedAt {
		h.fail("the store drops ranges for its disk budget of %d, and has %d bytes", h.opts.DiskBudget, used)
	}
	return most
}

// droppedForSpace records a commit of the store that drops ranges.
func (h *simRun) droppedForSpace() {
	root := h.store.roots.Root()
	c := simCommit{rows: make([][]string, len(h.tables)), drops: map[int]int64{}, forDisk: true}
	for i, state := range root.State.Tables {
		if before := h.before[i]; before == nil || state.Floor > before.Floor {
			c.drops[i] = state.Floor
		}
	}
	if len(c.drops) > 1 {
		h.fail("a commit for the disk budget raises the floors of tables %v", c.drops)
	}
	for table, floor := range c.drops {
		if newest := oracle.Floor(h.offered[table], h.bucket); floor > newest || floor != oracle.Floor(floor, h.bucket) {
			h.fail("table %d: rows before %d are dropped for the disk budget, the newest range begins at %d", table, floor, newest)
		}
		h.note("ranges dropped for the disk budget")
	}
	h.commits.Add(uint64(root.Commit), c)
}
