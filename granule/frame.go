package granule

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// frame is rows in working form, between batches and parts: columns with a word for each row. An insert
// codes its rows into a frame, a merge decodes parts into frames, and parts are built from frames.
type frame struct {
	schema  *schema.Schema
	gen     *Generation
	bucket  int64
	series  []uint32 // code in gen.Series, by row
	columns []frameColumn
	suffix  []int // for each column of Schema.Suffix its index in columns, or its insertion point

	// For fresh parts:
	one   bool // all rows have one series
	keyed bool // the upper half of a sorted key is the word of the leading list
}

// frameColumn is a concrete column outside the series tuple. The columns in a frame are in schema order,
// concrete dynamic columns by name.
type frameColumn struct {
	column   int
	name     string
	words    []uint64              // by row, unless constant or ordinals is set
	constant bool                  // all rows have word 0
	ordinals []uint64              // if not nil, row i has word ordinals[i]
	valid    []bool                // fixed types: like words; nil: all rows have a value
	bytes    func(w uint64) []byte // strings and UUIDs: returns the value of a word
	ids      []uuid.UUID           // for a plain column of a batch: the value of word w is ids[w-1]
	plain    bool                  // strings: words are ordinals of values of this frame, whatever the schema says
}

// wordIndex returns the index of a row's word in words.
func (c *frameColumn) wordIndex(row int) int {
	switch {
	case c.constant:
		return 0
	case c.ordinals != nil:
		return int(c.ordinals[row])
	}
	return row
}

func (c *frameColumn) word(row int) uint64 { return c.words[c.wordIndex(row)] }

func (c *frameColumn) isNull(t encoding.Type, row int) bool {
	if t.Fixed() {
		return c.valid != nil && !c.valid[c.wordIndex(row)]
	}
	return c.word(row) == 0
}

// frameOf decodes rows of a part. It costs 1 to 3 ns and 8 bytes per row and column, in memory of the slab.
func frameOf(s *schema.Schema, p *Part, lo, hi int, mem *slab) *frame {
	columns := p.Columns()
	f := &frame{schema: s, gen: p.gen, bucket: p.bucket, series: make([]uint32, 0, hi-lo), columns: make([]frameColumn, 0, len(columns))}
	row := 0
	for cursor := p.series.Cursor(); row < hi; {
		word, n := cursor.Next()
		for range min(row+n, hi) - max(row, lo) {
			f.series = append(f.series, uint32(word))
		}
		row += n
	}
	var shared *encoding.Words // the most recently decoded ordinals
	var ordinals []uint64
	for i := range columns {
		c := &columns[i]
		fc := frameColumn{column: c.Index, name: c.Name, bytes: c.Bytes, plain: c.Type() == encoding.String && c.Dict() == nil}
		if word, ok := c.Words().Constant(); ok && !c.Nulls() {
			fc.words, fc.constant = mem.one(word), true
		} else if table, by := c.Words().Lookup(); table != nil {
			if by != shared {
				shared, ordinals = by, by.Append(mem.room(hi-lo), lo, hi)
			}
			fc.words, fc.ordinals = table.Append(mem.room(table.Len()), 0, table.Len()), ordinals
		} else {
			fc.words = c.Words().Append(mem.room(hi-lo), lo, hi)
			if c.Type().Fixed() && c.Nulls() {
				fc.valid = c.AppendValid(make([]bool, 0, hi-lo), lo, hi)
			}
		}
		f.columns = append(f.columns, fc)
	}
	return f
}

// appendKey appends the key of a row (see the layout in package schema).
func (f *frame) appendKey(dst []byte, row int) []byte {
	dst = f.schema.AppendBucket(dst, f.bucket)
	dst = append(dst, f.gen.Series.Value(f.series[row])...)
	for i := range f.schema.Suffix() {
		dst = f.appendSuffixColumn(dst, i, row)
	}
	return dst
}

// findSuffix looks up the key's columns after the frame is complete.
func (f *frame) findSuffix() {
	for _, column := range f.schema.Suffix() {
		at, _ := slices.BinarySearchFunc(f.columns, column, func(fc frameColumn, column int) int {
			return fc.column - column
		})
		f.suffix = append(f.suffix, at)
	}
}

// suffixColumn returns the frame's column for the i-th column of the key's suffix, or nil. For a family it
// returns the first column.
func (f *frame) suffixColumn(i int) *frameColumn {
	if len(f.suffix) == 0 {
		f.findSuffix()
	}
	at := f.suffix[i]
	if at == len(f.columns) || f.columns[at].column != f.schema.Suffix()[i] {
		return nil
	}
	return &f.columns[at]
}

