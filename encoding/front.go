package encoding

import (
	"encoding/binary"
	"math"
	"slices"
	"sync/atomic"
)

// frontCoded is an append-only sequence of lists of codes, each kept as what
// distinguishes it from the list before:
//
//	varint: codes shared with the front of the list before
//	varint: codes of its own | varint each
//
// Every sixteenth list shares nothing, so that reading one looks at no more than
// that many. It is for one writer at a time and any number of readers.
//
// Stacks are kept root first, and those that come together sorted: so they share
// what is near the root, as in a trie, without its nodes and the look-up of their
// children (docs/decisions/0010).
type frontCoded struct {
	places stable[uint32] // of list i: block << 16 | offset
	bytes  arena
	n      atomic.Uint32
	last   []uint32 // the last list, for the writer
	entry  []byte   // in the making
}

// restart is how often a list is kept whole.
const restart = 16

// add appends a list. It fails when there is no place left: after 4 GiB.
func (f *frontCoded) add(list []uint32) error {
	n := int(f.n.Load())
	shared := 0
	if n%restart != 0 {
		shared = sharedFront(f.last, list)
	}
	f.entry = binary.AppendUvarint(f.entry[:0], uint64(shared))
	f.entry = binary.AppendUvarint(f.entry, uint64(len(list)-shared))
	for _, code := range list[shared:] {
		f.entry = binary.AppendUvarint(f.entry, uint64(code))
	}
	if f.bytes.n > math.MaxUint16 {
		return ErrDictFull
	}
	block, offset := f.bytes.keep(f.entry)
	f.places.grow(n)
	*f.places.at(n) = block<<16 | offset
	f.last = append(f.last[:0], list...)
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

// open returns what list i shares, what it has of its own, and where that is.
func (f *frontCoded) open(i int) (shared, own int, codes []byte) {
	place := *f.places.at(i)
	codes = f.bytes.from(place>>16, place&math.MaxUint16)
	a, n := binary.Uvarint(codes)
	b, m := binary.Uvarint(codes[n:])
	return int(a), int(b), codes[n+m:]
}

// len returns the number of codes of list i.
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
		// Of list i the codes [shared, end) are wanted, if there are any.
		for k := shared; k < end; k++ {
			code, n := binary.Uvarint(codes)
			codes = codes[n:]
			dst[len(dst)-1-k] = uint32(code)
		}
		if end = min(end, shared); end == 0 {
			return dst
		}
		i--
		shared, _, codes = f.open(i)
	}
}

// with sets bit i+1 of found for each list i of [lo, hi) that has a code whose bit is set
// in wanted. What a list shares with the one before it is not looked at again; that at lo
// shares nothing.
func (f *frontCoded) with(found []uint64, lo, hi int, wanted []uint64) {
	first := math.MaxInt // index in the list at hand of the first such code
	for i := lo; i < hi; i++ {
		place := *f.places.at(i)
		codes := f.bytes.from(place>>16, place&math.MaxUint16)
		shared, codes := short(codes)
		own, codes := short(codes)
		if first >= int(shared) {
			first = math.MaxInt
			for k := range own {
				var code uint32
				if code, codes = short(codes); int(code/64) < len(wanted) && wanted[code/64]>>(code%64)&1 == 1 {
					first = int(shared + k)
					break
				}
			}
		}
		if first < math.MaxInt {
			found[(i+1)/64] |= 1 << ((i + 1) % 64)
		}
	}
}

// short reads a varint, those of up to three bytes without a loop.
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

// heap returns the bytes that the sequence holds. For the writer.
func (f *frontCoded) heap() int {
	return f.bytes.heap() + 4*paged(int(f.n.Load())) + 4*cap(f.last) + cap(f.entry)
}

// need returns at most how many bytes the sequence grows by when so many lists with
// so many codes in all are added, the longest with that many. For the writer.
func (f *frontCoded) need(lists, codes, longest int) int {
	if lists == 0 {
		return 0
	}
	const header = 2 * 3 // varints of at most MaxUint16: what schemas let through
	n := int(f.n.Load())
	working := 2 * (4 + binary.MaxVarintLen32) * longest
	return f.bytes.need(header*lists+binary.MaxVarintLen32*codes) + 4*(paged(n+lists)-paged(n)) + working
}
