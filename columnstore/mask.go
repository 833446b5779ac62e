package columnstore

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
)

// mask says which rows of a stretch are chosen: all or none of them, or those
// with their bit set.
type mask struct {
	all  bool
	from int32    // words of bits that are left out, as are some behind: their rows are not chosen
	bits []uint64 // nil: all decides; those behind the last row mean nothing
}

// next returns the first of n rows, from one on, that is chosen, or with not that is not; n
// if there is none. No words may be left out.
func (m *mask) next(row, n int, not bool) int {
	if m.bits == nil || row >= n {
		if m.all != not {
			return row
		}
		return n
	}
	flip := -encoding.FromBool(not)
	at := row / 64
	word := (m.bits[at] ^ flip) >> (row % 64) << (row % 64)
	for word == 0 {
		if at++; 64*at >= n {
			return n
		}
		word = m.bits[at] ^ flip
	}
	return min(n, 64*at+bits.TrailingZeros64(word))
}

// whole says whether no words are left out of a mask of n rows.
func (m *mask) whole(n int) bool { return m.from == 0 && len(m.bits) == (n+63)/64 }

// wholeBits returns the bits of a mask of n rows with none left out.
func (w *filterWork) wholeBits(m *mask, n int) []uint64 {
	if m.bits == nil || m.whole(n) {
		return m.bits
	}
	bits := w.take(n)
	clear(bits)
	copy(bits[m.from:], m.bits)
	return bits
}

// scattered says whether the chosen of n rows are mostly in short runs. It clears the bits
// that mean nothing.
func (m *mask) scattered(n int) bool {
	const long = 8 // rows in a run: moved together as fast as one by one
	if m.whole(n) {
		m.bits[len(m.bits)-1] &= ^uint64(0) >> (-n & 63)
	}
	rows, runs, before := 0, 0, uint64(0)
	for _, word := range m.bits {
		rows += bits.OnesCount64(word)
		runs += bits.OnesCount64(word &^ (word<<1 | before>>63))
		before = word
	}
	return rows < long*runs
}

// bitsOf sets a bit for each of n rows, 64 at a time: f returns those of rows [lo, hi), the
// first one's lowest.
func (w *filterWork) bitsOf(n int, f func(lo, hi int) uint64) mask {
	bits := w.take(n)
	for i := range bits {
		bits[i] = f(64*i, min(64*i+64, n))
	}
	return maskOf(bits, n)
}

// maskOf returns the mask of n rows that have these bits, and says if they are alike.
func maskOf(bits []uint64, n int) mask {
	some, every := uint64(0), ^uint64(0)
	last := len(bits) - 1
	for _, word := range bits[:last] {
		some |= word
		every &= word
	}
	behind := ^(^uint64(0) >> (-n & 63))
	some |= bits[last] &^ behind
	every &= bits[last] | behind
	if some == 0 || every == ^uint64(0) {
		return mask{all: some != 0}
	}
	return mask{bits: bits}
}

// bitsOfRows sets the bits of some rows of a part, rising: of those in a stretch.
func (w *filterWork) bitsOfRows(rows []int32, r *stretch) mask {
	at, _ := slices.BinarySearch(rows, int32(r.lo))
	if rows = rows[at:]; len(rows) == 0 || int(rows[0]) >= r.hi {
		return mask{}
	}
	n, _ := slices.BinarySearch(rows, int32(r.hi))
	rows = rows[:n]
	word := func(row int32) int32 { return (row - int32(r.lo)) / 64 }
	from := word(rows[0])
	bits := w.take(64 * int(word(rows[n-1])+1-from))
	clear(bits)
	for _, row := range rows {
		bits[word(row)-from] |= 1 << ((int(row) - r.lo) % 64)
	}
	return mask{bits: bits, from: from}
}

