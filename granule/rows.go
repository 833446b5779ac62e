package granule

import (
	"bytes"
	"slices"
	"sort"
	"sync"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Rows is a batch's rows in one bucket, coded and sorted. An insert's parts are built from sub-ranges of
// it. It is not safe for concurrent use.
type Rows struct {
	frame frame
	coder coder
	keys  []uint64 // in order; the lower half of a key is the row in the frame
	mem   slab
	key   []byte
	fresh freshBuilder
}

var rowsPool = sync.Pool{New: func() any { return new(Rows) }}

// Code translates rows in a checked batch into codes of gen and sorts them. All rows must belong to the
// bucket. The only error is a full dictionary. Entries added before the error stay in the dictionary,
// unused. Done releases the memory of the rows.
//
// It costs a dictionary look-up for each string, and for each list that is not the same slice as its
// predecessor. Lists given as codes need no look-up. Rows are sorted by series and leading list as integers,
// which suffices for a profile's rows.
func Code(s *schema.Schema, gen *Generation, bucket int64, b *schema.Batch, columns []schema.Concrete, rows []int32) (*Rows, error) {
	r := rowsPool.Get().(*Rows)
	r.coder = coder{schema: s, gen: gen, batch: b, rows: rows, mem: &r.mem, full: gen.isFull(), scratch: r.coder.scratch, codes: r.coder.codes, lists: r.coder.lists}
	c, f := &r.coder, &r.frame
	*f = frame{schema: s, gen: gen, bucket: bucket, series: f.series[:0], columns: f.columns[:0], suffix: f.suffix[:0]}
	var err error
	if f.series, f.one, err = c.series(f.series, columns); err != nil {
		return nil, err
	}
	for i := range columns {
		if s.IsSeries(columns[i].Column) {
			continue
		}
		fc, err := c.column(&columns[i])
		if err != nil {
			return nil, err
		}
		f.columns = append(f.columns, fc)
	}
	r.keys = f.sorted(&r.mem)
	return r, nil
}

// Done releases the memory of the coded rows, which must not be used afterwards. Parts built from them stay
// valid.
func (r *Rows) Done() {
	r.keys = nil
	r.mem.reset()
	clear(r.frame.columns) // drops the references to the batch
	r.frame.gen, r.frame.schema = nil, nil
	r.fresh.done()
	clear(r.coder.lists) // for the same reason
	r.coder = coder{scratch: r.coder.scratch, codes: r.coder.codes, lists: r.coder.lists[:0]}
	rowsPool.Put(r)
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.keys) }

// Key returns a row's key in sorted order, valid until the next call.
func (r *Rows) Key(i int) []byte {
	r.key = r.frame.appendKey(r.key[:0], rowOf(r.keys[i]))
	return r.key
}

// Search returns the first row at or after lo whose key is at least bound.
func (r *Rows) Search(lo int, bound string) int {
	return lo + sort.Search(r.Len()-lo, func(i int) bool { return string(r.Key(lo+i)) >= bound })
}

// Part builds a part of the rows [lo, hi) in sorted order.
func (r *Rows) Part(lo, hi int) *Part {
	return r.fresh.build(&r.frame, r.keys[lo:hi], &r.mem)
}

// seriesRanks appends the rank of each row's series. A profile's rows have one series.
func (f *frame) seriesRanks(dst []uint64) []uint64 {
	var codes []uint32 // without equal neighbours
	for i, code := range f.series {
		if i > 0 && code != f.series[i-1] {
			codes = append(codes, code)
		}
		dst = append(dst, 0)
	}
	if len(codes) == 0 {
		return dst
	}
	rank := rankSeries(f.gen, append(codes, f.series[0]))
	for i, code := range f.series {
		if i > 0 && code == f.series[i-1] {
			dst[i] = dst[i-1]
		} else {
			dst[i] = uint64(rank(code))
		}
	}
	return dst
}

// keyColumn is a key column, with its type.
type keyColumn struct {
	*frameColumn
	t encoding.Type
}

// varying returns the suffix's columns, from column `from` on, in which keys of the frame's rows can
// differ. They are in the order of frame.compare, because two rows in a frame have the same columns in a
// family.
func (f *frame) varying(from int) []keyColumn {
	var columns []keyColumn
	for _, column := range f.schema.Suffix()[from:] {
		for i := range f.columns {
			if c := &f.columns[i]; c.column == column && !c.constant {
				columns = append(columns, keyColumn{c, f.schema.Columns()[column].Type})
			}
		}
	}
	return columns
}

// coder turns plain values into words.
type coder struct {
	schema  *schema.Schema
	gen     *Generation
	batch   *schema.Batch
	rows    []int32 // rows of the batch to code; nil: all
	mem     *slab
	full    bool // gen takes no more strings
	scratch []byte
	codes   []uint32      // codes of lists
	lists   [][]uuid.UUID // scratch for lists of the batch
}

