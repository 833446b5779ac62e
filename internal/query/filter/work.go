package filter

import (
	"slices"
	"sync"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
)

// filterWork is the working memory of a chooser and its leaves. It is pooled.
type filterWork struct {
	words  []uint64
	series encoding.Cursor // like walk, for the chooser
	walk   walk
	valid  []bool  // for the current rows
	picked []int32 // for the current selection
	slab   []uint64
	used   int     // words of slab in use by the current rows
	leaves []*leaf // leaves in use, then spare ones for the next filter
	bound  int     // number of leaves in use

	granules []*granule.Granule // granules that the query visits

	// stop reports whether the query was cancelled. stopped caches true. Later results are meaningless.
	stop    func() bool
	stopped bool

	columns    func(*granule.Generation) *granule.SeriesColumns
	manySeries func(*granule.Generation) bool // reports whether a large share of the series can match
}

// isStopped reports whether the query was cancelled.
func (w *filterWork) isStopped() bool {
	w.stopped = w.stopped || w.stop()
	return w.stopped
}

var filterWorks = sync.Pool{New: func() any { return new(filterWork) }}

// leaf returns a leaf with stale contents. forget takes it back.
func (w *filterWork) leaf() *leaf {
	if w.bound == len(w.leaves) {
		w.leaves = append(w.leaves, new(leaf))
	}
	w.bound++
	return w.leaves[w.bound-1]
}

// keptLeaves bounds the leaves that are kept for the next filter.
const keptLeaves = 64

// forget takes all leaves back and drops their references.
func (w *filterWork) forget() {
	for _, l := range w.leaves[:w.bound] {
		*l = leaf{ofWords: l.ofWords[:0]}
	}
	w.bound = 0
	if len(w.leaves) > keptLeaves {
		w.leaves = nil
	}
}

// keptGranules bounds the capacity of granules that is kept for the next query.
const keptGranules = 1 << 13

func (w *filterWork) forgetGranules() {
	if cap(w.granules) > keptGranules {
		w.granules = nil
	}
	w.granules = w.granules[:cap(w.granules)]
	clear(w.granules)
	w.granules = w.granules[:0]
}

// read returns the words of open rows. They are valid until the next call.
func (w *filterWork) read(words *encoding.Words, r *openRows) []uint64 {
	w.words = words.Append(w.words[:0], r.lo, r.hi)
	return w.words
}

// bits returns memory for the bits of n rows, with stale contents. It is valid for the current
// rows.
func (w *filterWork) bits(n int) []uint64 {
	n = (n + 63) / 64
	if w.used+n > len(w.slab) {
		w.slab, w.used = make([]uint64, 2*(w.used+n)), 0
	}
	w.used += n
	return w.slab[w.used-n : w.used : w.used]
}

// wholeBits returns the bits of a mask, extended to all n rows.
func (w *filterWork) wholeBits(m *mask, n int) []uint64 {
	if m.bits == nil || m.whole(n) {
		return m.bits
	}
	bits := w.bits(n)
	clear(bits)
	copy(bits[m.from:], m.bits)
	return bits
}

// bitsOf builds a mask of n rows, 64 rows at a time. f returns the bits of rows [lo, hi); the lowest bit
// belongs to row lo.
func (w *filterWork) bitsOf(n int, f func(lo, hi int) uint64) mask {
	bits := w.bits(n)
	for i := range bits {
		bits[i] = f(64*i, min(64*i+64, n))
	}
	return maskOf(bits, n)
}

// bitsOfRows returns the mask of the open rows in rows, which are ascending rows in the part.
func (w *filterWork) bitsOfRows(rows []int32, r *openRows) mask {
	at, _ := slices.BinarySearch(rows, int32(r.lo))
	if rows = rows[at:]; len(rows) == 0 || int(rows[0]) >= r.hi {
		return mask{}
	}
	n, _ := slices.BinarySearch(rows, int32(r.hi))
	rows = rows[:n]
	word := func(row int32) int32 { return (row - int32(r.lo)) / 64 }
	from := word(rows[0])
	bits := w.bits(64 * int(word(rows[n-1])+1-from))
	clear(bits)
	for _, row := range rows {
		bits[word(row)-from] |= 1 << ((int(row) - r.lo) % 64)
	}
	return mask{bits: bits, from: from}
}
