package iceberg

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/iceberg-go"
)

// coded is rows of any of the tables in memory, a column after the other, as codes of texts. It keeps each value as it was read.
type coded struct {
	texts   *texts
	columns []codedColumn
	rows    int
	memory  int // bytes of texts and sets
}

// codedColumn has the values of one column.
type codedColumn struct {
	name    string
	kind    columnKind
	codes   []uint32 // by row: a text's code or a set's, plus 1; 0 is null. Not of numbers
	numbers []int64  // of kindNumber
	valid   []bool   // of kindNumber
	sets    *sets    // of the kinds behind kindBinary
	// The text that the last row had, because rows are sorted, mostly.
	last     string
	lastCode uint32
}

// columnKind is a kind of values that this package writes.
type columnKind int

const (
	kindNone      columnKind = iota // another one
	kindNumber                      // of 64 bits, or a time
	kindText                        //
	kindBinary                      //
	kindList                        // of texts
	kindMap                         // of texts by text
	kindNumberMap                   // of numbers by text
)

// kindOf returns the kind of values of a type.
func kindOf(t iceberg.Type) columnKind {
	text, long := iceberg.Type(iceberg.PrimitiveTypes.String), iceberg.Type(iceberg.PrimitiveTypes.Int64)
	switch t := t.(type) {
	case *iceberg.ListType:
		if t.Element == text {
			return kindList
		}
		return kindNone
	case *iceberg.MapType:
		switch {
		case t.KeyType == text && t.ValueType == text:
			return kindMap
		case t.KeyType == text && t.ValueType == long:
			return kindNumberMap
		}
		return kindNone
	}
	switch t {
	case long, iceberg.PrimitiveTypes.TimestampTz:
		return kindNumber
	case text:
		return kindText
	case iceberg.PrimitiveTypes.Binary:
		return kindBinary
	}
	return kindNone
}

// codedFields returns the columns of a table that coded rows can have, and the names of the others. Lists and maps of other engines can be
// null, which the writer has no levels for, so they are among the others.
func codedFields(s, own *iceberg.Schema) (fields *iceberg.Schema, others []string) {
	var known []iceberg.NestedField
	for _, f := range s.Fields() {
		kind := kindOf(f.Type)
		if _, isOwn := own.FindFieldByName(f.Name); kind == kindNone || kind > kindBinary && !isOwn {
			others = append(others, f.Name)
			continue
		}
		known = append(known, f)
	}
	return iceberg.NewSchema(s.ID, known...), others
}

// newCoded returns no rows with the columns of codedFields.
func newCoded(fields *iceberg.Schema) *coded {
	c := &coded{}
	for _, f := range fields.Fields() {
		c.columns = append(c.columns, codedColumn{name: f.Name, kind: kindOf(f.Type)})
	}
	c.reset()
	return c
}

// reset removes all rows, and forgets all texts.
func (c *coded) reset() {
	c.texts, c.rows, c.memory = newTexts(), 0, 0
	for i := range c.columns {
		of := &c.columns[i]
		of.codes, of.numbers, of.valid, of.last, of.lastCode = of.codes[:0], of.numbers[:0], of.valid[:0], "", 0
		if of.kind > kindBinary {
			of.sets = newSets()
		}
	}
}

// column returns a column by its name, nil if there is none.
func (c *coded) column(name string) *codedColumn {
	for i := range c.columns {
		if c.columns[i].name == name {
			return &c.columns[i]
		}
	}
	return nil
}

// size returns about the bytes that the rows take.
func (c *coded) size() int {
	row := 4 // its place in the order
	for i := range c.columns {
		row += 4
		if c.columns[i].kind == kindNumber {
			row += 8 + 1 - 4
		}
	}
	return c.rows*row + c.memory
}

// truncate removes the rows from a number on.
func (c *coded) truncate(rows int) {
	for i := range c.columns {
		of := &c.columns[i]
		if of.kind == kindNumber {
			of.numbers, of.valid = of.numbers[:rows], of.valid[:rows]
		} else {
			of.codes = of.codes[:rows]
		}
	}
	c.rows = rows
}

// move copies rows to an earlier place.
func (c *coded) move(to, from, n int) {
	for i := range c.columns {
		of := &c.columns[i]
		if of.kind == kindNumber {
			copy(of.numbers[to:], of.numbers[from:from+n])
			copy(of.valid[to:], of.valid[from:from+n])
		} else {
			copy(of.codes[to:], of.codes[from:from+n])
		}
	}
}

// bytesMark is before bytes that are no text, among the texts. No text begins with it.
const bytesMark = "\xff"

// textBytes is about the memory of a text beside its bytes: in a map and a list.
const textBytes = 64

// text returns the code of a text, or of bytes. The error is ErrRecord for a text that is not valid, because it could not be written as it is.
func (c *coded) text(s string, isText bool) (uint32, error) {
	if !isText {
		s = bytesMark + s
	}
	code, ok := c.texts.codes[s]
	if isText && (strings.HasPrefix(s, bytesMark) || !ok && !utf8.ValidString(s)) {
		return 0, fmt.Errorf("%w: text %.100q is no valid UTF-8", ErrRecord, s)
	}
	if ok {
		return code, nil
	}
	return c.add(strings.Clone(s)), nil
}

