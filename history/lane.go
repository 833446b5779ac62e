package history

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
)

// laneWidth is how many attributes a lane has at most: a bit each in a word.
const laneWidth = 64

// lane is up to 64 attributes of one shape, in slots, in the order of their first use.
// One writer, any number of readers: they see sealed, fed and now through atomics, and
// a kind only where they have seen a value of it.
type lane struct {
	sealed   atomic.Pointer[sealed]
	fed      atomic.Uint64           // slots that Add feeds
	now      atomic.Pointer[ongoing] // of slots that Change feeds; nil when all are closed
	kinds    [laneWidth]Kind         // of a slot's values, from its first that is not null
	slots    int                     // the writer's: how many are used
	work     *laneWork               // the writer's; nil when the history is closed
	buffered int64                   // the writer's: bytes of entries, as counted
	starts   *[laneWidth]int64       // the writer's: of the ongoing intervals when tiles were dropped; nil: never
}

// sealed is what a lane has for readers.
type sealed struct {
	tiles  []tileRef // by their last end
	groups []uint64  // the masks of each groupLen tiles together; the last tiles are in none
	open   *buffer   // ends after those of all tiles; nil: none
}

// groupLen is how many tiles one look can pass over.
const groupLen = 64

// buffer is what a lane has not sealed, for readers.
type buffer struct {
	n      atomic.Int64 // entries that readers may look at
	blocks []*block
}

// entries is intervals that ended, in the order of arrival, of one slot that of their
// ends. When one began says the one before of its slot.
type entries struct {
	tail   *block // the writer's: where the next one goes; nil if that is not known, or a new one
	n      int
	blocks []*block
}

// block is room for entries, as columns. The writer writes behind those that readers
// look at.
type block struct {
	at    [blockLen]entry
	slots [blockLen]uint8 // and nullEntry
}

// entry is where an interval ended, and the word of its value.
type entry struct {
	end  int64
	word uint64
}

const (
	blockLen  = 64
	nullEntry = 1 << 7 // in the byte of a slot: the value is null
)

// ongoing is the values that the attributes of a lane have from their last ends on.
// A writer publishes the ends before them; so who reads a value here first and finds no
// end in the lane after that, has the right one.
type ongoing struct {
	has   atomic.Uint64 // slots whose value is not null
	words [laneWidth]atomic.Uint64
}

// laneWork is what the writer knows of a lane.
type laneWork struct {
	// What each entry needs is in one line of the cache.
	entries entries
	latest  int64  // end of those
	changed uint64 // slots with writes that are not committed
	plain   uint64 // slots that Add feeds with values of one kind, not bytes, or only null yet, which can go on

	has   uint64 // slots whose ongoing value is not null
	ended uint64 // slots that have an end at the last instant of all: no interval can follow
	mixed bool   // the entries are not in the order of their ends
	lane  *lane
	slots [laneWidth]slotWork
}

// slotWork is what the writer knows of an attribute.
type slotWork struct {
	start int64  // of the ongoing interval
	word  uint64 // of its value; of plain slots, the kind of values, null if there are none
}

// add appends an entry.
func (e *entries) add(end int64, word uint64, slot uint8) {
	b := e.tail
	if b == nil {
		b = e.next()
	}
	i := e.n % blockLen
	b.at[i], b.slots[i] = entry{end, word}, slot
	e.n++
	if i == blockLen-1 {
		e.tail = nil
	}
}

// next returns the block where the next entry goes.
func (e *entries) next() *block {
	if e.n/blockLen == len(e.blocks) {
		e.blocks = append(e.blocks, blocks.Get().(*block))
	}
	e.tail = e.blocks[e.n/blockLen]
	return e.tail
}

// blocks that no reader has seen are used again, in the same or another history: what is in
// them behind the entries that there are is nobody's.
var blocks = sync.Pool{New: func() any { return new(block) }}

// reuse lets go of the blocks that are not among those which readers have; nil: none are.
func (e *entries) reuse(seen *buffer) {
	from := 0
	if seen != nil {
		from = len(seen.blocks)
	}
	for _, b := range e.blocks[from:] {
		blocks.Put(b)
	}
}

// addAll appends entries.
func (e *entries) addAll(from run) {
	for len(from.at) > 0 {
		b, i := e.next(), e.n%blockLen
		n := copy(b.at[i:], from.at)
		copy(b.slots[i:], from.slots[:n])
		e.n += n
		from = from.behind(n)
	}
	if e.n%blockLen == 0 {
		e.tail = nil
	}
}

// entriesOf returns the buffered entries that readers may look at.
func (s *sealed) entriesOf() entries {
	if s.open == nil {
		return entries{}
	}
	return entries{blocks: s.open.blocks, n: int(s.open.n.Load())}
}

