package granule

import (
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// frame is rows in working form, between batches and parts: columns as words,
// one a row. What is inserted is coded into a frame, what is merged is decoded
// into one, and build makes parts of either.
type frame struct {
	schema  *schema.Schema
	gen     *Generation
	bucket  int64
	series  []uint32 // code in gen.Series, one a row
	columns []frameColumn
	suffix  []int // where in columns each of Schema.Suffix is, or would be
}

// frameColumn is one concrete column outside of the series tuple. Columns of a
// frame are in schema order, concrete dynamic columns by name.
type frameColumn struct {
	column int
	name   string
	words  []uint64
	valid  []bool                // fixed types; nil: all rows have a value
	bytes  func(w uint64) []byte // strings and UUIDs: the value of a word
}

func (c *frameColumn) isNull(t encoding.Type, row int) bool {
	if t.Fixed() {
		return c.valid != nil && !c.valid[row]
	}
	return c.words[row] == 0
}

// frameOf decodes rows of a part: 1 to 3 ns and 8 bytes a row and column.
func frameOf(s *schema.Schema, p *Part, lo, hi int) *frame {
	return frameOfColumns(s, p, p.columns, lo, hi)
}

// frameOfColumns decodes some columns of rows of a part.
func frameOfColumns(s *schema.Schema, p *Part, columns []Column, lo, hi int) *frame {
	f := &frame{schema: s, gen: p.gen, bucket: p.bucket, series: make([]uint32, 0, hi-lo)}
	for _, w := range p.series.Append(nil, lo, hi) {
		f.series = append(f.series, uint32(w))
	}
	for _, c := range columns {
		fc := frameColumn{column: c.Index, name: c.Name, bytes: c.Bytes}
		fc.words = c.Words().Append(make([]uint64, 0, hi-lo), lo, hi)
		if c.Type().Fixed() && c.Nulls() {
			fc.valid = c.AppendValid(make([]bool, 0, hi-lo), lo, hi)
		}
		f.columns = append(f.columns, fc)
	}
	return f
}

// appendKey appends the key of a row (package schema draws it).
func (f *frame) appendKey(dst []byte, row int) []byte {
	dst = f.schema.AppendBucket(dst, f.bucket)
	dst = append(dst, f.gen.Series.Value(f.series[row])...)
	return f.appendSuffix(dst, row)
}

// findSuffix looks the columns of the key up, once all are there.
func (f *frame) findSuffix() {
	f.suffix = make([]int, len(f.schema.Suffix()))
	for i, column := range f.schema.Suffix() {
		f.suffix[i], _ = slices.BinarySearchFunc(f.columns, column, func(fc frameColumn, column int) int {
			return fc.column - column
		})
	}
}

// appendSuffix appends the part of a row's key behind the series tuple.
func (f *frame) appendSuffix(dst []byte, row int) []byte {
	if f.suffix == nil {
		f.findSuffix()
	}
	for i, column := range f.schema.Suffix() {
		c, first := &f.schema.Columns()[column], f.suffix[i]
		if !c.Dynamic {
			if first == len(f.columns) || f.columns[first].column != column || f.columns[first].isNull(c.Type, row) {
				dst = schema.AppendNull(dst)
			} else {
				dst = f.columns[first].appendValue(schema.AppendPresent(dst), c.Type, row)
			}
			continue
		}
		for k := first; k < len(f.columns) && f.columns[k].column == column; k++ {
			if fc := &f.columns[k]; !fc.isNull(c.Type, row) {
				dst = fc.appendValue(schema.AppendName(dst, fc.name), c.Type, row)
			}
		}
		dst = schema.AppendNull(dst)
	}
	return dst
}

func (c *frameColumn) appendValue(dst []byte, t encoding.Type, row int) []byte {
	if t == encoding.String || t == encoding.UUID {
		return schema.AppendBytes(dst, c.bytes(c.words[row]))
	}
	return schema.AppendWord(dst, t, c.words[row])
}

// rowRef names a row of one of several frames.
type rowRef struct{ frame, row int32 }

// build makes a part of the given rows, which must be in key order (G2). All
// frames are of one bucket and generation. Columns without a value are left
// out of the part.
func build(frames []*frame, order []rowRef) *Part {
	f := frames[0]
	p := &Part{gen: f.gen, bucket: f.bucket, rows: len(order)}
	series := make([]uint64, len(order))
	for i, r := range order {
		series[i] = uint64(frames[r.frame].series[r.row])
	}
	p.series = encoding.Encode(encoding.DictionaryRLE, series)
	sources := make([]*frameColumn, len(frames))
	for _, key := range unionColumns(frames) {
		for i, f := range frames {
			sources[i] = f.find(key)
		}
		if column := buildColumn(f, key, sources, order); column != nil {
			p.columns = append(p.columns, Column{key.column, key.name, column})
		}
	}
	p.seal(f.schema)
	return p
}

// buildColumn gathers one column; nil if it has no value.
func buildColumn(f *frame, key columnKey, sources []*frameColumn, order []rowRef) *encoding.Column {
	c := f.schema.Columns()[key.column]
	b := encoding.NewBuilder(f.gen.spec(c), len(order))
	plainBytes := !c.Type.Fixed() && !c.Encoding.Coded()
	values := 0
	for _, r := range order {
		source := sources[r.frame]
		if source == nil || source.isNull(c.Type, int(r.row)) {
			b.Null()
			continue
		}
		values++
		if word := source.words[r.row]; plainBytes {
			b.Bytes(source.bytes(word))
		} else {
			b.Word(word)
		}
	}
	if values == 0 {
		return nil
	}
	return b.Build()
}

type columnKey struct {
	column int
	name   string
}

func (k columnKey) compare(column int, name string) int {
	if k.column != column {
		return k.column - column
	}
	switch {
	case k.name < name:
		return -1
	case k.name > name:
		return 1
	}
	return 0
}

// find returns the column of the frame, or nil.
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
		for _, c := range f.columns {
			if key := (columnKey{c.column, c.name}); !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	slices.SortFunc(keys, func(a, b columnKey) int { return a.compare(b.column, b.name) })
	return keys
}