// eval returns the rows of a stretch for which the filter holds. What a column
// says for all rows at once, it does not say row by row.
func (f *filter) eval(p *granule.Part, r *stretch) mask {
	switch f.op {
	case opTrue:
		return mask{all: true}
	case opNot:
		m := f.args[0].eval(p, r)
		if m.bits == nil {
			return mask{all: !m.all}
		}
		bits := f.work.wholeBits(&m, r.hi-r.lo)
		for i := range bits {
			bits[i] = ^bits[i]
		}
		return mask{bits: bits}
	case opAnd, opOr:
		return f.combine(p, r)
	}
	return f.leaf.eval(p, r)
}

// combine evaluates And and Or and stops as soon as the answer is known.
func (f *filter) combine(p *granule.Part, r *stretch) mask {
	or := f.op == opOr
	out := mask{all: !or}
	for _, arg := range f.args {
		m := arg.eval(p, r)
		switch {
		case m.bits == nil && m.all == or:
			return m
		case m.bits == nil:
		case out.bits == nil:
			out = m
		default:
			out = mask{bits: f.work.wholeBits(&out, r.hi-r.lo)}
			for i, word := range f.work.wholeBits(&m, r.hi-r.lo) {
				if or {
					out.bits[i] |= word
				} else {
					out.bits[i] &= word
				}
			}
		}
	}
	return out
}

// eval says which rows of a stretch the leaf holds for.
func (l *leaf) eval(p *granule.Part, r *stretch) mask {
	gen := p.Generation()
	switch {
	case l.series && !r.mixed:
		return mask{all: l.testSeries(gen, l.work.columns(gen), r.series)}
	case l.series:
		set := l.seriesOf(gen, l.work.columns(gen))
		return l.mask(p.Series(), r, func(word uint64) bool { return set.has(uint32(word)) })
	}
	if all, ok := l.prune(p); ok {
		return mask{all: all}
	}
	column := p.Find(l.column, l.name)
	if column == nil {
		return mask{all: l.null}
	}
	if column.Type().Fixed() {
		if column.Nulls() {
			return l.maskOfNullable(column, r)
		}
		return l.mask(column.Words(), r, l.word)
	}
	if l.id != nil {
		if rows, ok := l.rowsOfID(p, column); ok {
			return l.work.bitsOfRows(rows, r)
		}
	}
	if l.op == opElement {
		words := l.work.read(column.Words(), r)
		return l.listsOf(gen).mask(words)
	}
	return l.mask(column.Words(), r, l.ofCode(gen, column))
}

// ofCode returns the test of a column of codes.
func (l *leaf) ofCode(gen *granule.Generation, column *encoding.Column) func(word uint64) bool {
	switch {
	case l.word != nil:
		return func(word uint64) bool { return word != 0 && l.word(word) || word == 0 && l.null }
	case column.Dict() == nil:
		return func(word uint64) bool { return word == 0 && l.null || word != 0 && l.test(column.Bytes(word)) }
	}
	known := l.memo(gen, column.Dict().Len())
	return func(word uint64) bool {
		if word == 0 {
			return l.null
		}
		if known[word] == unknown {
			known[word] = truthOf(l.test(column.Bytes(word)))
		}
		return known[word] == yes
	}
}

// memo returns what is known of the codes of a generation, up to most.
func (l *leaf) memo(gen *granule.Generation, most int) []truth {
	known := l.in(gen)
	if n := len(known.codes); n <= most {
		known.codes = append(known.codes, make([]truth, most+1-n+most/8)...)
	}
	return known.codes
}

// mask tests the words of a stretch, those of a table once each.
func (l *leaf) mask(words *encoding.Words, r *stretch, test func(uint64) bool) mask {
	if word, ok := words.Constant(); ok {
		return mask{all: test(word)}
	}
	if table, ordinals := words.Lookup(); table != nil {
		of := l.ofTable(table, test)
		if l.tableAlike {
			return mask{all: of[0] != 0}
		}
		bits := l.work.take(r.hi - r.lo)
		ordinals.Bits(bits, r.lo, r.hi, of)
		return maskOf(bits, r.hi-r.lo)
	}
	rows := l.work.read(words, r)
	tested, result := -1, uint64(0)
	return l.work.bitsOf(len(rows), func(lo, hi int) (bits uint64) {
		for i, word := range rows[lo:hi] {
			if tested < 0 || word != rows[tested] {
				tested, result = lo+i, encoding.FromBool(test(word))
			}
			bits = bits>>1 | result<<63
		}
		return bits >> (64 - (hi - lo))
	})
}

