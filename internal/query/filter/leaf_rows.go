package filter

import (
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
)

// eval returns the open rows for which the leaf holds.
func (l *leaf) eval(p *granule.Part, r *openRows) mask {
	gen := p.Generation()
	switch {
	case l.series && !r.mixed:
		return mask{all: l.testSeries(gen, l.work.columns(gen), r.series)}
	case l.series:
		set := l.matchingSeries(gen, l.work.columns(gen))
		return l.mask(p.Series(), r, func(word uint64) bool { return set.Has(uint32(word)) })
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

// ofCode returns the test of a column of dictionary codes. It caches the results.
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

// memo returns the cache by code for a generation, with room for codes up to most.
func (l *leaf) memo(gen *granule.Generation, most int) []truth {
	known := l.knownOf(gen)
	if n := len(known.codes); n <= most {
		known.codes = append(known.codes, make([]truth, most+1-n+most/8)...)
	}
	return known.codes
}

// mask tests the words of open rows. It tests each word of a table once, and equal neighbours once.
func (l *leaf) mask(words *encoding.Words, r *openRows, test func(uint64) bool) mask {
	if word, ok := words.Constant(); ok {
		return mask{all: test(word)}
	}
	if table, ordinals := words.Lookup(); table != nil {
		of := l.ofTable(table, test)
		if l.tableAlike {
			return mask{all: of[0] != 0}
		}
		bits := l.work.bits(r.hi - r.lo)
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

// maskOfNullable tests the words of open rows that have a value.
func (l *leaf) maskOfNullable(column *encoding.Column, r *openRows) mask {
	l.work.valid = column.AppendValid(l.work.valid[:0], r.lo, r.hi)
	valid, rows := l.work.valid, l.work.read(column.Words(), r)
	tested, result := -1, false // the last row with a value, and the result for its word
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

// ofTable returns the test's results, 1 or 0, for each word of a table. It caches the results of the last
// table, because a part is usually evaluated in several steps.
func (l *leaf) ofTable(table *encoding.Words, test func(uint64) bool) []byte {
	if l.table == table { // l.table keeps the table alive, so its address is not reused
		return l.ofWords
	}
	l.table, l.ofWords = table, l.ofWords[:0]
	for _, word := range l.work.read(table, &openRows{hi: table.Len()}) {
		l.ofWords = append(l.ofWords, byte(encoding.FromBool(test(word))))
	}
	l.tableAlike = !slices.Contains(l.ofWords, l.ofWords[0]^1)
	return l.ofWords
}

func (l *leaf) listsOf(gen *granule.Generation) *ListFilter {
	f := l.lists[gen]
	if f == nil {
		f = ElementCondition{l.element, l.work}.Of(gen.Lists)
		if l.work.manySeries(gen) {
			f.looked = f.lists.Len()
		}
		l.lists[gen] = f
	}
	return f
}

// openRows is a range [lo, hi) of rows whose series does not decide the condition. They are evaluated
// together.
type openRows struct {
	lo, hi int
	series uint32 // the series of all rows, unless mixed
	mixed  bool
}

func (r *openRows) extend(lo, hi int, series uint32) {
	if r.hi == r.lo {
		*r = openRows{lo, hi, series, false}
		return
	}
	r.hi, r.mixed = hi, r.mixed || series != r.series
}

// manyRows is the number of rows in a series from which on they are evaluated apart from other series.
// Conditions on series columns are then not evaluated row by row.
const manyRows = 256
