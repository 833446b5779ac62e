package granule

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Rows is the rows of one batch that fall into one bucket, coded and sorted:
// what the parts of an insert are cut from. It belongs to one goroutine.
type Rows struct {
	frame *frame
	order []rowRef
	key   []byte
}

// Code puts rows of a checked batch into codes of gen and sorts them. All rows
// must be of the given bucket. The only errors are those of a full dictionary;
// entries that were added by then stay in it, unused.
//
// Cost: a dictionary look-up for each string and for each element of a list
// that the batch does not repeat by reference, then a sort by key.
func Code(s *schema.Schema, gen *Generation, bucket int64, columns []schema.Concrete, rows []int32, records map[uuid.UUID][]byte) (*Rows, error) {
	c := coder{schema: s, gen: gen, rows: rows, records: records}
	f := &frame{schema: s, gen: gen, bucket: bucket}
	var err error
	if f.series, err = c.series(columns); err != nil {
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
	return &Rows{frame: f, order: f.sorted(len(rows))}, nil
}

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.order) }

// Key returns the key of a row in sorted order, valid until the next call.
func (r *Rows) Key(i int) []byte {
	r.key = r.frame.appendKey(r.key[:0], int(r.order[i].row))
	return r.key
}

// Search returns the first row at or after lo whose key is not below bound.
func (r *Rows) Search(lo int, bound string) int {
	return lo + sort.Search(r.Len()-lo, func(i int) bool { return string(r.Key(lo+i)) >= bound })
}

// Part builds a part of the rows [lo, hi) in sorted order.
func (r *Rows) Part(lo, hi int) *Part { return build([]*frame{r.frame}, r.order[lo:hi]) }

// sorted returns the rows in key order. The series of a batch are few, so they
// are ranked once and compared by rank.
func (f *frame) sorted(n int) []rowRef {
	distinct := slices.Clone(f.series)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	slices.SortFunc(distinct, func(a, b uint32) int {
		return bytes.Compare(f.gen.Series.Value(a), f.gen.Series.Value(b))
	})
	rank := make(map[uint32]int, len(distinct))
	for i, code := range distinct {
		rank[code] = i
	}
	type sortKey struct {
		rank   int
		suffix []byte
	}
	keys := make([]sortKey, n)
	order := make([]rowRef, n)
	var arena []byte
	for i := range keys {
		start := len(arena)
		arena = f.appendSuffix(arena, i)
		keys[i] = sortKey{rank[f.series[i]], arena[start:len(arena):len(arena)]}
		order[i].row = int32(i)
	}
	slices.SortFunc(order, func(a, b rowRef) int {
		x, y := &keys[a.row], &keys[b.row]
		return cmp.Or(x.rank-y.rank, bytes.Compare(x.suffix, y.suffix), int(a.row-b.row))
	})
	return order
}

// coder turns plain values into words.
type coder struct {
	schema  *schema.Schema
	gen     *Generation
	rows    []int32 // rows of the batch that are wanted
	records map[uuid.UUID][]byte
	scratch []byte
}

// series returns the series code of each row. Neighbours mostly share theirs,
// and a batch whose labels stand for all rows has one.
func (c *coder) series(columns []schema.Concrete) ([]uint32, error) {
	var parts []*schema.Concrete
	constant := true
	for _, column := range c.schema.Series() {
		for i := range columns {
			if columns[i].Column == column {
				parts = append(parts, &columns[i])
				constant = constant && columns[i].Values.Len() == 1
			}
		}
	}
	codes := make([]uint32, len(c.rows))
	for i, row := range c.rows {
		if i > 0 && (constant || c.sameSeries(parts, c.rows[i-1], row)) {
			codes[i] = codes[i-1]
			continue
		}
		code, err := c.tuple(parts, int(row))
		if err != nil {
			return nil, err
		}
		codes[i] = code
	}
	return codes, nil
}

func (c *coder) sameSeries(parts []*schema.Concrete, a, b int32) bool {
	for _, p := range parts {
		x, y := p.At(int(a)), p.At(int(b))
		if p.Values.Null(x) != p.Values.Null(y) || p.Values.Strings[x] != p.Values.Strings[y] {
			return false
		}
	}
	return true
}