// from returns the first tile whose last end is at or after a time.
func (s *sealed) from(t int64) int {
	lo, hi := 0, len(s.tiles)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if s.tiles[mid].last < t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// after returns the first tile from i on that has an end of one of the slots, or the
// number of tiles.
func (s *sealed) after(i int, slots uint64) int {
	for i < len(s.tiles) {
		if i%groupLen == 0 && i/groupLen < len(s.groups) && s.groups[i/groupLen]&slots == 0 {
			i += groupLen
			continue
		}
		if s.tiles[i].mask&slots != 0 {
			return i
		}
		i++
	}
	return i
}

// before returns the last tile up to i that has an end of one of the slots, or -1.
func (s *sealed) before(i int, slots uint64) int {
	for i >= 0 {
		if i%groupLen == groupLen-1 && s.groups[i/groupLen]&slots == 0 {
			i -= groupLen
			continue
		}
		if s.tiles[i].mask&slots != 0 {
			return i
		}
		i--
	}
	return -1
}

// with returns what a lane has when tiles are added, and other entries are left.
// Readers of s do not look behind its lengths.
func (s *sealed) with(tiles []tileRef, open *buffer) *sealed {
	next := &sealed{tiles: append(s.tiles, tiles...), groups: s.groups, open: open}
	for g := len(next.groups); (g+1)*groupLen <= len(next.tiles); g++ {
		var mask uint64
		for _, t := range next.tiles[g*groupLen:][:groupLen] {
			mask |= t.mask
		}
		next.groups = append(next.groups, mask)
	}
	return next
}

// found is an interval of one slot as the lane has it.
type found struct {
	start, end int64
	word       uint64
	null       bool
	ended      bool // else only start is known: it goes on
}

// add appends an entry.
func (work *laneWork) add(end int64, word uint64, slot uint, null bool) {
	if work.entries.n == 0 || end >= work.latest {
		work.latest = end
	} else {
		work.mixed = true
	}
	at := uint8(slot)
	if null {
		at |= nullEntry
	}
	work.entries.add(end, word, at)
}

// find finds the interval of a slot that an instant is in. from is where the first
// interval begins.
func (s *sealed) find(f *found, slot uint, t, from int64) {
	bit := uint64(1) << slot
	*f = found{}
	f.start = from
	j := s.from(t)
	first := j // the tile in whose time the instant is
	if j < len(s.tiles) && s.tiles[j].mask&bit != 0 {
		var tl tile
		tl.open(&s.tiles[j])
		lo, hi := tl.slot(slot)
		i := tl.search(lo, hi, t)
		if i > lo {
			f.start = tl.end(i-1) + 1
		}
		if i < hi {
			f.end, f.ended = tl.end(i), true
			f.word, f.null = tl.value(i)
		}
		if i > lo && f.ended {
			return
		}
		j++ // the end is in a later tile, or known already
		if i > lo {
			first = -1 // the start is known
		}
	}
	if !f.ended {
		if j = s.after(j, bit); j < len(s.tiles) {
			var tl tile
			tl.open(&s.tiles[j])
			lo, _ := tl.slot(slot)
			f.end, f.ended = tl.end(lo), true
			f.word, f.null = tl.value(lo)
		} else if s.findOpen(slot, t, f) {
			return
		}
	}
	if first >= 0 {
		f.start = s.startBefore(first, bit, from)
	}
}

// findOpen looks for the end among the buffered entries, and says whether it found the
// start there.
func (s *sealed) findOpen(slot uint, t int64, f *found) (started bool) {
	open := s.entriesOf()
	for i := range open.n {
		b := open.blocks[i/blockLen]
		at := b.slots[i%blockLen]
		if uint(at&^nullEntry) != slot {
			continue
		}
		end := b.at[i%blockLen].end
		if end >= t {
			f.end, f.word, f.null, f.ended = end, b.at[i%blockLen].word, at&nullEntry != 0, true
			return started
		}
		f.start, started = end+1, true
	}
	return started
}

// lastEnd returns the last end of a slot that is at most a time.
func (s *sealed) lastEnd(slot uint, most int64) (end int64, ok bool) {
	open := s.entriesOf()
	for i := open.n - 1; i >= 0; i-- {
		b := open.blocks[i/blockLen]
		if end := b.at[i%blockLen].end; uint(b.slots[i%blockLen]&^nullEntry) == slot && end <= most {
			return end, true
		}
	}
	if k := s.before(len(s.tiles)-1, 1<<slot); k >= 0 {
		var tl tile
		tl.open(&s.tiles[k])
		_, hi := tl.slot(slot)
		return tl.end(hi - 1), true
	}
	return math.MinInt64, false
}

// nextSlot returns the lowest slot of a set, which is not empty, and the others.
func nextSlot(set uint64) (slot int, rest uint64) { return bits.TrailingZeros64(set), set & (set - 1) }
