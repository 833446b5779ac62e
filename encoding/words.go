package encoding

// Layout is how the words of one column lie in memory.
type Layout uint8

// The layouts; the package comment draws them.
const (
	LayoutPlain Layout = iota
	LayoutPacked
	LayoutRuns
	LayoutBlocks
	LayoutRises
	LayoutChanges
	LayoutBends
	LayoutSliced
	LayoutSparse
	LayoutLookup
)

var layoutNames = [...]string{"plain", "packed", "runs", "blocks", "rises", "changes", "bends", "sliced", "sparse", "lookup"}

// String returns the name of the layout.
func (l Layout) String() string { return layoutNames[l] }

// Words is an immutable sequence of 64-bit words in one of the layouts. The
// zero Words is empty. Reading is safe for any number of goroutines.
type Words struct {
	packed packed // plain (with a width of 64) and packed
	form   *form  // the others
	n      uint32
	layout Layout
}

// form is one of the layouts that packed is not.
type form struct {
	runs   *runs
	blocks *blocks
	sparse *sparse
	lookup *lookup
}

const formSize = 32

// Encode builds the words of a column. The encoding names the layouts to try
// beside packed; the smallest is taken, as far as a sample of the blocks and the
// number of runs tell, so a column that does not repeat never pays for a wish that it
// would. The caller keeps words.
//
// It costs 10 to 30 ns a word and allocates about the size of the result, twice
// that and the words again for a moment. Pack is for what will not be kept long.
func Encode(e Encoding, words []uint64) Words {
	switch e {
	case DictionaryRLE, RLE:
		return encode(words, true, asIs, rises)
	case Delta:
		return encode(words, false, rises, changes, bends)
	}
	return encode(words, false, asIs, changes)
}

// EncodeOrdinals is Encode of words that a Lookup takes its table's by, as DictionaryRLE has
// it but for blocks of words as they are: those lie in slices, of which Bits takes half the
// time or less and Append 0.2 ns a word more, and may take a quarter more than others.
func EncodeOrdinals(words []uint64) Words { return encode(words, true, rises, sliced) }