func (c *coder) tuple(parts []*schema.Concrete, row int) (uint32, error) {
	labels := make([]schema.Label, 0, len(parts))
	for _, p := range parts {
		if !p.Null(row, c.schema.Columns()[p.Column].Dynamic) {
			labels = append(labels, schema.Label{Column: p.Column, Name: p.Name, Value: p.Values.Strings[p.At(row)]})
		}
	}
	c.scratch = c.schema.AppendTuple(c.scratch[:0], labels)
	return c.gen.Series.Intern(c.scratch)
}

// column codes one column outside of the series tuple.
func (c *coder) column(in *schema.Concrete) (frameColumn, error) {
	column := c.schema.Columns()[in.Column]
	out := frameColumn{column: in.Column, name: in.Name, words: make([]uint64, len(c.rows))}
	word := c.wordFunc(column, in, &out)
	for i, row := range c.rows {
		switch {
		case in.Null(int(row), column.Dynamic):
			if column.Type.Fixed() {
				out.setNull(i)
			}
		case i > 0 && in.Values.Len() == 1:
			out.words[i] = out.words[0]
		default:
			var err error
			if out.words[i], err = word(in.At(int(row))); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func (c *frameColumn) setNull(row int) {
	if c.valid == nil {
		c.valid = slices.Repeat([]bool{true}, len(c.words))
	}
	c.valid[row] = false
}

// wordFunc returns what makes the word of an element of in, and sets how out
// gives back the bytes of a word.
func (c *coder) wordFunc(column schema.Column, in *schema.Concrete, out *frameColumn) func(i int) (uint64, error) {
	v := &in.Values
	switch column.Type {
	case encoding.Int64:
		return func(i int) (uint64, error) { return encoding.FromInt64(v.Int64s[i]), nil }
	case encoding.Uint64:
		return func(i int) (uint64, error) { return v.Uint64s[i], nil }
	case encoding.Float64:
		return func(i int) (uint64, error) { return encoding.FromFloat64(v.Float64s[i]), nil }
	case encoding.Bool:
		return func(i int) (uint64, error) { return encoding.FromBool(v.Bools[i]), nil }
	case encoding.UUIDList:
		return c.listFunc(v.UUIDLists)
	case encoding.UUID:
		return c.bytesFunc(column, out, func(i int) []byte { return v.UUIDs[i][:] })
	default:
		return c.bytesFunc(column, out, func(i int) []byte {
			c.scratch = append(c.scratch[:0], v.Strings[i]...)
			return c.scratch
		})
	}
}

// bytesFunc makes words of strings and UUIDs: codes, or for a plain column the
// ordinals of values that the frame keeps itself.
func (c *coder) bytesFunc(column schema.Column, out *frameColumn, value func(i int) []byte) func(i int) (uint64, error) {
	if column.Encoding.Coded() {
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

// listFunc makes words of lists. Rows of one batch often share a list (the
// sample types of one sample): a list seen before by reference costs a look-up.
func (c *coder) listFunc(lists [][]uuid.UUID) func(i int) (uint64, error) {
	type ref struct {
		first *uuid.UUID
		n     int
	}
	known := map[ref]uint32{}
	elements := map[uuid.UUID]uint32{}
	var codes []uint32
	return func(i int) (uint64, error) {
		list := lists[i]
		r := ref{n: len(list)}
		if r.n > 0 {
			r.first = &list[0]
		}
		if code, ok := known[r]; ok {
			return uint64(code), nil
		}
		codes = codes[:0]
		for _, id := range list {
			code, ok := elements[id]
			if !ok {
				var err error
				if code, err = c.gen.Lists.InternElement(id, c.records[id]); err != nil {
					return 0, err
				}
				elements[id] = code
			}
			codes = append(codes, code)
		}
		code, err := c.gen.Lists.InternList(codes)
		known[r] = code
		return uint64(code), err
	}
}
