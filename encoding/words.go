package encoding

// Layout is how the words of one column lie in memory.
type Layout uint8

// The layouts; the package comment draws them.
const (
	LayoutPlain Layout = iota
	LayoutPacked
	LayoutRuns
	LayoutDelta
)

var layoutNames = [...]string{"plain", "packed", "runs", "delta"}

// String returns the name of the layout.
func (l Layout) String() string { return layoutNames[l] }

// Words is an immutable sequence of 64-bit words in one of the layouts. The
// zero Words is empty. Reading is safe for any number of goroutines.
type Words struct {
	layout Layout
	n      int
	plain  []uint64
	packed packed
	runs   *runs
	delta  *delta
}

// Encode builds the words of a column. The encoding names the layout to try
// beside packed; the smaller of the two is taken, so a column that does not
// repeat never pays for a wish that it would. The caller keeps words.
//
// It costs a few ns a word and allocates about the size of the result, twice
// that for a moment.
func Encode(e Encoding, words []uint64) Words {
	w := Words{layout: LayoutPacked, n: len(words), packed: pack(words)}
	switch e {
	case RLE, DictionaryRLE:
		if r := runsOf(words); r.size() < w.packed.size() {
			w = Words{layout: LayoutRuns, n: len(words), runs: &r}
		}
	case Delta:
		if d := deltaOf(words); d.size() < w.packed.size() {
			w = Words{layout: LayoutDelta, n: len(words), delta: &d}
		}
	}
	if w.layout == LayoutPacked && w.packed.width == 64 {
		w = Words{layout: LayoutPlain, n: len(words), plain: append([]uint64(nil), words...)}
	}
	return w
}

// Len returns the number of words.
func (w *Words) Len() int { return w.n }

// Layout returns how the words lie in memory.
func (w *Words) Layout() Layout { return w.layout }

// At returns word i; it panics unless 0 <= i < Len. O(1) in the plain and
// packed layouts, O(log runs) in runs, up to 127 additions in delta: read
// sequences with Append or a Cursor.
func (w *Words) At(i int) uint64 {
	if uint(i) >= uint(w.n) {
		panic("encoding: row out of range")
	}
	switch w.layout {
	case LayoutPlain:
		return w.plain[i]
	case LayoutRuns:
		return w.runs.at(i)
	case LayoutDelta:
		return w.delta.at(i)
	default:
		return w.packed.at(i)
	}
}

// Append appends the words of rows [lo, hi) to dst and returns it; it panics
// unless 0 <= lo <= hi <= Len. 1 to 3 ns a word.
func (w *Words) Append(dst []uint64, lo, hi int) []uint64 {
	if lo < 0 || lo > hi || hi > w.n {
		panic("encoding: rows out of range")
	}
	switch w.layout {
	case LayoutPlain:
		return append(dst, w.plain[lo:hi]...)
	case LayoutRuns:
		return w.runs.appendTo(dst, lo, hi)
	case LayoutDelta:
		return w.delta.appendTo(dst, lo, hi)
	}
	for i := lo; i < hi; i++ {
		dst = append(dst, w.packed.at(i))
	}
	return dst
}

// Size returns the bytes that the words hold on the heap, without the Words
// value itself.
func (w *Words) Size() int {
	switch w.layout {
	case LayoutPlain:
		return 8 * cap(w.plain)
	case LayoutRuns:
		return w.runs.size()
	case LayoutDelta:
		return w.delta.size()
	default:
		return w.packed.size()
	}
}

// Cursor walks words from front to back as runs of equal neighbours. It
// belongs to one goroutine.
type Cursor struct {
	words *Words
	row   int
	run   int // runs layout: the next run
	last  uint64
}

// Cursor returns a cursor that stands before the first word.
func (w *Words) Cursor() Cursor { return Cursor{words: w} }

// Next returns the next word and how many rows in a row have it, or 0 rows at
// the end. Runs are whole in the runs layout and may come in pieces in the
// others. O(1).
func (c *Cursor) Next() (word uint64, rows int) {
	w := c.words
	if c.row == w.n {
		return 0, 0
	}
	rows = 1
	switch w.layout {
	case LayoutRuns:
		word = w.runs.values.at(c.run)
		rows = int(w.runs.ends.at(c.run)) - c.row
		c.run++
	case LayoutDelta:
		word = c.last + unzigzag(w.delta.steps.at(c.row))
		if c.row%anchorEvery == 0 {
			word = w.delta.anchors[c.row/anchorEvery]
		}
	case LayoutPlain:
		word = w.plain[c.row]
	default:
		word = w.packed.at(c.row)
		if w.packed.width == 0 {
			rows = w.n - c.row
		}
	}
	c.row += rows
	c.last = word
	return word, rows
}