// appendSuffixColumn appends a row's value in a suffix column, or its values in a family.
func (f *frame) appendSuffixColumn(dst []byte, i, row int) []byte {
	column := f.schema.Suffix()[i]
	c, fc := &f.schema.Columns()[column], f.suffixColumn(i)
	if !c.Dynamic {
		if fc == nil || fc.isNull(c.Type, row) {
			return schema.AppendNull(dst)
		}
		return appendValue(schema.AppendPresent(dst), c.Type, fc.word(row), fc.bytes)
	}
	if fc != nil {
		for k := f.suffix[i]; k < len(f.columns) && f.columns[k].column == column; k++ {
			if fc := &f.columns[k]; !fc.isNull(c.Type, row) {
				dst = appendValue(schema.AppendName(dst, fc.name), c.Type, fc.word(row), fc.bytes)
			}
		}
	}
	return schema.AppendNull(dst)
}

func appendValue(dst []byte, t encoding.Type, word uint64, bytes func(word uint64) []byte) []byte {
	if t == encoding.String || t == encoding.UUID {
		return schema.AppendBytes(dst, bytes(word))
	}
	return schema.AppendWord(dst, t, word)
}

// compare compares the suffixes of two rows' keys, from column `from` on, without building the keys.
func (f *frame) compare(row int, g *frame, other, from int) int {
	for i := from; i < len(f.schema.Suffix()); i++ {
		if c := f.compareColumn(i, row, g, other); c != 0 {
			return c
		}
	}
	return 0
}

func (f *frame) compareColumn(i, row int, g *frame, other int) int {
	c := &f.schema.Columns()[f.schema.Suffix()[i]]
	a, b := f.suffixColumn(i), g.suffixColumn(i)
	switch {
	case a == nil && b == nil:
		return 0
	case c.Dynamic:
		return compareFamilies(c.Type, f.family(i), row, g.family(i), other)
	}
	return compareWords(c.Type, a, row, b, other)
}

// compareWords compares two rows in columns of the same name. Either column may be missing. Nulls come
// first.
func compareWords(t encoding.Type, a *frameColumn, row int, b *frameColumn, other int) int {
	nullA, nullB := a == nil || a.isNull(t, row), b == nil || b.isNull(t, other)
	switch {
	case nullA && nullB:
		return 0
	case nullA:
		return -1
	case nullB:
		return 1
	}
	x, y := a.word(row), b.word(other)
	switch {
	case t == encoding.String || t == encoding.UUID:
		return bytes.Compare(a.bytes(x), b.bytes(y))
	case x == y:
		return 0
	}
	return cmp.Compare(schema.OrderedWord(t, x), schema.OrderedWord(t, y))
}

// family returns the columns of the i-th column of the suffix, which is a family.
func (f *frame) family(i int) []frameColumn {
	if f.suffixColumn(i) == nil {
		return nil
	}
	from := f.suffix[i]
	to := from + 1
	for to < len(f.columns) && f.columns[to].column == f.columns[from].column {
		to++
	}
	return f.columns[from:to]
}

// compareFamilies compares two rows in a family's columns, by name.
func compareFamilies(t encoding.Type, a []frameColumn, row int, b []frameColumn, other int) int {
	for len(a) > 0 || len(b) > 0 {
		var x, y *frameColumn
		if len(b) == 0 || len(a) > 0 && a[0].name <= b[0].name {
			x = &a[0]
		}
		if len(a) == 0 || len(b) > 0 && b[0].name <= a[0].name {
			y = &b[0]
		}
		if c := compareWords(t, x, row, y, other); c != 0 {
			return c
		}
		if x != nil {
			a = a[1:]
		}
		if y != nil {
			b = b[1:]
		}
	}
	return 0
}

type columnKey struct {
	column int
	name   string
}

func (k columnKey) compare(column int, name string) int {
	if k.column != column {
		return k.column - column
	}
	return cmp.Compare(k.name, name)
}

// find returns the frame's column, or nil.
func (f *frame) find(key columnKey) *frameColumn {
	i, ok := slices.BinarySearchFunc(f.columns, key, func(c frameColumn, key columnKey) int {
		return -key.compare(c.column, c.name)
	})
	if !ok {
		return nil
	}
	return &f.columns[i]
}

// unionColumns returns the columns that any of the frames has, in order.
func unionColumns(frames []*frame) []columnKey {
	seen := map[columnKey]bool{}
	var keys []columnKey
	for _, f := range frames {
		for i := range f.columns {
			if key := (columnKey{f.columns[i].column, f.columns[i].name}); !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	slices.SortFunc(keys, func(a, b columnKey) int { return a.compare(b.column, b.name) })
	return keys
}

// leadingLists returns the column that follows the series in the key if it has lists, or nil.
func (f *frame) leadingLists() *frameColumn {
	if !f.schema.ListsLead() {
		return nil
	}
	return f.suffixColumn(0)
}
