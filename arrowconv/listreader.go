package arrowconv

import (
	"slices"
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

	row   rowOfLists      // of an answer
	codes []uint32        // of the list at hand
	named pages[[]string] // by code of an element; nil if not asked
	given []string        // by Names
}

// rowOfLists is the elements of lists that have their codes in a row, from lo up to hi,
// which is left out.
type rowOfLists struct {
	lo, hi uint32
	ends   []int // of each
	ids    []uuid.UUID
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
		l.from, l.dict = from, dict
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
	if l.row.lo <= code && code < l.row.hi {
		return l.addRow(to, int(code-l.row.lo))
	}
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

// reserve makes room in values for the lists of an answer, each once.
func (l *listReader) reserve(to *values, codes []uint32) {
	if to.names || len(codes) == 0 {
		return
	}
	members, seen := 0, make([]uint64, slices.Max(codes)/64+1)
	for _, code := range codes {
		if bit := uint64(1) << (code % 64); seen[code/64]&bit == 0 {
			seen[code/64] |= bit
			members += l.from.Len(code)
		}
	}
	to.data.reserve(uuidLen * min(members, to.limit))
}

// readRow reads lists of an answer that are in a row from the first of some codes on, if
// those are most of them and some. It returns how many of the codes it is asked about
// next.
func (l *listReader) readRow(codes []uint32) int {
	const few, most = 8, 256
	n := 1
	for n < min(most, len(codes)) && codes[n] > codes[n-1] {
		n++
	}
	l.row.lo, l.row.hi = 0, 0
	lo, hi := codes[0], codes[n-1]+1
	if lo == 0 || n < few || int(hi-lo) > 2*n || l.names != nil {
		return n
	}
	l.row.lo, l.row.hi, l.row.ends = lo, hi, l.row.ends[:0]
	end := 0
	for code := lo; code < hi; code++ {
		end += l.from.Len(code)
		l.row.ends = append(l.row.ends, end)
	}
	l.row.ids = appendLists(l.row.ids[:0], l.from, lo, hi, l.from.Element)
	return n
}

// addRow adds list i of the row.
func (l *listReader) addRow(to *values, i int) error {
	begin := 0
	if i > 0 {
		begin = l.row.ends[i-1]
	}
	ids := l.row.ids[begin:l.row.ends[i]]
	if len(ids) > to.limit-to.members() {
		return errLarge
	}
	copy(asUUIDs(to.data.grow(uuidLen*len(ids))), ids)
	return to.close()
}
