package arrowconv

import (
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/bitutil"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
)

// column collects the rows of one field.
type column struct {
	field    Field
	typ      arrow.DataType
	n        int
	validity validity
	words    buffer      // fixed types: the values; coded: uint32 indexes
	values   values      // plain strings and UUIDs
	dict     *dictionary // coded; else nil
}

func newColumn(mem memory.Allocator, f Field) column {
	c := column{field: f, typ: f.dataType(), words: buffer{mem: mem}, values: newValues(mem, f.Type)}
	c.validity.bits.mem = mem
	if f.coded() {
		c.dict = newDictionary(mem, f.Type)
	}
	return c
}

// appendWords appends rows read from an encoded column.
func (c *column) appendWords(from *encoding.Column, words []uint64, valid []bool) error {
	if from.Type() != c.field.Type {
		return fmt.Errorf("rows of type %v, want %v", from.Type(), c.field.Type)
	}
	if valid != nil && len(valid) != len(words) {
		return fmt.Errorf("%d words and %d valid flags", len(words), len(valid))
	}
	switch {
	case c.dict != nil:
		return c.appendCoded(from, words, valid)
	case c.field.Type.Fixed():
		c.appendFixed(words, valid)
		return nil
	default:
		return c.appendPlain(from, words, valid)
	}
}

func (c *column) appendCoded(from *encoding.Column, words []uint64, valid []bool) error {
	c.dict.follow(from)
	indexes := c.appendIndexes(len(words))
	var lastWord uint64 // rows often repeat the row before
	var lastIndex uint32
	for i, w := range words {
		switch {
		case w == 0 || valid != nil && !valid[i]:
			indexes[i] = 0
			c.validity.null(c.n + i)
			continue
		case w != lastWord:
			local, err := c.dict.local(from, w)
			if err != nil {
				return err
			}
			lastWord, lastIndex = w, local
		}
		indexes[i] = lastIndex
	}
	c.n += len(words)
	return nil
}

// appendIndexes makes room for the indexes of n rows.
func (c *column) appendIndexes(n int) []uint32 {
	return arrow.Uint32Traits.CastFromBytes(c.words.grow(4 * n))
}

// appendFixed appends values that are their own words, which are the values of
// an Arrow buffer too, but for bools.
func (c *column) appendFixed(words []uint64, valid []bool) {
	if c.field.Type == encoding.Bool {
		bits := c.growBits(len(words))
		for i, w := range words {
			bitutil.SetBitTo(bits, c.n+i, w != 0)
		}
	} else {
		copy(arrow.Uint64Traits.CastFromBytes(c.words.grow(8*len(words))), words)
	}
	for i, ok := range valid {
		if !ok {
			c.validity.null(c.n + i)
		}
	}
	c.n += len(words)
}

// growBits makes room for the bits of n more bools and returns all of them.
func (c *column) growBits(n int) []byte {
	missing := int(bitutil.BytesForBits(int64(c.n+n))) - len(c.words.bytes())
	clear(c.words.grow(missing))
	return c.words.bytes()
}

func (c *column) appendPlain(from *encoding.Column, words []uint64, valid []bool) error {
	c.values.reserve(len(words))
	for i, w := range words {
		if w == 0 || valid != nil && !valid[i] {
			if err := c.appendEmpty(); err != nil {
				return err
			}
			continue
		}
		if err := c.values.append(from.Bytes(w)); err != nil {
			return err
		}
		c.n++
	}
	return nil
}

// appendEmpty appends a null row to a plain column.
func (c *column) appendEmpty() error {
	var zero [uuidLen]byte
	empty := zero[:0]
	if c.field.Type == encoding.UUID {
		empty = zero[:]
	}
	c.validity.null(c.n)
	c.n++
	return c.values.append(empty)
}

// repeat appends n rows with one string.
func (c *column) repeat(value string, n int) error {
	switch {
	case c.field.Type != encoding.String:
		return fmt.Errorf("a string repeated in rows of type %v", c.field.Type)
	case n < 0:
		return fmt.Errorf("%d rows", n)
	case n == 0:
		return nil
	case c.dict == nil:
		c.values.reserve(n)
		for range n {
			if err := c.values.append([]byte(value)); err != nil {
				return err
			}
		}
		c.n += n
		return nil
	}
	c.dict.findByValue()
	local, err := c.dict.add([]byte(value))
	if err != nil {
		return err
	}
	indexes := c.appendIndexes(n)
	for i := range indexes {
		indexes[i] = local
	}
	c.n += n
	return nil
}

// nulls appends n rows without a value.
func (c *column) nulls(n int) error {
	switch {
	case n < 0:
		return fmt.Errorf("%d rows", n)
	case c.dict != nil:
		clear(c.words.grow(4 * n))
	case c.field.Type == encoding.Bool:
		c.growBits(n)
	case c.field.Type.Fixed():
		clear(c.words.grow(8 * n))
	default:
		c.values.reserve(n)
		for range n {
			if err := c.appendEmpty(); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range n {
		c.validity.null(c.n + i)
	}
	c.n += n
	return nil
}

// take hands over the rows as array data and empties the column. The caller
// releases the result.
func (c *column) take() *array.Data {
	n := c.n
	c.n = 0
	bits, nulls := c.validity.take(n)
	switch {
	case c.dict != nil:
		dict := c.dict.take()
		defer dict.Release()
		indexes := c.words.take()
		defer release(bits, indexes)
		return array.NewDataWithDictionary(c.typ, n, []*memory.Buffer{bits, indexes}, nulls, 0, dict)
	case c.field.Type.Fixed():
		return newData(c.typ, n, nulls, bits, c.words.take())
	default:
		return c.values.take(bits, nulls)
	}
}

// reset drops the rows.
func (c *column) reset() {
	c.n = 0
	c.validity.release()
	c.words.release()
	c.values.release()
	if c.dict != nil {
		c.dict.reset()
	}
}
