package arrowconv

import (
	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/bitutil"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// cells holds a field's values and nulls in the buffers of an Arrow array.
type cells struct {
	of       encoding.Type
	typ      arrow.DataType
	n        int
	validity validity
	words    buffer      // fixed types: the values; coded: uint32 indexes
	values   values      // plain strings, UUIDs and lists
	lists    *listReader // reads plain lists
	dict     *dictionary // for coded fields, otherwise nil
}

func newCells(mem memory.Allocator, form Form, f *Field) cells {
	c := cells{of: f.Type, typ: f.cellType(form), words: buffer{mem: mem}}
	c.validity.bits.mem = mem
	switch {
	case f.coded(form):
		c.dict = newDictionary(mem, form, f)
	case !f.Type.Fixed():
		c.values = newValues(mem, f)
		c.lists = newListReader(mem, form, f)
	}
	return c
}

// follow prepares for words of column `from`, which must have the same type. If records may share lists, most
// is the greatest of these words.
func (c *cells) follow(from *encoding.Column, most uint64) error {
	switch {
	case c.dict != nil:
		if c.dict.shared && !c.dict.mayShare(from.Lists(), most) {
			if err := c.unshare(); err != nil {
				return err
			}
		}
		c.dict.follow(from)
		if c.dict.shared && !c.dict.mayShare(from.Lists(), most) {
			c.dict.shared = false // the list is newer than the shared array
		}
	case c.lists != nil:
		c.lists.follow(from.Lists().View(), from.Lists())
	}
	return nil
}

// followLists prepares for list codes in from.
func (c *cells) followLists(from dict.ListView) error {
	if c.dict == nil {
		c.lists.follow(from, nil)
		return nil
	}
	if c.dict.shared {
		if err := c.unshare(); err != nil {
			return err
		}
	}
	c.dict.followLists(from)
	return nil
}

// unshare gives the current record its own dictionary.
func (c *cells) unshare() error {
	c.dict.shared = false
	for i, index := range arrow.Uint32Traits.CastFromBytes(c.words.bytes()) {
		if c.validity.is(i) {
			continue
		}
		local, err := c.dict.list(index + 1)
		if err != nil {
			return err
		}
		arrow.Uint32Traits.CastFromBytes(c.words.bytes())[i] = local
	}
	return nil
}

// reserve makes room for n more cells, without the contents of strings and lists.
func (c *cells) reserve(n int) {
	switch {
	case c.dict != nil:
		c.words.reserve(4 * n)
	case c.of == encoding.Bool:
		c.words.reserve(n/8 + 1)
	case c.of.Fixed():
		c.words.reserve(8 * n)
	default:
		c.values.reserve(n)
	}
}

// appendWords appends words of from, the column that was given to follow.
func (c *cells) appendWords(from *encoding.Column, words []uint64, valid []bool) error {
	switch {
	case c.dict != nil:
		return c.appendCoded(from, words, valid)
	case c.of.Fixed():
		c.appendFixed(words, valid)
		return nil
	}
	c.reserve(len(words))
	for i, w := range words {
		null := w == 0 || valid != nil && !valid[i]
		if err := c.appendPlain(from, w, null); err != nil {
			return err
		}
	}
	return nil
}

func (c *cells) appendCoded(from *encoding.Column, words []uint64, valid []bool) error {
	indexes := c.appendIndexes(len(words))
	d, plain := c.dict, isPlain(from)
	if d.shared { // follow has checked that it has all words
		for i, w := range words {
			if indexes[i] = uint32(w) - 1; w == 0 || valid != nil && !valid[i] {
				indexes[i] = 0
				c.validity.null(c.n+i, 1)
			}
		}
		c.n += len(words)
		return nil
	}
	var lastWord uint64 // rows often repeat the previous row
	var lastIndex uint32
	for i, w := range words {
		switch {
		case w == 0 || valid != nil && !valid[i]:
			indexes[i] = 0
			c.validity.null(c.n+i, 1)
			continue
		case w != lastWord:
			local, ok := d.find(uint32(w))
			if plain || !ok {
				var err error
				if local, err = d.code(from, w); err != nil {
					return err
				}
			}
			lastWord, lastIndex = w, local
		}
		indexes[i] = lastIndex
	}
	c.n += len(words)
	return nil
}

// appendIndexes makes room for the indexes of n cells.
func (c *cells) appendIndexes(n int) []uint32 {
	return arrow.Uint32Traits.CastFromBytes(c.words.grow(4 * n))
}

// appendFixed appends words of a fixed type. Except for bools, the words are the bytes of an Arrow buffer.
func (c *cells) appendFixed(words []uint64, valid []bool) {
	if c.of == encoding.Bool {
		bits := c.growBits(len(words))
		for i, w := range words {
			bitutil.SetBitTo(bits, c.n+i, w != 0)
		}
	} else {
		copy(arrow.Uint64Traits.CastFromBytes(c.words.grow(8*len(words))), words)
	}
	for i, ok := range valid {
		if !ok {
			c.validity.null(c.n+i, 1)
		}
	}
	c.n += len(words)
}

// growBits makes room for the bits of n more bools and returns all bits.
func (c *cells) growBits(n int) []byte {
	missing := int(bitutil.BytesForBits(int64(c.n+n))) - c.words.n
	clear(c.words.grow(missing))
	return c.words.bytes()
}

// appendPlain appends the value of a word, or a null.
func (c *cells) appendPlain(from *encoding.Column, word uint64, null bool) error {
	if null {
		return c.appendEmpty()
	}
	c.n++
	if c.lists != nil {
		return c.lists.add(&c.values, uint32(word))
	}
	return appendValue(&c.values, from.Bytes(word))
}

// appendEmpty appends a null to a plain column.
func (c *cells) appendEmpty() error {
	var zero [uuidLen]byte
	c.validity.null(c.n, 1)
	c.n++
	if c.of == encoding.UUID {
		return appendValue(&c.values, zero[:])
	}
	return c.values.close()
}

// constant appends n cells with the same word of from, the column that was given to follow. The word must not
// be null.
func (c *cells) constant(from *encoding.Column, word uint64, n int) error {
	switch {
	case c.dict != nil:
		local, err := c.dict.code(from, word)
		if err != nil {
			return err
		}
		fillWith(c.appendIndexes(n), local)
	case c.of == encoding.Bool:
		bitutil.SetBitsTo(c.growBits(n), int64(c.n), int64(n), word != 0)
	case c.of.Fixed():
		fillWith(arrow.Uint64Traits.CastFromBytes(c.words.grow(8*n)), word)
	case c.lists != nil:
		for range n {
			if err := c.appendPlain(from, word, false); err != nil {
				return err
			}
		}
		return nil
	default:
		return repeatValue(c, from.Bytes(word), n)
	}
	c.n += n
	return nil
}

// appendLists appends lists by their codes in the view that was given to followLists. Code 0 is null.
func (c *cells) appendLists(codes []uint32) error {
	for i, code := range codes {
		if code == 0 {
			c.validity.null(c.n+i, 1)
		}
	}
	c.n += len(codes)
	if c.dict == nil {
		return c.values.appendLists(&c.lists.cursor, codes, c.lists.members(codes))
	}
	return c.dict.appendLists(c.appendIndexes(len(codes)), codes)
}

// list appends a list by its code in the view that was given to followLists. Code 0 is null.
func (c *cells) list(code uint32) error {
	switch {
	case code == 0:
		return c.nulls(1)
	case c.dict == nil:
		c.n++
		return c.lists.add(&c.values, code)
	}
	local, err := c.dict.list(code)
	if err != nil {
		return err
	}
	c.appendIndexes(1)[0] = local
	c.n++
	return nil
}

// repeatValue appends one string or UUID n times.
func repeatValue[V string | []byte](c *cells, value V, n int) error {
	c.n += n
	if c.dict == nil {
		if err := appendValue(&c.values, value); err != nil {
			return err
		}
		return c.values.appendAgain(n - 1)
	}
	c.dict.findByValue()
	local, err := addValue(c.dict, value)
	if err != nil {
		return err
	}
	fillWith(c.appendIndexes(n), local)
	return nil
}

// nulls appends n cells without a value.
func (c *cells) nulls(n int) error {
	switch {
	case c.dict != nil:
		clear(c.words.grow(4 * n))
	case c.of == encoding.Bool:
		c.growBits(n)
	case c.of.Fixed():
		clear(c.words.grow(8 * n))
	default:
		if err := c.appendEmpty(); err != nil {
			return err
		}
		c.validity.null(c.n, n-1)
		c.n += n - 1
		if c.values.names {
			for range n - 1 {
				if err := c.values.close(); err != nil {
					return err
				}
			}
			return nil
		}
		return c.values.appendAgain(n - 1)
	}
	c.validity.null(c.n, n)
	c.n += n
	return nil
}

// equal reports whether two cells are equal.
func (c *cells) equal(i, j int) bool {
	a, b := c.validity.is(i), c.validity.is(j)
	switch {
	case a || b:
		return a && b
	case c.dict != nil:
		indexes := arrow.Uint32Traits.CastFromBytes(c.words.bytes())
		return indexes[i] == indexes[j]
	case c.of == encoding.Bool:
		return bitutil.BitIsSet(c.words.bytes(), i) == bitutil.BitIsSet(c.words.bytes(), j)
	case c.of.Fixed():
		words := arrow.Uint64Traits.CastFromBytes(c.words.bytes())
		return words[i] == words[j]
	}
	return c.values.equal(i, j)
}

// drop removes the last cell, which equals its predecessor.
func (c *cells) drop() {
	c.n--
	if c.validity.is(c.n) {
		c.validity.forget(c.n)
	}
	switch {
	case c.dict != nil:
		c.words.truncate(4 * c.n)
	case c.of == encoding.Bool:
		bitutil.ClearBit(c.words.bytes(), c.n)
		c.words.truncate(int(bitutil.BytesForBits(int64(c.n))))
	case c.of.Fixed():
		c.words.truncate(8 * c.n)
	default:
		c.values.drop()
	}
}

// size returns the number of bytes that strings and lists take in values, or in the dictionary.
func (c *cells) size() int {
	if c.dict != nil {
		return c.dict.values.size()
	}
	return c.values.size()
}

// take hands over the cells as array data and empties them. The caller releases the result.
func (c *cells) take() *array.Data {
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
	case c.of.Fixed():
		return newData(c.typ, n, nulls, bits, c.words.take())
	default:
		return c.values.take(bits, nulls)
	}
}

// done frees the state kept for the next record.
func (c *cells) done() {
	if lists := c.listReader(); lists != nil {
		lists.done()
	}
}

// listReader returns the reader of lists, or nil for other types.
func (c *cells) listReader() *listReader {
	if c.dict != nil {
		return c.dict.lists
	}
	return c.lists
}

// reset drops the cells.
func (c *cells) reset() {
	c.n = 0
	c.validity.release()
	c.words.release()
	c.values.release()
	if c.dict != nil {
		c.dict.reset()
	}
}