// add adds a new text.
func (c *coded) add(s string) uint32 {
	code := uint32(len(c.texts.all))
	c.texts.codes[s] = code
	c.texts.all = append(c.texts.all, s)
	c.memory += len(s) + textBytes
	return code
}

// restart removes the rows before one, and forgets all texts that the others do not have. The columns are neither lists nor maps.
func (c *coded) restart(from int) {
	all, columns, rows := c.texts.all, slices.Clone(c.columns), c.rows-from
	for i := range columns {
		of := &columns[i]
		if of.kind == kindNumber {
			of.numbers, of.valid = slices.Clone(of.numbers[from:]), slices.Clone(of.valid[from:])
		} else {
			of.codes = slices.Clone(of.codes[from:])
		}
	}
	c.reset()
	c.rows = rows
	for i := range columns {
		of, kept := &c.columns[i], &columns[i]
		of.numbers, of.valid = append(of.numbers, kept.numbers...), append(of.valid, kept.valid...)
		for _, code := range kept.codes {
			if code > 0 {
				text := all[code-1]
				known, ok := c.texts.codes[text]
				if !ok {
					known = c.add(text)
				}
				code = known + 1
			}
			of.codes = append(of.codes, code)
		}
	}
}

// sets gives each distinct list, or map, of a column a code, from 0 on in the order of first use.
type sets struct {
	codes map[uint64]uint32 // by the hash of what was read, or a free number behind it
	items []uint32          // of all sets: codes of texts; of maps those of a name and a value, or the name's and a number's halves
	ends  []int
}

func newSets() *sets { return &sets{codes: map[uint64]uint32{}} }

// of returns a set's items.
func (s *sets) of(code uint32) []uint32 {
	from := 0
	if code > 0 {
		from = s.ends[code-1]
	}
	return s.items[from:s.ends[code]]
}

// find returns the code of the set with a hash that is the same. If there is none, the set gets the returned place.
func (s *sets) find(hash uint64, same func(items []uint32) bool) (code uint32, place uint64, ok bool) {
	for {
		code, has := s.codes[hash]
		if !has {
			return 0, hash, false
		}
		if same(s.of(code)) {
			return code, hash, true
		}
		hash++
	}
}

// add ends a set, whose items were appended, at a place from find.
func (s *sets) add(place uint64) uint32 {
	code := uint32(len(s.ends))
	s.ends = append(s.ends, len(s.items))
	s.codes[place] = code
	return code
}

// storeOrder are the columns that order rows, as the store's key does, but names for ids. Of a store's row the type comes first.
var storeOrder = slices.Concat(typeColumns, []string{"labels", columnStack, columnStackID, columnTimeNanos, columnSampleText, columnSampleNum})

// sorted returns the numbers of all rows in the order of storeOrder. Columns that the table lacks are left out.
func (c *coded) sorted() []uint32 {
	ranks := c.texts.ranks()
	var keys []func(a, b uint32) int
	for _, name := range storeOrder {
		of := c.column(name)
		switch {
		case of == nil:
		case of.kind == kindNumber:
			keys = append(keys, func(a, b uint32) int { return cmp.Compare(of.numbers[a], of.numbers[b]) })
		default:
			codes := ranks
			if of.sets != nil {
				codes = of.sets.ranks(ranks, of.kind)
			}
			rank := func(row uint32) uint32 { // null is first
				if of.codes[row] == 0 {
					return 0
				}
				return codes[of.codes[row]-1] + 1
			}
			keys = append(keys, func(a, b uint32) int { return cmp.Compare(rank(a), rank(b)) })
		}
	}
	rows := numbered(c.rows)
	slices.SortFunc(rows, func(a, b uint32) int {
		for _, key := range keys {
			if d := key(a, b); d != 0 {
				return d
			}
		}
		return cmp.Compare(a, b)
	})
	return rows
}

// numbered returns the numbers from 0 up to n.
func numbered(n int) []uint32 {
	all := make([]uint32, n)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

// ranks returns by code the place of each text among all in their order.
func (t *texts) ranks() []uint32 {
	return ranked(len(t.all), func(a, b uint32) int { return strings.Compare(t.all[a], t.all[b]) })
}

// ranks returns by code the place of each set among all: by their texts' ranks, and numbers as they are.
func (s *sets) ranks(texts []uint32, kind columnKind) []uint32 {
	return ranked(len(s.ends), func(a, b uint32) int {
		x, y := s.of(a), s.of(b)
		for i := range min(len(x), len(y)) {
			d := 0
			if kind == kindNumberMap && i%3 != 0 {
				d = cmp.Compare(x[i], y[i])
			} else {
				d = cmp.Compare(texts[x[i]], texts[y[i]])
			}
			if d != 0 {
				return d
			}
		}
		return cmp.Compare(len(x), len(y))
	})
}

// ranked returns the place of each of n things in their order.
func ranked(n int, compare func(a, b uint32) int) []uint32 {
	all := numbered(n)
	slices.SortFunc(all, compare)
	places := make([]uint32, n)
	for place, i := range all {
		places[i] = uint32(place)
	}
	return places
}

// mixed mixes a number into a hash.
func mixed(hash, n uint64) uint64 {
	hi, lo := bits.Mul64(hash^n, 0x9e3779b97f4a7c15)
	return hi ^ lo
}
