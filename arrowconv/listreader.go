package arrowconv

import (
	"strings"

	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// listReader adds lists of a store's dictionary to values, as ids or as names of their elements.
//
// It keeps lists by blocks, because single reads cost more than reads in sequence, and records have many
// lists in common. Records that may share an array of all lists get it once an eighth of them has been added,
// or at once if Field.Many is set.
type listReader struct {
	mem    memory.Allocator
	names  ElementNames
	shared bool // see Field
	many   bool // see Field

	from  dict.ListView
	dict  *dict.Lists // nil for lists of an answer
	added int         // lists added since follow
	tried bool        // an array of all lists was tried
	array *array.Data // all lists for records to share; nil if not read, or too large

	blocks *listBlocks // nil for lists of an answer

	cursor dict.ListCursor // cursor of from
	fresh  []uint32        // distinct codes of an answer's lists
	codes  []uint32        // codes of the current list
	named  pages[[]string] // by code of an element; nil if Names was not called
	record []byte          // buffer of ReadRecord
	given  []string        // last result of Names
}

// allAfter is the inverse of the fraction of a dictionary's lists that must be added before records share an
// array of all lists.
const allAfter = 8

func newListReader(mem memory.Allocator, form Form, f *Field) *listReader {
	if f.Type != encoding.UUIDList {
		return nil
	}
	return &listReader{mem: mem, names: f.Names, shared: f.Shared && f.coded(form) && !f.named(), many: f.Many}
}

// follow prepares for lists of from. whole, unless nil, is the dictionary of all of them.
func (l *listReader) follow(from dict.ListView, whole *dict.Lists) {
	if whole == nil || l.dict != whole {
		l.done()
		l.from, l.dict, l.cursor = from, whole, from.Cursor()
		if whole != nil {
			l.blocks = newListBlocks(whole)
		}
	}
	if whole == nil || !l.shared || l.tried || !l.many && l.added*allAfter <= whole.Len() {
		return
	}
	l.tried, l.array = true, newListArray(l.mem, whole)
}

// done forgets the dictionary, and frees its lists.
func (l *listReader) done() {
	if l.array != nil {
		l.array.Release()
	}
	*l = listReader{mem: l.mem, names: l.names, shared: l.shared, many: l.many}
}

// add adds a list to values.
func (l *listReader) add(to *values, code uint32) error {
	l.added++
	elements := l.read(code)
	if to.names {
		return l.addNames(to, elements)
	}
	if len(elements) > to.limit-to.members() {
		return errLarge
	}
	l.from.CopyElements(to.data.grow(uuidLen*len(elements)), elements)
	return to.close()
}

// read returns the element codes of a list. They are valid until the next call.
func (l *listReader) read(code uint32) []uint32 {
	if l.blocks != nil {
		if elements, ok := l.blocks.at(code); ok {
			return elements
		}
	}
	l.codes = l.from.List(l.codes[:0], code)
	return l.codes
}

// addNames adds the list of the names of elements.
func (l *listReader) addNames(to *values, elements []uint32) error {
	for _, element := range elements {
		names := l.named.make(element)
		if *names == nil {
			l.given = l.names(l.given[:0], l.from.Element(element), l.from.ReadRecord(&l.record, element))
			*names = make([]string, len(l.given))
			for i, name := range l.given {
				(*names)[i] = strings.ToValidUTF8(name, "\uFFFD")
			}
		}
		for _, name := range *names {
			if err := to.addName(name); err != nil {
				return err
			}
		}
	}
	return to.close()
}

// members returns the total number of elements of lists.
func (l *listReader) members(codes []uint32) (n int) {
	for _, code := range codes {
		n += l.from.Len(code)
	}
	return n
}

// mostMembers returns the total number of elements of distinct lists, or an upper bound. The bound is the
// number for all lists, which costs nothing, if codes has most of the lists and room suffices.
func (l *listReader) mostMembers(codes []uint32, room int) int {
	if lists, members := l.from.All(); len(codes) > lists/4*3 && members <= room {
		return members
	}
	return l.members(codes)
}