// n returns the number of rows. row returns the i-th row of the batch.
func (c *coder) n() int {
	if c.rows == nil {
		return c.batch.Rows
	}
	return len(c.rows)
}

func (c *coder) row(i int) int {
	if c.rows == nil {
		return i
	}
	return int(c.rows[i])
}

// fewLabels is the number of labels in a series that fit on the stack.
const fewLabels = 32

// series returns the series code of each row. Neighbours usually have the same series. Most batches have only
// labels with one value for all rows, and therefore one series.
func (c *coder) series(codes []uint32, columns []schema.Concrete) (all []uint32, one bool, err error) {
	codes = slices.Grow(codes, c.n())[:c.n()]
	if c.batch.Series != 0 {
		for i := range codes {
			codes[i] = c.batch.Series
		}
		return codes, true, nil
	}
	var few, fewVarying [fewLabels]*schema.Concrete
	parts, varying := few[:0], fewVarying[:0]
	for i := range columns {
		if c.schema.IsSeries(columns[i].Column) {
			parts = append(parts, &columns[i])
			if columns[i].Values.Len() > 1 {
				varying = append(varying, &columns[i])
			}
		}
	}
	slices.SortStableFunc(parts, func(a, b *schema.Concrete) int {
		return slices.Index(c.schema.Series(), a.Column) - slices.Index(c.schema.Series(), b.Column)
	})
	if len(codes) > 0 && len(varying) == 0 {
		code, err := c.tuple(parts, c.row(0))
		for i := range codes {
			codes[i] = code
		}
		return codes, true, err
	}
	one = true
	for i := range codes {
		row := c.row(i)
		if i > 0 && c.sameSeries(varying, c.row(i-1), row) {
			codes[i] = codes[i-1]
			continue
		}
		code, err := c.tuple(parts, row)
		if err != nil {
			return nil, false, err
		}
		codes[i] = code
		one = one && code == codes[0]
	}
	return codes, one, nil
}

// InternSeries returns the code of the series of checked columns with one value each.
func InternSeries(s *schema.Schema, gen *Generation, columns []schema.Concrete) (uint32, error) {
	c := coder{schema: s, gen: gen, batch: &schema.Batch{Rows: 1}}
	codes, _, err := c.series(nil, columns)
	if err != nil {
		return 0, err
	}
	return codes[0], nil
}

func (c *coder) sameSeries(parts []*schema.Concrete, a, b int) bool {
	for _, p := range parts {
		x, y := p.At(a), p.At(b)
		if p.Values.Null(x) != p.Values.Null(y) || p.Values.Strings[x] != p.Values.Strings[y] {
			return false
		}
	}
	return true
}

func (c *coder) tuple(parts []*schema.Concrete, row int) (uint32, error) {
	var few [fewLabels]schema.SeriesValue
	labels := few[:0]
	for _, p := range parts {
		if !p.Null(row, c.schema.Columns()[p.Column].Dynamic) {
			labels = append(labels, schema.SeriesValue{Column: p.Column, Name: p.Name, Value: p.Values.Strings[p.At(row)]})
		}
	}
	c.scratch = c.schema.AppendTuple(c.scratch[:0], labels)
	return c.gen.Series.Intern(c.scratch)
}

// column codes a column outside the series tuple. A single value for all rows is coded once.
func (c *coder) column(in *schema.Concrete) (frameColumn, error) {
	column := c.schema.Columns()[in.Column]
	out := frameColumn{column: in.Column, name: in.Name, constant: in.Values.Len() == 1}
	n := c.n()
	if out.constant {
		n = 1
	}
	if v := &in.Values; v.Type == encoding.Int64 && v.Valid == nil && (c.rows == nil || out.constant) {
		out.words = encoding.Int64Words(v.Int64s)
		return out, nil
	}
	out.words = c.mem.room(n)[:n]
	switch {
	case column.Type == encoding.UUIDList:
		return out, c.listWords(in, &out)
	case column.Type.Fixed():
		c.fixed(in, &out)
		return out, nil
	case column.Type == encoding.UUID && !column.Encoding.Coded():
		c.ids(in, &out)
		return out, nil
	}
	out.plain = column.Type == encoding.String && column.Encoding.Coded() && c.full && !c.knows(in)
	word := c.bytesFunc(column, in, &out)
	for i := range out.words {
		out.words[i] = 0 // the slab's memory is not cleared
		row := c.row(i)
		if in.Null(row, column.Dynamic) {
			continue
		}
		var err error
		if out.words[i], err = word(in.At(row)); err != nil {
			return out, err
		}
	}
	return out, nil
}

// knows reports whether the dictionary has all values of a column of coded strings.
func (c *coder) knows(in *schema.Concrete) bool {
	if in.Values.Len() == 1 {
		return c.knowsAt(in, 0)
	}
	for i := range c.n() {
		if !c.knowsAt(in, c.row(i)) {
			return false
		}
	}
	return true
}