// maskOfNullable tests the words of the rows of a stretch that have one.
func (l *leaf) maskOfNullable(column *encoding.Column, r *stretch) mask {
	l.work.valid = column.AppendValid(l.work.valid[:0], r.lo, r.hi)
	valid, rows := l.work.valid, l.work.read(column.Words(), r)
	tested, result := -1, false // the last row with a value, and what its word gave
	return l.work.bitsOf(len(rows), func(lo, hi int) (bits uint64) {
		for i, word := range rows[lo:hi] {
			if !valid[lo+i] {
				bits |= encoding.FromBool(l.null) << i
				continue
			}
			if tested < 0 || word != rows[tested] {
				tested, result = lo+i, l.word(word)
			}
			bits |= encoding.FromBool(result) << i
		}
		return bits
	})
}

// ofTable returns what the test says of the words of a part's table, 1 or 0, of which it is
// asked for each stretch.
func (l *leaf) ofTable(table *encoding.Words, test func(uint64) bool) []byte {
	if l.table == table { // held, so that no other part's is at its place
		return l.ofWords
	}
	l.table, l.ofWords = table, l.ofWords[:0]
	for _, word := range l.work.read(table, &stretch{hi: table.Len()}) {
		l.ofWords = append(l.ofWords, byte(encoding.FromBool(test(word))))
	}
	l.tableAlike = !slices.Contains(l.ofWords, l.ofWords[0]^1)
	return l.ofWords
}

// filterWork is what the leaves of a filter work with.
type filterWork struct {
	words  []uint64
	series encoding.Cursor // of the chooser, as walk
	walk   walk
	valid  []bool  // of the rows at hand
	picked []int32 // of the selection at hand
	slab   []uint64
	used   int     // of slab, by the stretch at hand
	leaves []*leaf // of the filter at hand, and behind them some for the next
	bound  int     // of the leaves

	granules []*granule.Granule // that the query looks at

	// stop says whether the query was cancelled; who finds that it was sets stopped, and
	// says anything then.
	stop    func() bool
	stopped bool

	columns    func(*granule.Generation) *granule.SeriesColumns
	manySeries func(*granule.Generation) bool // can hold: a share of all
}

var filterWorks = sync.Pool{New: func() any { return new(filterWork) }}

// leaf returns a leaf of any value, until forget.
func (w *filterWork) leaf() *leaf {
	if w.bound == len(w.leaves) {
		w.leaves = append(w.leaves, new(leaf))
	}
	w.bound++
	return w.leaves[w.bound-1]
}

// keptLeaves bounds how many are kept for the next filter.
const keptLeaves = 64

// forget takes the leaves back. What they refer to is not kept.
func (w *filterWork) forget() {
	for _, l := range w.leaves[:w.bound] {
		*l = leaf{ofWords: l.ofWords[:0]}
	}
	w.bound = 0
	if len(w.leaves) > keptLeaves {
		w.leaves = nil
	}
}

// keptGranules bounds how many there is room for in what the next query finds.
const keptGranules = 1 << 13

// forgetGranules lets go of the granules: what is kept holds none.
func (w *filterWork) forgetGranules() {
	if cap(w.granules) > keptGranules {
		w.granules = nil
	}
	w.granules = w.granules[:cap(w.granules)]
	clear(w.granules)
	w.granules = w.granules[:0]
}

// read returns the words of a stretch, good until the next call.
func (w *filterWork) read(words *encoding.Words, r *stretch) []uint64 {
	w.words = words.Append(w.words[:0], r.lo, r.hi)
	return w.words
}

// take returns room for bits of n rows, of any value, good for the stretch at hand.
func (w *filterWork) take(n int) []uint64 {
	n = (n + 63) / 64
	if w.used+n > len(w.slab) {
		w.slab, w.used = make([]uint64, 2*(w.used+n)), 0
	}
	w.used += n
	return w.slab[w.used-n : w.used : w.used]
}
