package columnstore

import (
	"slices"
	"sync"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
)

// mask says which rows of a stretch are chosen: all or none of them, or those
// with their bit set.
type mask struct {
	all  bool
	bits []bool // nil: all decides
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
		for i := range m.bits {
			m.bits[i] = !m.bits[i]
		}
		return m
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
			for i, b := range m.bits {
				if b == or {
					out.bits[i] = or
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
		return mask{all: l.testSeries(gen, r.series)}
	case l.series:
		return l.mask(p.Series(), r, func(word uint64) bool { return l.testSeries(gen, uint32(word)) })
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
	if l.op == opElement {
		words := l.work.read(column.Words(), r)
		return l.listsOf(gen).mask(l.work.bools(len(words)), words)
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
	known := l.known[gen]
	if len(known) <= most {
		known = append(known, make([]truth, most+1-len(known)+most/8)...)
		l.known[gen] = known
	}
	return known
}

// mask tests the words of a stretch, those of a table once each.
func (l *leaf) mask(words *encoding.Words, r *stretch, test func(uint64) bool) mask {
	if word, ok := words.Constant(); ok {
		return mask{all: test(word)}
	}
	if table, ordinals := words.Lookup(); table != nil {
		results := l.ofTable(table, test)
		if l.tableAlike {
			return mask{all: results[0]}
		}
		rows := l.work.read(ordinals, r)
		bits := l.work.bools(len(rows))
		for i, ordinal := range rows {
			bits[i] = results[ordinal]
		}
		return mask{bits: bits}
	}
	rows := l.work.read(words, r)
	bits := l.work.bools(len(rows))
	result, differ := false, false
	for i, word := range rows {
		if i == 0 || word != rows[i-1] {
			was := result
			result = test(word)
			differ = differ || i > 0 && result != was
		}
		bits[i] = result
	}
	if !differ {
		return mask{all: result}
	}
	return mask{bits: bits}
}

// maskOfNullable tests the words of the rows of a stretch that have one.
func (l *leaf) maskOfNullable(column *encoding.Column, r *stretch) mask {
	bits := column.AppendValid(l.work.bools(r.hi - r.lo)[:0], r.lo, r.hi)
	rows := l.work.read(column.Words(), r)
	tested, result := -1, false // the last row with a value, and what its word gave
	for i, word := range rows {
		if !bits[i] {
			bits[i] = l.null
			continue
		}
		if tested < 0 || word != rows[tested] {
			result = l.word(word)
		}
		bits[i], tested = result, i
	}
	return mask{bits: bits}
}

// ofTable returns what the test says of the words of a part's table, of which it is asked
// for each stretch.
func (l *leaf) ofTable(table *encoding.Words, test func(uint64) bool) []bool {
	if l.table == table { // held, so that no other part's is at its place
		return l.ofWords
	}
	l.table, l.ofWords = table, l.ofWords[:0]
	for _, word := range l.work.read(table, &stretch{hi: table.Len()}) {
		l.ofWords = append(l.ofWords, test(word))
	}
	l.tableAlike = !slices.Contains(l.ofWords, !l.ofWords[0])
	return l.ofWords
}

// filterWork is what the leaves of a filter work with.
type filterWork struct {
	words  []uint64
	series encoding.Cursor // of the chooser, as walk
	walk   walk
	slab   []bool
	used   int // of slab, by the stretch at hand
	// stop says whether the query was cancelled; who finds that it was sets stopped, and
	// says anything then.
	stop    func() bool
	stopped bool

	columns    func(*granule.Generation) *granule.SeriesColumns
	manySeries func(*granule.Generation) bool // can hold: a share of all
}

var filterWorks = sync.Pool{New: func() any { return new(filterWork) }}

// read returns the words of a stretch, good until the next call.
func (w *filterWork) read(words *encoding.Words, r *stretch) []uint64 {
	w.words = words.Append(w.words[:0], r.lo, r.hi)
	return w.words
}

// bools returns n of any value, good for the stretch at hand.
func (w *filterWork) bools(n int) []bool {
	if w.used+n > len(w.slab) {
		w.slab, w.used = make([]bool, 2*(w.used+n)), 0
	}
	w.used += n
	return w.slab[w.used-n : w.used : w.used]
}
