package encoding

import "slices"

// layout is the form of words in memory.
type layout uint8

// The layouts; the package comment draws them. Images have these numbers, which never change. The layouts
// from layoutBlocks to layoutSliced are layoutBlocks plus the order.
const (
	layoutPlain   layout = 0
	layoutPacked  layout = 1
	layoutRuns    layout = 2
	layoutBlocks  layout = 3
	layoutRises   layout = 4
	layoutChanges layout = 5
	layoutBends   layout = 6
	layoutSliced  layout = 7
	layoutSparse  layout = 8
	layoutLookup  layout = 9
)

var layoutNames = [...]string{"plain", "packed", "runs", "blocks", "rises", "changes", "bends", "sliced", "sparse", "lookup"}

func (l layout) String() string { return layoutNames[l] }

// LayoutNames returns the names of all layouts.
func LayoutNames() []string { return slices.Clone(layoutNames[:]) }

// Words is an immutable sequence of 64-bit words in some layout. The zero Words is empty. Reading is safe
// for any number of goroutines.
type Words struct {
	packed packed // plain (width 64) and packed
	form   *form  // all other layouts
	n      uint32
	layout layout
}

// form holds the layouts other than plain and packed.
type form struct {
	runs   *runs
	blocks *blocks
	sparse *sparse
	lookup *lookup
}

// Encode encodes a column's words. It tries the packed layout and the layouts of the encoding, and takes the
// smallest. Sizes are estimated from sampled blocks and the number of runs, therefore a column without
// repetition does not pay for an encoding that expects it. The caller keeps words.
//
// It costs 10 to 30 ns per word. It allocates about the size of the result, and temporarily up to twice that
// plus the size of words. Short-lived columns use Pack instead.
func Encode(e Encoding, words []uint64) Words {
	switch e {
	case DictionaryRLE, RLE:
		return encode(words, true, asIs, rises)
	case Delta:
		return encode(words, false, rises, changes, bends)
	}
	return encode(words, false, asIs, changes)
}

// EncodeOrdinals is Encode with DictionaryRLE for a Lookup's ordinals, except that blocks of words are
// sliced: Bits then takes half the time or less, Append takes 0.2 ns per word more, and the size may be a
// quarter larger.
func EncodeOrdinals(words []uint64) Words { return encode(words, true, rises, sliced) }

// encode tries the given orders of blocks and, if words may repeat, runs.
func encode(words []uint64, repeats bool, orders ...order) Words {
	p := planOf(words)
	if p.width == 0 {
		return inPacked(p)
	}
	zeros, runs := count(words)
	var best Words
	if repeats && 8*runs < len(words) {
		best = inRuns(words) // because no other layout comes near
	} else {
		best = flat(p, words, orders)
		if repeats && 2*runs < len(words) {
			best = smaller(best, inRuns(words))
		}
	}
	if zeros > len(words)/4 {
		best = smaller(best, Words{layout: layoutSparse, n: uint32(len(words)), form: &form{sparse: sparseOf(words)}})
	}
	return best
}

// flat returns words in the smaller of packed and blocks.
func flat(p packed, words []uint64, orders []order) Words {
	if len(words) > blockLen {
		d := newBlocksDraft(words, p)
		defer d.done()
		if d.plan(orders); d.size() < d.order.worth(8*p.need()) {
			return ofBlocks(d.build())
		}
	}
	p.fill(make([]uint64, p.need()), words)
	return inPacked(p)
}

// inBlocks returns words in the smaller of packed and any kind of blocks, for use inside another layout.
func inBlocks(words []uint64) Words {
	return flat(planOf(words), words, []order{asIs, rises, changes})
}

func inRuns(words []uint64) Words {
	return Words{layout: layoutRuns, n: uint32(len(words)), form: &form{runs: runsOf(words)}}
}

// count returns the number of words that are 0, and of words that differ from their predecessor.
func count(words []uint64) (zeros, runs int) {
	last := words[0] + 1
	for _, w := range words {
		if w == 0 {
			zeros++
		}
		if w != last {
			runs++
		}
		last = w
	}
	return zeros, runs
}

// Pack appends to dst the words of `columns` in the packed layout, all in one allocation. It costs 3 to 6
// ns per word and is meant for short-lived words.
func Pack(dst []Words, columns ...[]uint64) []Words {
	start, total := len(dst), 0
	for _, words := range columns {
		dst = append(dst, inPacked(planOf(words)))
		total += dst[len(dst)-1].packed.need()
	}
	slab := make([]uint64, total)
	for i, words := range columns {
		p := &dst[start+i].packed
		need := p.need()
		p.fill(slab[:need], words)
		slab = slab[need:]
	}
	return dst
}

// Constant returns n equal words. It allocates nothing.
func Constant(word uint64, n int) Words {
	return Words{packed: packed{min: word, n: uint32(n)}, n: uint32(n), layout: layoutPacked}
}

// Constant returns the word of all rows, if the layout shows that they have the same.
func (w *Words) Constant() (word uint64, ok bool) {
	return w.packed.min, w.form == nil && w.packed.width == 0 && w.n > 0
}

func inPacked(p packed) Words {
	w := Words{layout: layoutPacked, n: p.n, packed: p}
	if p.width == 64 {
		w.layout = layoutPlain
	}
	return w
}

