package encoding

import (
	"math"

	"github.com/google/uuid"
)

// Column is one immutable, encoded column: words and what they mean. A fixed
// type's word is the value itself (FromInt64 and its like convert); any other
// type's word is a code, 0 for null, whose bytes Bytes or Lists give.
//
// Reading is safe for any number of goroutines.
type Column struct {
	typ     Type
	counts  bool // plain UUIDs: the words that are not 0 are 1, 2, 3 and on
	words   Words
	present *Words    // fixed types: 1 where a row has a value; nil: all have
	dict    *Dict     // coded strings and UUIDs
	lists   *ListDict // lists
	own     *values   // plain strings and UUIDs
}

// values is the bytes of a plain column: the value with code k is
// data[end of k-1:end of k], or without ends one of 16 bytes.
type values struct {
	data   []byte
	ends   packed   // of strings; none of UUIDs
	filter idFilter // of UUIDs, if they are many and will be kept
	index  idIndex  // likewise
}

const idSize = 16 // bytes of a UUID

// NewColumn returns the column of words that are encoded already: values of a fixed
// type, or codes. present says with 1 which rows of a fixed type have a value; nil
// means that all have. The word of one that has none is 0.
func NewColumn(spec Spec, words Words, present *Words) Column {
	c := Column{typ: spec.Type, words: words, present: present}
	if spec.Encoding.Coded() { // a plain column's codes are its own
		c.dict, c.lists = spec.Dict, spec.Lists
	}
	return c
}

// Type returns the type of the values.
func (c *Column) Type() Type { return c.typ }

// Len returns the number of rows.
func (c *Column) Len() int { return c.words.Len() }

// Words returns the words, one a row; that of a null row of a fixed type is 0.
func (c *Column) Words() *Words { return &c.words }

// Dict returns the dictionary of a coded string or UUID column, else nil.
func (c *Column) Dict() *Dict { return c.dict }

// Lists returns the dictionary of a list column, else nil.
func (c *Column) Lists() *ListDict { return c.lists }

// Null says whether row i has no value.
func (c *Column) Null(i int) bool {
	if c.typ.Fixed() {
		return c.present != nil && c.present.At(i) == 0
	}
	return c.words.At(i) == 0
}

// Nulls says whether any row of a fixed type has no value. Words of other
// types say it themselves: 0 is null.
func (c *Column) Nulls() bool { return c.present != nil }

// AppendValid appends to dst, for each row of [lo, hi), whether it has a value.
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
	if words.layout == LayoutLookup {
		piece = hi - lo // a table in blocks is decoded for each
	}
	for ; lo < hi; lo += piece {
		for _, w := range words.Append(buf[:0], lo, min(lo+piece, hi)) {
			dst = append(dst, w != 0)
		}
	}
	return dst
}

// Bytes returns the value of a word of a string or UUID column, nil for null.
// The bytes must not be changed.
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

// MayHave says whether a row can have an id, by its hash, as its value, as far as a column of
// many UUIDs that keeps them itself has a filter, which is wrong for one id in five hundred; any
// other column says yes. About 10 ns.
func (c *Column) MayHave(id IDHash) bool {
	return c.own == nil || c.own.filter == nil || c.own.filter.mayHave(id)
}

// RowsOf appends the rows whose value is an id to dst, rising, of a column of UUIDs that
// keeps its values itself in the order of the rows, which Builder and NewIDs see to. Of
// another column it says false and appends nothing. 10 ns a row found; and 0.5 ns a value, or
// of a column of many rows 0.1 us for each 256th of the values that has the id or one of about
// eight others.
func (c *Column) RowsOf(dst []int32, id uuid.UUID) (rows []int32, ok bool) {
	if !c.counts {
		return dst, false
	}
	found := len(dst)
	dst = c.own.places(dst, id)
	switch places := dst[found:]; {
	case len(c.own.data) == idSize*c.words.Len(): // no nulls
	case c.words.layout == LayoutSparse:
		c.words.form.sparse.rows(places)
	default:
		c.rows(places)
	}
	return dst, true
}

// rows replaces places of values, rising, by the rows that have them.
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

// ColumnSize is the bytes of a Column itself.
const ColumnSize = 104

// Size returns the bytes that the column holds on the heap, without the Column
// value itself and without what is shared: dictionaries, and the ordinals of the
// lookup layout.
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
