package arrowconv

import (
	"strings"

	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// listReader adds lists of a dictionary of the store to values: as their elements' ids,
// or as the elements' names.
//
// A list read by itself costs several times what it costs in a row with others, and
// records have many lists in common. So when some of a dictionary's lists have been
// added, or many are to come, all of them are read, once.
type listReader struct {
	mem    memory.Allocator
	names  Names
	shared bool // see Field
	many   bool // see Field

	from  encoding.Lists
	dict  *encoding.ListDict // whose lists; nil if they are those of an answer
	added int                // since it was told whose
	tried bool               // to read all
	all   *allLists          // what was read; nil before, if they are too large,
	array *array.Data        // or if it is this, for records to share

	cursor encoding.ListCursor // of from
	fresh  []uint32            // of an answer: codes of the lists at hand, each once
	codes  []uint32            // of the list at hand
	named  pages[[]string]     // by code of an element; nil if not asked
	given  []string            // by Names
}

// allAfter is what share of a dictionary's lists are added one by one before all are
// read.
const allAfter = 8

func newListReader(mem memory.Allocator, form Form, f *Field) *listReader {
	if f.Type != encoding.UUIDList {
		return nil
	}
	return &listReader{mem: mem, names: f.Names, shared: f.Shared && f.coded(form) && !f.named(), many: f.Many}
}

// follow prepares for lists of a dictionary: of dict, if that is not nil.
func (l *listReader) follow(from encoding.Lists, dict *encoding.ListDict) {
	if dict == nil || l.dict != dict {
		l.done()
		l.from, l.dict, l.cursor = from, dict, from.Cursor()
	}
	if dict == nil || l.tried || !l.many && l.added*allAfter <= dict.Len() {
		return
	}
	if l.tried = true; l.shared {
		l.array = newListArray(l.mem, dict)
	} else {
		l.all = newAllLists(dict)
	}
}

// done forgets the dictionary, and frees what was read of it.
func (l *listReader) done() {
	if l.array != nil {
		l.array.Release()
	}
	*l = listReader{mem: l.mem, names: l.names, shared: l.shared, many: l.many}
}

// add adds a list to values.
func (l *listReader) add(to *values, code uint32) error {
	l.added++
	elements, known := l.read(code)
	if to.names {
		return l.addNames(to, elements)
	}
	if len(elements) > to.limit-to.members() {
		return errLarge
	}
	dst := to.data.grow(uuidLen * len(elements))
	if known {
		l.all.copyIDs(dst, elements)
		return to.close()
	}
	for i, element := range elements {
		*(*uuid.UUID)(dst[uuidLen*i:]) = l.from.Element(element)
	}
	return to.close()
}

// read returns the codes of the elements of a list, until the next call, and whether it is
// one of those that were all read.
func (l *listReader) read(code uint32) (elements []uint32, known bool) {
	if l.all != nil && l.all.has(code) {
		return l.all.at(code), true
	}
	l.codes = l.from.List(l.codes[:0], code)
	return l.codes, false
}

// addNames adds the list of the names of elements.
func (l *listReader) addNames(to *values, elements []uint32) error {
	for _, element := range elements {
		names := l.named.make(element)
		if *names == nil {
			l.given = l.names(l.given[:0], l.from.Element(element), l.from.Record(element))
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

// members returns how many elements lists have in all.
func (l *listReader) members(codes []uint32) (n int) {
	for _, code := range codes {
		n += l.from.Len(code)
	}
	return n
}

// mostMembers returns how many elements lists, each of which comes once, have in all, or how
// many all lists have, which takes no look at them: if these are most of them and values
// have room for so many.
func (l *listReader) mostMembers(codes []uint32, room int) int {
	if lists, members := l.from.All(); len(codes) > lists/4*3 && members <= room {
		return members
	}
	return l.members(codes)
}