func ofBlocks(b *blocks) Words {
	return Words{layout: layoutBlocks + layout(b.order), n: uint32(b.n), form: &form{blocks: b}}
}

func smaller(a, b Words) Words {
	if b.Size() < a.Size() {
		return b
	}
	return a
}

// Len returns the number of words.
func (w *Words) Len() int { return int(w.n) }

// Layout returns the name of the words' layout in memory.
func (w *Words) Layout() string { return w.layout.String() }

// At returns word i; it panics unless 0 <= i < Len. It is O(1) in the plain and packed layouts and O(log
// runs) in runs, and decodes up to 128 words in blocks. To read a sequence, use Append or a Cursor.
func (w *Words) At(i int) uint64 {
	if uint(i) >= uint(w.n) {
		panic("encoding: row out of range")
	}
	switch w.layout {
	case layoutPlain, layoutPacked:
		return w.packed.at(i)
	case layoutRuns:
		return w.form.runs.at(i)
	case layoutSparse:
		return w.form.sparse.at(i)
	case layoutLookup:
		return w.form.lookup.at(i)
	default:
		return w.form.blocks.at(i)
	}
}

// Append appends the words of rows [lo, hi) to dst; it panics unless 0 <= lo <= hi <= Len. It costs 1 to 3
// ns per word. It allocates only to grow dst and, in the lookup layout, to decode a table in blocks.
func (w *Words) Append(dst []uint64, lo, hi int) []uint64 {
	if lo < 0 || lo > hi || hi > int(w.n) {
		panic("encoding: rows out of range")
	}
	switch w.layout {
	case layoutPlain, layoutPacked:
		return w.packed.appendTo(dst, lo, hi)
	case layoutRuns:
		return w.form.runs.appendTo(dst, lo, hi)
	case layoutSparse:
		return w.form.sparse.appendTo(dst, lo, hi)
	case layoutLookup:
		return w.form.lookup.appendTo(dst, lo, hi)
	default:
		return w.form.blocks.appendTo(dst, lo, hi)
	}
}

// appendFlat is Append for words from inBlocks.
func (w *Words) appendFlat(dst []uint64, lo, hi int) []uint64 {
	if w.form == nil {
		return w.packed.appendTo(dst, lo, hi)
	}
	return w.form.blocks.appendTo(dst, lo, hi)
}

// Size returns the bytes that the words hold on the heap, without the Words value itself.
func (w *Words) Size() int {
	switch w.layout {
	case layoutPlain, layoutPacked:
		return w.packed.size()
	case layoutRuns:
		return formSize + w.form.runs.size()
	case layoutSparse:
		return formSize + w.form.sparse.size()
	case layoutLookup:
		return formSize + w.form.lookup.size()
	default:
		return formSize + w.form.blocks.size()
	}
}

// Cursor walks words from front to back as runs of equal neighbours. It is not safe for concurrent use.
type Cursor struct {
	words *Words
	row   int      // the next row
	run   int      // runs layout: the next run
	buf   []uint64 // words read ahead, from row on
	mem   []uint64 // memory of buf
	table []uint64 // lookup layout: the decoded table
}

// Cursor returns a cursor before the first word. The cursor allocates its buffers on first
// use, at most two.
func (w *Words) Cursor() Cursor { return Cursor{words: w} }

// Reset places the cursor before the first word of w. It keeps its buffer.
func (c *Cursor) Reset(w *Words) { *c = Cursor{words: w, mem: c.mem} }

// Next returns the next word and the number of consecutive rows that have it, or 0 rows at the end. A run may
// be split. It costs 2 to 4 ns per word, less if runs are long.
func (c *Cursor) Next() (word uint64, rows int) {
	w := c.words
	switch {
	case c.row == w.Len():
		return 0, 0
	case w.form == nil && w.packed.width == 0:
		rows = w.Len() - c.row
		c.row = w.Len()
		return w.packed.min, rows
	case w.layout == layoutRuns:
		return c.nextRun()
	}
	if len(c.buf) == 0 {
		c.fill(w, c.row)
	}
	return c.equalRun(c.buf[0])
}

// fill reads the next words.
func (c *Cursor) fill(w *Words, at int) {
	if c.mem == nil {
		c.mem = make([]uint64, 0, blockLen)
	}
	if w.layout != layoutLookup {
		c.buf = w.Append(c.mem, at, min(at+blockLen, w.Len()))
		return
	}
	l := w.form.lookup
	if c.table == nil { // once, not for each piece
		c.table = l.decode()
	}
	c.buf = l.ordinals.Append(c.mem, at, min(at+blockLen, w.Len()))
	for i, ordinal := range c.buf {
		c.buf[i] = c.table[ordinal]
	}
}

// equalRun returns the first word of the buffer, and the number of equal words from there.
func (c *Cursor) equalRun(word uint64) (uint64, int) {
	rows := 1
	for rows < len(c.buf) && c.buf[rows] == word {
		rows++
	}
	c.row += rows
	c.buf = c.buf[rows:]
	return word, rows
}

// nextRun is Next for the runs layout, which reads one value per run.
func (c *Cursor) nextRun() (word uint64, rows int) {
	r := c.words.form.runs
	if len(c.buf) == 0 {
		c.fill(&r.values, c.run)
	}
	word, c.buf = c.buf[0], c.buf[1:]
	end := int(r.ends.at(c.run))
	rows = end - c.row
	c.run++
	c.row = end
	return word, rows
}
