package dict

import (
	"encoding/binary"
	"math"
	"slices"
	"sync/atomic"
)

// frontCoded is an append-only sequence of lists of codes. Each list is stored as its difference from the
// previous one:
//
//	varint: codes shared with the front of the previous list
//	varint: further codes * 4 + width-1 | width bytes each, the lowest first
//
// Codes have a fixed width, because each can then be read independently of the previous ones, and they
// usually take fewer bytes than varints (docs/decisions/0010). Every sixteenth list is stored whole, therefore
// reading a list decodes parts of at most sixteen lists. One writer and any number of readers may use the
// sequence concurrently.
//
// Stacks are stored root first and sorted within an insert. They share the codes near the root, as in a
// trie, without its nodes and child look-ups (docs/decisions/0010).
type frontCoded struct {
	places stable[uint32] // of list i: block << 16 | offset
	bytes  arena
	n      atomic.Uint32
	codes  atomic.Uint64 // of all lists
	last   []uint32      // the last list, for the writer
	entry  []byte        // the entry under construction
}

// restart is the distance between lists that are stored whole.
const restart = ListBlock

// ListBlock is the number of lists that are stored together, from the codes 1, 1+ListBlock and so on.
// Reading a list decodes parts of the previous lists in its block, so reading several in order costs little
// more.
const ListBlock = 16

// add appends a list. It returns ErrFull after 4 GiB, because then no place is left.
func (f *frontCoded) add(list []uint32) error {
	n := int(f.n.Load())
	shared := 0
	if n%restart != 0 {
		shared = sharedFront(f.last, list)
	}
	f.entry = binary.AppendUvarint(f.entry[:0], uint64(shared))
	width := widthOf(list[shared:])
	f.entry = binary.AppendUvarint(f.entry, uint64((len(list)-shared)<<widthBits|(width-1)))
	f.entry = appendNarrow(f.entry, list[shared:], width)
	if f.bytes.n > math.MaxUint16 {
		return ErrFull
	}
	block, offset := f.bytes.keep(f.entry)
	f.places.grow(n)
	*f.places.at(n) = block<<16 | offset
	f.last = append(f.last[:0], list...)
	f.codes.Add(uint64(len(list)))
	f.n.Add(1)
	return nil
}

func sharedFront(a, b []uint32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// open returns the number of codes that list i shares, the number of its further codes, and these codes.
func (f *frontCoded) open(i int) (shared, own int, codes narrow) {
	place := *f.places.at(i)
	return opened(f.bytes.from(place>>16, place&math.MaxUint16))
}

// opened is open for the list that begins at b.
func opened(b []byte) (shared, own int, codes narrow) {
	front, b := short(b)
	n, b := short(b)
	return int(front), int(n >> widthBits), narrow{b, int(n&(1<<widthBits-1)) + 1}
}

// len returns list i's number of codes.
func (f *frontCoded) len(i int) int {
	shared, own, _ := f.open(i)
	return shared + own
}

// appendReversed appends list i to dst, last code first.
func (f *frontCoded) appendReversed(dst []uint32, i int) []uint32 {
	shared, own, codes := f.open(i)
	start := len(dst)
	dst = slices.Grow(dst, shared+own)[:start+shared+own]
	for end := shared + own; ; {
		// The codes [shared, end) of list i are needed, if any.
		for k := shared; k < end; k++ {
			dst[len(dst)-1-k] = codes.at(k - shared)
		}
		if end = min(end, shared); end == 0 {
			return dst
		}
		i--
		shared, _, codes = f.open(i)
	}
}

// short reads a varint, without a loop if it has up to three bytes.
func short(b []byte) (uint32, []byte) {
	switch {
	case b[0] < 0x80:
		return uint32(b[0]), b[1:]
	case b[1] < 0x80:
		return uint32(b[0]&0x7f) | uint32(b[1])<<7, b[2:]
	case b[2] < 0x80:
		return uint32(b[0]&0x7f) | uint32(b[1]&0x7f)<<7 | uint32(b[2])<<14, b[3:]
	}
	v, n := binary.Uvarint(b)
	return uint32(v), b[n:]
}

// heap returns the sequence's heap bytes. Only the writer may call it.
func (f *frontCoded) heap() int {
	return f.bytes.heap() + 4*paged(int(f.n.Load())) + 4*cap(f.last) + cap(f.entry)
}

// need bounds the growth in bytes when `lists` lists are added, with `codes` codes in all, and `longest`
// codes in the longest. Only the writer may call it.
func (f *frontCoded) need(lists, codes, longest int) int {
	if lists == 0 {
		return 0
	}
	const header = 2 * 3 // varints of at most 4 * MaxUint16: the limit of schemas
	const code = 4
	n := int(f.n.Load())
	working := 2 * (4 + code) * longest
	return f.bytes.need(header*lists+code*codes) + 4*(paged(n+lists)-paged(n)) + working
}