// encode tries some orders of blocks and, if words may repeat, runs.
func encode(words []uint64, repeats bool, orders ...order) Words {
	p := planOf(words)
	if p.width == 0 {
		return inPacked(p)
	}
	zeros, runs := count(words)
	var best Words
	if repeats && 8*runs < len(words) {
		best = inRuns(words) // nothing else comes near
	} else {
		best = flat(p, words, orders)
		if repeats && 2*runs < len(words) {
			best = smaller(best, inRuns(words))
		}
	}
	if zeros > len(words)/4 {
		best = smaller(best, Words{layout: LayoutSparse, n: uint32(len(words)), form: &form{sparse: sparseOf(words)}})
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

// inBlocks returns words in the smaller of packed and any kind of blocks: for what is
// inside of another layout.
func inBlocks(words []uint64) Words {
	return flat(planOf(words), words, []order{asIs, rises, changes})
}

func inRuns(words []uint64) Words {
	return Words{layout: LayoutRuns, n: uint32(len(words)), form: &form{runs: runsOf(words)}}
}

// count returns how many words are 0, and how many differ from the one before.
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

// Pack appends to dst the words of some columns in the packed layout, all in one
// allocation. 3 to 6 ns a word: for what will not be kept long.
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

// Constant returns n words that are all the same. It allocates nothing.
func Constant(word uint64, n int) Words {
	return Words{packed: packed{min: word, n: uint32(n)}, n: uint32(n), layout: LayoutPacked}
}

// Constant returns the word that all words are, if its layout says so.
func (w *Words) Constant() (word uint64, ok bool) {
	return w.packed.min, w.form == nil && w.packed.width == 0 && w.n > 0
}

func inPacked(p packed) Words {
	w := Words{layout: LayoutPacked, n: p.n, packed: p}
	if p.width == 64 {
		w.layout = LayoutPlain
	}
	return w
}

func ofBlocks(b *blocks) Words {
	return Words{layout: LayoutBlocks + Layout(b.order), n: uint32(b.n), form: &form{blocks: b}}
}

func smaller(a, b Words) Words {
	if b.Size() < a.Size() {
		return b
	}
	return a
}

// Len returns the number of words.
func (w *Words) Len() int { return int(w.n) }

// Layout returns how the words lie in memory.
func (w *Words) Layout() Layout { return w.layout }

// At returns word i; it panics unless 0 <= i < Len. O(1) in the plain and packed
// layouts, O(log runs) in runs, up to 128 words are read in those of blocks: read
// sequences with Append or a Cursor.
func (w *Words) At(i int) uint64 {
	if uint(i) >= uint(w.n) {
		panic("encoding: row out of range")
	}
	switch w.layout {
	case LayoutPlain, LayoutPacked:
		return w.packed.at(i)
	case LayoutRuns:
		return w.form.runs.at(i)
	case LayoutSparse:
		return w.form.sparse.at(i)
	case LayoutLookup:
		return w.form.lookup.at(i)
	default:
		return w.form.blocks.at(i)
	}
}

// Append appends the words of rows [lo, hi) to dst and returns it; it panics
// unless 0 <= lo <= hi <= Len. 1 to 3 ns a word. It allocates nothing but what dst lacks
// and, of the lookup layout, a table that lies in blocks.
func (w *Words) Append(dst []uint64, lo, hi int) []uint64 {
	if lo < 0 || lo > hi || hi > int(w.n) {
		panic("encoding: rows out of range")
	}
	switch w.layout {
	case LayoutPlain, LayoutPacked:
		return w.packed.appendTo(dst, lo, hi)
	case LayoutRuns:
		return w.form.runs.appendTo(dst, lo, hi)
	case LayoutSparse:
		return w.form.sparse.appendTo(dst, lo, hi)
	case LayoutLookup:
		return w.form.lookup.appendTo(dst, lo, hi)
	default:
		return w.form.blocks.appendTo(dst, lo, hi)
	}
}

// appendFlat is Append of what inBlocks made.
func (w *Words) appendFlat(dst []uint64, lo, hi int) []uint64 {
	if w.form == nil {
		return w.packed.appendTo(dst, lo, hi)
	}
	return w.form.blocks.appendTo(dst, lo, hi)
}

// Size returns the bytes that the words hold on the heap, without the Words
// value itself.
func (w *Words) Size() int {
	switch w.layout {
	case LayoutPlain, LayoutPacked:
		return w.packed.size()
	case LayoutRuns:
		return formSize + w.form.runs.size()
	case LayoutSparse:
		return formSize + w.form.sparse.size()
	case LayoutLookup:
		return formSize + w.form.lookup.size()
	default:
		return formSize + w.form.blocks.size()
	}
}

// Cursor walks words from front to back as runs of equal neighbours. It
// belongs to one goroutine.
type Cursor struct {
	words *Words
	row   int      // the next row
	run   int      // of the runs layout: the next one
	buf   []uint64 // of the rows [row, ...) what was read already
	mem   []uint64 // where it is
	table []uint64 // of the lookup layout: decoded
}

// Cursor returns a cursor that stands before the first word. It allocates what it reads
// into, at most twice.
func (w *Words) Cursor() Cursor { return Cursor{words: w} }

// Reset stands the cursor before the first of other words; what it has allocated it
// keeps.
func (c *Cursor) Reset(w *Words) { *c = Cursor{words: w, mem: c.mem} }

// Next returns the next word and how many rows in a row have it, or 0 rows at
// the end. A run may come in pieces. 2 to 4 ns a word, less where runs are long.
func (c *Cursor) Next() (word uint64, rows int) {
	w := c.words
	switch {
	case c.row == w.Len():
		return 0, 0
	case w.form == nil && w.packed.width == 0:
		rows = w.Len() - c.row
		c.row = w.Len()
		return w.packed.min, rows
	case w.layout == LayoutRuns:
		return c.nextRun()
	}
	if len(c.buf) == 0 {
		c.fill(w, c.row)
	}
	return c.take(c.buf[0])
}

// fill reads the next words.
func (c *Cursor) fill(w *Words, at int) {
	if c.mem == nil {
		c.mem = make([]uint64, 0, blockLen)
	}
	if w.layout != LayoutLookup {
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

// take returns the word at the front of what was read, with those equal to it.
func (c *Cursor) take(word uint64) (uint64, int) {
	rows := 1
	for rows < len(c.buf) && c.buf[rows] == word {
		rows++
	}
	c.row += rows
	c.buf = c.buf[rows:]
	return word, rows
}

// nextRun is Next of the runs layout: what is read is a value a run.
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
