package encoding

import (
	"math"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding/dict"
)

// Spec is a column's type, encoding and dictionary: Dict for coded strings and UUIDs, Lists for lists.
type Spec struct {
	Type     Type
	Encoding Encoding
	Dict     *dict.Values
	Lists    *dict.Lists
}

// Column is an immutable, encoded column: words and their meaning. A word in a fixed type is the value
// itself (FromInt64 and its like convert). In any other type it is a code, 0 for null, whose value Bytes or
// Lists return.
//
// Reading is safe for any number of goroutines.
type Column struct {
	typ     Type
	counts  bool // plain UUIDs: the nonzero words are 1, 2, 3 and so on
	words   Words
	present *Words       // fixed types: 1 where a row has a value; nil if all rows have one
	dict    *dict.Values // coded strings and UUIDs
	lists   *dict.Lists  // lists
	own     *values      // plain strings and UUIDs
}

// NewColumn returns a column of encoded words, which are values of a fixed type, or codes. present has 1
// where a row with a fixed type has a value; nil means that all rows have one. The word of a null row is 0.
func NewColumn(spec Spec, words Words, present *Words) Column {
	c := Column{typ: spec.Type, words: words, present: present}
	if spec.Encoding.Coded() { // a plain column has its own codes
		c.dict, c.lists = spec.Dict, spec.Lists
	}
	return c
}

// Type returns the type of the values.
func (c *Column) Type() Type { return c.typ }

// Len returns the number of rows.
func (c *Column) Len() int { return c.words.Len() }

// Words returns the words, one per row; the word of a null row is 0.
func (c *Column) Words() *Words { return &c.words }

// Dict returns the dictionary of a coded string or UUID column, otherwise nil.
func (c *Column) Dict() *dict.Values { return c.dict }

// Lists returns the dictionary of a list column, otherwise nil.
func (c *Column) Lists() *dict.Lists { return c.lists }

// Null reports whether row i has no value.
func (c *Column) Null(i int) bool {
	if c.typ.Fixed() {
		return c.present != nil && c.present.At(i) == 0
	}
	return c.words.At(i) == 0
}

// Nulls reports whether any row is null in a column with a fixed type. In other columns null is the word 0.
func (c *Column) Nulls() bool { return c.present != nil }

// AppendValid appends to dst whether each row of [lo, hi) has a value.
func (c *Column) AppendValid(dst []bool, lo, hi int) []bool {
	words := c.present
	if !c.typ.Fixed() {
		words = &c.words
	}
	if words == nil {
		for range hi - lo {
			dst = append(dst, true)
		}
		return dst
	}
	var buf [blockLen]uint64
	piece := blockLen
	if words.layout == layoutLookup {
		piece = hi - lo // a table in blocks is decoded for each piece
	}
	for ; lo < hi; lo += piece {
		for _, w := range words.Append(buf[:0], lo, min(lo+piece, hi)) {
			dst = append(dst, w != 0)
		}
	}
	return dst
}

// Bytes returns the value for a word of a string or UUID column, or nil for null. The caller must not change
// the bytes.
func (c *Column) Bytes(word uint64) []byte {
	switch {
	case word == 0:
		return nil
	case c.own == nil:
		return c.dict.Value(uint32(word))
	}
	if c.own.ends.n == 0 {
		return c.own.data[idSize*(word-1) : idSize*word : idSize*word]
	}
	lo, hi := uint64(0), c.own.ends.at(int(word)-1)
	if word > 1 {
		lo = c.own.ends.at(int(word) - 2)
	}
	return c.own.data[lo:hi:hi]
}

// MayHave reports whether the column can have an id, given its hash. Only a plain column of many UUIDs has a
// filter, which is wrong for one in five hundred absent ids; for other columns MayHave returns true. It costs
// about 10 ns.
func (c *Column) MayHave(id IDHash) bool {
	return c.own == nil || c.own.filter == nil || c.own.filter.mayHave(id)
}

// RowsOf appends to dst, in order, the rows that have an id. The column must have plain UUIDs stored in row
// order, as Builder and NewIDs store them; for any other column ok is false and nothing is appended. It costs
// 10 ns per row found, plus 0.5 ns per value or, for many rows, 0.1 us for each 256th of the values that has
// the id or one of about eight other ids.
func (c *Column) RowsOf(dst []int32, id uuid.UUID) (rows []int32, ok bool) {
	if !c.counts {
		return dst, false
	}
	found := len(dst)
	dst = c.own.places(dst, id)
	switch places := dst[found:]; {
	case len(c.own.data) == idSize*c.words.Len(): // no nulls
	case c.words.layout == layoutSparse:
		c.words.form.sparse.rows(places)
	default:
		c.rows(places)
	}
	return dst, true
}

// rows replaces the places of values, in order, with their rows.
func (c *Column) rows(places []int32) {
	cursor := c.words.Cursor()
	for row := 0; len(places) > 0; {
		word, n := cursor.Next()
		if word == uint64(places[0])+1 {
			places[0] = int32(row)
			places = places[1:]
		}
		row += n
	}
}

// ColumnSize is the size of a Column value in bytes.
const ColumnSize = 104

// Size returns the column's bytes on the heap. It excludes the Column value and shared memory: dictionaries,
// and the ordinals of the lookup layout.
func (c *Column) Size() int {
	const words, own = 64, 160
	n := c.words.Size()
	if c.present != nil {
		n += words + c.present.Size()
	}
	if c.own != nil {
		n += own + cap(c.own.data) + c.own.ends.size() + 8*cap(c.own.filter) + c.own.index.size()
	}
	return n
}

// FromInt64 returns the word of an Int64; ToInt64 is its inverse.
func FromInt64(v int64) uint64 { return uint64(v) }

// ToInt64 returns the Int64 of a word.
func ToInt64(word uint64) int64 { return int64(word) }

// FromFloat64 returns the word of a Float64; ToFloat64 is its inverse.
func FromFloat64(v float64) uint64 { return math.Float64bits(v) }

// ToFloat64 returns the Float64 of a word.
func ToFloat64(word uint64) float64 { return math.Float64frombits(word) }

// FromBool returns the word of a Bool: 1 for true.
func FromBool(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}