func (c *coder) knowsAt(in *schema.Concrete, row int) bool {
	if in.Null(row, true) {
		return true
	}
	c.scratch = append(c.scratch[:0], in.Values.Strings[in.At(row)]...)
	return c.gen.Strings.Find(c.scratch) != 0
}

func (c *frameColumn) setNull(row int) {
	if c.valid == nil {
		c.valid = slices.Repeat([]bool{true}, len(c.words))
	}
	c.valid[row] = false
}

// fixed makes fixed-type words.
func (c *coder) fixed(in *schema.Concrete, out *frameColumn) {
	v := &in.Values
	for i := range out.words {
		switch at := in.At(c.row(i)); {
		case v.Null(at):
			out.words[i] = 0
			out.setNull(i)
		case v.Type == encoding.Int64:
			out.words[i] = encoding.FromInt64(v.Int64s[at])
		case v.Type == encoding.Uint64:
			out.words[i] = v.Uint64s[at]
		case v.Type == encoding.Float64:
			out.words[i] = encoding.FromFloat64(v.Float64s[at])
		default:
			out.words[i] = encoding.FromBool(v.Bools[at])
		}
	}
}

// ids makes words for a plain column's UUIDs. A word is an index in the batch's values, which parts copy
// before the caller gets the batch back.
func (c *coder) ids(in *schema.Concrete, out *frameColumn) {
	v := &in.Values
	ids := v.UUIDs
	out.ids, out.bytes = ids, func(w uint64) []byte { return ids[w-1][:] }
	if v.Valid == nil && c.rows == nil {
		for i := range out.words {
			out.words[i] = uint64(i + 1)
		}
		return
	}
	for i := range out.words {
		out.words[i] = 0 // the slab's memory is not cleared
		if at := in.At(c.row(i)); !v.Null(at) {
			out.words[i] = uint64(at + 1)
		}
	}
}

// bytesFunc returns a function from the index of an element of in, a string or UUID column, to its word,
// and sets the inverse in out. Words are codes or, for a plain column of strings, ordinals of values that
// the frame stores.
func (c *coder) bytesFunc(column schema.Column, in *schema.Concrete, out *frameColumn) func(i int) (uint64, error) {
	value := func(i int) []byte { return in.Values.UUIDs[i][:] }
	if column.Type == encoding.String {
		value = func(i int) []byte {
			c.scratch = append(c.scratch[:0], in.Values.Strings[i]...)
			return c.scratch
		}
	}
	if column.Encoding.Coded() && !out.plain {
		dict := c.gen.spec(column).Dict
		out.bytes = func(w uint64) []byte { return dict.Value(uint32(w)) }
		return func(i int) (uint64, error) {
			code, err := dict.Intern(value(i))
			return uint64(code), err
		}
	}
	var own [][]byte
	out.bytes = func(w uint64) []byte { return own[w-1] }
	return func(i int) (uint64, error) {
		own = append(own, bytes.Clone(value(i)))
		return uint64(len(own)), nil
	}
}

// listWords makes words for lists. Codes are used as they are. Lists of ids are looked up together for
// the whole batch.
func (c *coder) listWords(in *schema.Concrete, out *frameColumn) error {
	v := &in.Values
	if v.Codes != nil {
		c.listCodes(in, out)
		return nil
	}
	lists := v.UUIDLists
	if c.rows != nil || v.Valid != nil || v.Offsets != nil {
		clear(c.lists) // lists of the previous column
		lists = c.lists[:0]
		for i := range out.words {
			if at := in.At(c.row(i)); !v.Null(at) {
				lists = append(lists, v.List(at))
			}
		}
		c.lists = lists
	}
	codes, err := c.gen.Lists.InternLists(c.codes[:0], lists)
	if err != nil {
		return err
	}
	c.codes = codes
	if c.rows == nil && v.Valid == nil {
		for i, code := range codes {
			out.words[i] = uint64(code)
		}
		return c.records()
	}
	for i := range out.words {
		out.words[i] = 0
		if !v.Null(in.At(c.row(i))) {
			out.words[i], codes = uint64(codes[0]), codes[1:]
		}
	}
	return c.records()
}

// listCodes makes words for list codes.
func (c *coder) listCodes(in *schema.Concrete, out *frameColumn) {
	v := &in.Values
	if c.rows == nil && v.Valid == nil {
		for i, code := range v.Codes {
			out.words[i] = uint64(code)
		}
		return
	}
	for i := range out.words {
		out.words[i] = 0
		if at := in.At(c.row(i)); !v.Null(at) {
			out.words[i] = uint64(v.Codes[at])
		}
	}
}

// records stores the batch's records beside the elements in its lists.
func (c *coder) records() error {
	for id, record := range c.batch.Records {
		if err := c.gen.Lists.KeepRecord(id, record); err != nil {
			return err
		}
	}
	return nil
}
