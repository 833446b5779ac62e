package arrowconv

import (
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// pageLen is how many codes share a page of the table from store codes to
// local ones. A record of few rows then pays for few pages, however large the
// store's dictionary is: a plain slice of 300,000 codes costs 1.2 MB.
const pageLen = 256

// dictionary is the local dictionary of one column of one record.
//
// Most records see one dictionary of the store, where two codes never stand for
// one value (encoding E3), so a code is all that is looked up. When values
// come otherwise too (a repeated string, a plain column, the dictionary of
// another generation), they are found by their bytes from then on.
type dictionary struct {
	values  values
	dict    *encoding.Dict     // whose codes pages has, or
	lists   *encoding.ListDict // whose
	codes   []uint32           // the codes in pages
	pages   []*[pageLen]uint32 // by code: local code+1, 0 if not met
	byValue map[string]uint32  // nil while all values are from dict or lists

	elements []uuid.UUID // scratch of listBytes
	list     []byte
}

func newDictionary(mem memory.Allocator, typ encoding.Type) *dictionary {
	return &dictionary{values: newValues(mem, typ)}
}

// follow prepares for codes of another column.
func (d *dictionary) follow(from *encoding.Column) {
	switch {
	case from.Dict() == nil && from.Lists() == nil:
		d.findByValue()
	case d.dict == from.Dict() && d.lists == from.Lists():
	default:
		if d.values.n > 0 {
			d.findByValue()
		}
		d.forget()
		d.dict, d.lists = from.Dict(), from.Lists()
	}
}

// local returns the local code of a word that is not null, of a column that
// follow was told.
func (d *dictionary) local(from *encoding.Column, word uint64) (uint32, error) {
	if from.Dict() == nil && from.Lists() == nil {
		return d.add(from.Bytes(word))
	}
	page, slot := word/pageLen, word%pageLen
	if page < uint64(len(d.pages)) && d.pages[page] != nil && d.pages[page][slot] != 0 {
		return d.pages[page][slot] - 1, nil
	}
	value := d.listBytes(word)
	if d.lists == nil {
		value = from.Bytes(word)
	}
	local, err := d.add(value)
	if err != nil {
		return 0, err
	}
	for uint64(len(d.pages)) <= page {
		d.pages = append(d.pages, nil)
	}
	if d.pages[page] == nil {
		d.pages[page] = new([pageLen]uint32)
	}
	d.pages[page][slot] = local + 1
	d.codes = append(d.codes, uint32(word))
	return local, nil
}

// listBytes returns the bytes of a list's elements, valid until the next call,
// or nil if the column is none of lists.
func (d *dictionary) listBytes(word uint64) []byte {
	if d.lists == nil {
		return nil
	}
	d.elements = d.lists.UUIDs(d.elements[:0], uint32(word))
	d.list = d.list[:0]
	for i := range d.elements {
		d.list = append(d.list, d.elements[i][:]...)
	}
	return d.list
}

// add returns the local code of a value, giving it one unless byValue knows it.
func (d *dictionary) add(value []byte) (uint32, error) {
	if local, ok := d.byValue[string(value)]; ok {
		return local, nil
	}
	local := uint32(d.values.n)
	if err := d.values.append(value); err != nil {
		return 0, err
	}
	if d.byValue != nil {
		d.byValue[string(value)] = local
	}
	return local, nil
}

// findByValue makes add look for values that are there.
func (d *dictionary) findByValue() {
	if d.byValue != nil {
		return
	}
	d.byValue = make(map[string]uint32, d.values.n)
	for i := range d.values.n {
		d.byValue[string(d.values.at(i))] = uint32(i)
	}
}

// forget empties the table of codes; it costs as much as there are codes.
func (d *dictionary) forget() {
	for _, code := range d.codes {
		d.pages[code/pageLen][code%pageLen] = 0
	}
	d.codes = d.codes[:0]
	d.dict, d.lists = nil, nil
}

// take hands over the values and empties the dictionary. The caller releases
// the result.
func (d *dictionary) take() *array.Data {
	d.forget()
	d.byValue = nil
	return d.values.take(nil, 0)
}

// reset empties the dictionary.
func (d *dictionary) reset() {
	d.forget()
	d.byValue = nil
	d.values.release()
}
