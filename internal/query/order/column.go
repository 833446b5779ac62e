package order

import (
	"encoding/binary"
	"fmt"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/schema"
)

// column is a column that orders a scan, with its words in the current rows. A row's value is written as
// bytes that compare like the value:
//
//	null    00
//	value   01, then 8 bytes (fixed types, as Words has them), or as schema.AppendBytes
//
// With Descending all bits of these bytes are flipped. No value is a prefix of another.
type column struct {
	schema.Concrete
	typ    encoding.Type
	series bool
	flip   uint64 // all bits, if descending

	of     *encoding.Column // column of the current part; nil: all rows are null, or the values are labels
	words  []uint64         // by row: words as from Words, codes, or series; empty without a column
	valid  []bool           // by row, for fixed types; nil: all are valid
	loaded bool
}

// newColumns returns an order's columns.
func newColumns(s *schema.Schema, by []By) ([]column, error) {
	var out []column
	for _, o := range by {
		at, ok := s.Resolve(o.Column)
		if !ok {
			return nil, fmt.Errorf("%w: order by %q: no such column", filter.ErrQuery, o.Column)
		}
		c := column{Concrete: schema.Concrete{Column: at, Name: o.Column}, typ: s.Columns()[at].Type, series: s.IsSeries(at)}
		if c.typ == encoding.UUIDList {
			return nil, fmt.Errorf("%w: order by %q: lists have no order", filter.ErrQuery, o.Column)
		}
		if o.Descending {
			c.flip = ^uint64(0)
		}
		out = append(out, c)
	}
	return out, nil
}

// load decodes the words of the chosen rows.
func (c *column) load(s *filter.Selection) {
	if c.loaded {
		return
	}
	c.loaded, c.valid, c.of = true, nil, nil
	if c.series {
		c.words = s.Words(c.words[:0], s.Part.Series())
		return
	}
	if c.of = s.Part.Find(c.Column, c.Name); c.of == nil {
		c.words = c.words[:0]
		return
	}
	c.words = s.Words(c.words[:0], c.of.Words())
	if c.typ.Fixed() {
		Words(c.typ, c.words)
		c.valid = s.Valid(c.of)
	}
}

// null returns the first byte of a null, and present of a value.
func (c *column) null() byte    { return byte(c.flip) }
func (c *column) present() byte { return 1 ^ byte(c.flip) }

// appendValue appends the value of a row of the selection.
func (c *column) appendValue(dst []byte, s *schema.Schema, p *granule.Part, row int) []byte {
	var value []byte
	ok := false
	switch {
	case c.series:
		value, ok = s.TupleValue(p.Generation().Series.Value(uint32(c.words[row])), c.Column, c.Name)
	case c.of == nil:
	case c.typ.Fixed():
		if c.valid == nil || c.valid[row] {
			return binary.BigEndian.AppendUint64(append(dst, c.present()), c.words[row]^c.flip)
		}
	default:
		value, ok = c.of.Bytes(c.words[row]), c.words[row] != 0
	}
	if !ok {
		return append(dst, c.null())
	}
	start := len(dst)
	dst = schema.AppendBytes(append(dst, 1), value)
	for i := range dst[start:] {
		dst[start+i] ^= byte(c.flip)
	}
	return dst
}

// same reports whether rows x and y have the same code or series.
func (c *column) same(x, y int) bool { return len(c.words) == 0 || c.words[x] == c.words[y] }

// next returns the first row, from `row` on, whose value can be at most the value at the start of key, or
// `rows` if there is none. If strict is true, the value must be less.
func (c *column) next(row, rows int, key []byte, strict bool) int {
	switch { // finder.add skips rows of other types by code
	case !c.typ.Fixed():
		return row
	case c.of == nil:
		if c.null() > key[0] || strict && c.null() == key[0] {
			return rows
		}
		return row
	}
	last := uint64(0)
	if key[0] == c.present() {
		last = binary.BigEndian.Uint64(key[1:])
	}
	for ; row < rows; row++ {
		mark, word := c.present(), c.words[row]^c.flip
		if c.valid != nil && !c.valid[row] {
			mark, word = c.null(), 0
		}
		if mark < key[0] || mark == key[0] && (word < last || word == last && !strict) {
			return row
		}
	}
	return rows
}

// By is a column that orders an answer.
type By struct {
	// Column names the column. For a scan it is a concrete column of the table that has no lists. For
	// groups it is a column of Groups.Record that has no lists, such as "labels.pod", "max(value)", "sum"
	// or "count".
	Column string
	// Descending puts the greatest values first. Values are in the order of conditions (Expr),
	// with -0 before 0. Nulls come before all values, and last with Descending.
	Descending bool
}
