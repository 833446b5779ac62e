package arrowconv

import (
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// dictionary is the local dictionary of a column in a record.
//
// Most records have codes of only one dictionary of the store. Two of its codes never have the same value
// (encoding E3), therefore values are looked up only by code. If values also come from elsewhere (a repeated
// string, a plain column, the dictionary of another generation), they are looked up by their bytes. Lists of
// names are not, because each list of ids has its own list of names.
//
// If records share all lists of the store's dictionary, a list's code is its index plus 1.
type dictionary struct {
	values  values
	lists   *listReader       // for lists, otherwise nil
	dict    *dict.Values      // dictionary of the codes in local, or
	listed  *dict.Lists       // dictionary of the lists
	local   pages[localCode]  // by code
	epoch   uint32            // epoch of the valid entries of local
	byValue map[string]uint32 // nil while all values are from dict or listed

	shared bool // the current record has the array of lists, and no values
}

// localCode is the local code of a code. It is valid if it has the dictionary's epoch, so that a new record
// does not have to clear it.
type localCode struct{ epoch, code uint32 }

func newDictionary(mem memory.Allocator, form Form, f *Field) *dictionary {
	return &dictionary{values: newValues(mem, f), lists: newListReader(mem, form, f), epoch: 1}
}

// follow prepares for codes in another column.
func (d *dictionary) follow(from *encoding.Column) {
	switch {
	case isPlain(from):
		d.findByValue()
	case d.dict == from.Dict() && d.listed == from.Lists():
	default:
		d.leave()
		d.dict, d.listed = from.Dict(), from.Lists()
		if d.listed != nil {
			d.lists.follow(d.listed.View(), d.listed)
			d.shared = d.lists.array != nil && d.values.n == 0
		}
	}
}

// inArray reports whether a list is in the array that records share.
func (d *dictionary) inArray(code uint32) bool { return int(code-1) < d.lists.array.Len() }

// mayShare reports whether a record that shares the array can take the codes of dictionary `from` up to most.
func (d *dictionary) mayShare(from *dict.Lists, most uint64) bool {
	return d.listed == from && (most == 0 || d.inArray(uint32(most)))
}

// followLists prepares for list codes of an answer.
func (d *dictionary) followLists(from dict.ListView) {
	d.leave()
	d.lists.follow(from, nil)
}

// leave forgets a column's codes.
func (d *dictionary) leave() {
	if d.values.n > 0 {
		d.findByValue()
	}
	d.forget()
}

// find returns the local code of a code of the store's dictionary. ok is false if the code has none yet.
func (d *dictionary) find(code uint32) (local uint32, ok bool) {
	if d.shared {
		return code - 1, d.inArray(code)
	}
	known := d.local.find(code)
	if known == nil || known.epoch != d.epoch {
		return 0, false
	}
	return known.code, true
}

// code returns the local code of a word of from, the column that was given to follow. The word must not be
// null.
func (d *dictionary) code(from *encoding.Column, word uint64) (uint32, error) {
	if isPlain(from) {
		return addValue(d, from.Bytes(word))
	}
	if local, ok := d.find(uint32(word)); ok {
		return local, nil
	}
	if d.listed != nil {
		return d.addList(uint32(word))
	}
	local, err := addValue(d, from.Bytes(word))
	if err != nil {
		return 0, err
	}
	*d.local.make(uint32(word)) = localCode{d.epoch, local}
	return local, nil
}

// isPlain reports whether a column, which has no fixed type, has its own codes.
func isPlain(c *encoding.Column) bool { return c.Dict() == nil && c.Lists() == nil }

// appendLists sets indexes to the local codes of id lists, and to 0 for code 0. It reads all new lists
// together.
func (d *dictionary) appendLists(indexes, codes []uint32) error {
	if d.byValue != nil {
		for i, code := range codes {
			var err error
			if indexes[i] = 0; code == 0 {
				continue
			}
			if indexes[i], err = d.list(code); err != nil {
				return err
			}
		}
		return nil
	}
	fresh := d.lists.fresh[:0]
	for i, code := range codes {
		if code == 0 {
			indexes[i] = 0
			continue
		}
		local := d.local.make(code)
		if local.epoch != d.epoch {
			*local = localCode{d.epoch, uint32(d.values.n + len(fresh))}
			fresh = append(fresh, code)
		}
		indexes[i] = local.code
	}
	d.lists.fresh = fresh
	members := d.lists.mostMembers(fresh, d.values.limit-d.values.members())
	return d.values.appendLists(&d.lists.cursor, fresh, members)
}

// list is code for lists.
func (d *dictionary) list(code uint32) (uint32, error) {
	if local, ok := d.find(code); ok {
		return local, nil
	}
	return d.addList(code)
}

// addList returns the local code of a list whose code is new.
func (d *dictionary) addList(code uint32) (uint32, error) {
	local := uint32(d.values.n)
	if err := d.lists.add(&d.values, code); err != nil {
		return 0, err
	}
	if d.byValue != nil {
		value := d.values.at(int(local))
		if known, ok := d.byValue[string(value)]; ok {
			d.values.drop()
			local = known
		} else {
			d.byValue[string(value)] = local
		}
	}
	*d.local.make(code) = localCode{d.epoch, local}
	return local, nil
}

// addValue returns the local code of a value. It assigns a new code unless byValue has the value.
func addValue[V string | []byte](d *dictionary, value V) (uint32, error) {
	if local, ok := d.byValue[string(value)]; ok {
		return local, nil
	}
	local := uint32(d.values.n)
	if err := appendValue(&d.values, value); err != nil {
		return 0, err
	}
	if d.byValue != nil {
		d.byValue[string(value)] = local
	}
	return local, nil
}

// findByValue makes the present values searchable by their bytes.
func (d *dictionary) findByValue() {
	if d.byValue != nil || d.values.names {
		return
	}
	d.byValue = make(map[string]uint32, d.values.n)
	for i := range d.values.n {
		d.byValue[string(d.values.at(i))] = uint32(i)
	}
}

// forget empties the table of codes.
func (d *dictionary) forget() {
	if d.epoch++; d.epoch == 0 {
		d.local, d.epoch = pages[localCode]{}, 1
	}
	d.dict, d.listed = nil, nil
}

// take hands over the values and empties the dictionary. The caller releases the result.
func (d *dictionary) take() *array.Data {
	d.forget()
	d.byValue = nil
	if d.shared {
		d.shared = false
		d.lists.array.Retain()
		return d.lists.array
	}
	return d.values.take(nil, 0)
}

// reset empties the dictionary.
func (d *dictionary) reset() {
	d.forget()
	d.byValue, d.shared = nil, false
	d.values.release()
}

// pageLen is the number of elements of a page. A record with few rows needs few pages, even if the store's
// dictionary is large. A plain slice of 300,000 codes would take 1.2 MB.
const pageLen = 256

// pages is a sparse slice: it has memory only near the elements in use.
type pages[T any] struct{ all []*[pageLen]T }

// find returns an element, or nil if its page does not exist.
func (p *pages[T]) find(i uint32) *T {
	if n := i / pageLen; n < uint32(len(p.all)) && p.all[n] != nil {
		return &p.all[n][i%pageLen]
	}
	return nil
}

// make returns an element, and makes its page if needed. New elements are zero.
func (p *pages[T]) make(i uint32) *T {
	if element := p.find(i); element != nil {
		return element
	}
	n := int(i / pageLen)
	if n >= len(p.all) {
		p.all = append(p.all, make([]*[pageLen]T, n+1-len(p.all))...)
	}
	p.all[n] = new([pageLen]T)
	return &p.all[n][i%pageLen]
}
