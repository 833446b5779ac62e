package arrowconv

import (
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// mostElements bounds the elements of all lists that are read at once: 128 MB of ids, or
// 32 MB of codes.
const mostElements = 8 << 20

// allLists is the codes of the elements of all lists that a dictionary of the store had
// at a time: of the list with code i+1 those from ends[i] to ends[i+1].
type allLists struct {
	ends  []int32
	codes []uint32
	ids   []uuid.UUID // of their elements, by code-1
}

// newAllLists reads all lists of a dictionary, nil if they are too large.
func newAllLists(of *encoding.ListDict) *allLists {
	a := &allLists{ends: make([]int32, of.Len()+1)}
	if !endsOf(a.ends, of) {
		return nil
	}
	a.codes = make([]uint32, 0, a.ends[len(a.ends)-1])
	a.codes = appendLists(a.codes, of.Reader(), 1, uint32(len(a.ends)), func(element uint32) uint32 { return element })
	if len(a.codes) > 0 {
		a.ids = make([]uuid.UUID, slices.Max(a.codes))
	}
	for i := range a.ids {
		a.ids[i] = of.Element(uint32(i + 1))
	}
	return a
}

// has says whether a list is there.
func (a *allLists) has(code uint32) bool { return code-1 < uint32(len(a.ends)-1) }

// at returns the codes of the elements of a list that is there.
func (a *allLists) at(code uint32) []uint32 { return a.codes[a.ends[code-1]:a.ends[code]] }

// copyIDs copies the ids of elements.
func (a *allLists) copyIDs(dst []byte, elements []uint32) {
	for _, element := range elements {
		*(*uuid.UUID)(dst) = a.ids[element-1]
		dst = dst[uuidLen:]
	}
}

// newListArray returns all lists of a dictionary as an Arrow array, in the order of their
// codes, for records to share; nil if they are too large. The caller releases it.
func newListArray(mem memory.Allocator, of *encoding.ListDict) *array.Data {
	n := of.Len()
	v := newValues(mem, &Field{Type: encoding.UUIDList})
	ends := arrow.Int32Traits.CastFromBytes(v.offsets.grow(4 * (n + 1)))
	if !endsOf(ends, of) {
		v.release()
		return nil
	}
	ids := asUUIDs(v.data.grow(uuidLen * int(ends[n])))
	appendLists(ids[:0], of.Reader(), 1, uint32(n+1), of.Element)
	v.n = n
	return v.take(nil, 0)
}

// endsOf sets where each list of a dictionary ends, one behind the other; false if they
// are too large.
func endsOf(ends []int32, of *encoding.ListDict) bool {
	members := 0
	for i := range ends {
		if i > 0 {
			members += of.ListLen(uint32(i))
		}
		if members > mostElements {
			return false
		}
		ends[i] = int32(members)
	}
	return true
}

// appendLists appends what the elements of lists with codes from lo up to hi, which is
// left out, are. A list ends as the one before it does, mostly: stacks have in common what
// is near the root.
func appendLists[T any](dst []T, from encoding.Lists, lo, hi uint32, is func(element uint32) T) []T {
	var codes, before []uint32
	for code := lo; code < hi; code++ {
		codes = from.List(codes[:0], code)
		shared := sharedEnd(codes, before)
		end := len(dst)
		for _, element := range codes[:len(codes)-shared] {
			dst = append(dst, is(element))
		}
		dst = append(dst, dst[end-shared:end]...)
		codes, before = before, codes
	}
	return dst
}

// sharedEnd returns how many elements two lists have in common at their ends.
func sharedEnd(a, b []uint32) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
