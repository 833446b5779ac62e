package encoding

import (
	"encoding/binary"
	"math/bits"

	"github.com/google/uuid"
)

// idIndex says about where an id is among ids of 16 bytes that lie end to end. They are cut
// into up to 256 chunks, and each has an entry in a bucket that its hash chooses, of about
// eight: these chunks are looked through. 1.5 bytes an id:
//
//	starts  of each bucket, and the end: 4 bytes
//	chunks  of each id, bucket by bucket
type idIndex struct {
	starts []uint32 // nil: no index
	chunks []uint8
	chunk  int // ids
}

const (
	indexBucket = 8 // ids
	indexChunks = 256
)

// newIDIndex returns the index of ids, by their places. About 6 ns an id.
func newIDIndex(ids []IDHash) idIndex {
	n := len(ids)
	x := idIndex{starts: make([]uint32, (n+indexBucket-1)/indexBucket+1), chunks: make([]uint8, n), chunk: (n + indexChunks - 1) / indexChunks}
	for _, id := range ids {
		x.starts[id.in(len(x.starts)-1)]++
	}
	end := uint32(0)
	for i, size := range x.starts {
		end += size
		x.starts[i] = end
	}
	for i := n - 1; i >= 0; i-- { // backwards: each bucket is filled from its end on
		at := &x.starts[ids[i].in(len(x.starts)-1)]
		*at--
		x.chunks[*at] = uint8(i / x.chunk)
	}
	return x
}

// chunksOf returns a bit for each chunk that an id can be in.
func (x *idIndex) chunksOf(id IDHash) (set [indexChunks / 64]uint64) {
	at := id.in(len(x.starts) - 1)
	for _, chunk := range x.chunks[x.starts[at]:x.starts[at+1]] {
		set[chunk/64] |= 1 << (chunk % 64)
	}
	return set
}

// size returns the bytes that the index holds.
func (x *idIndex) size() int { return 4*cap(x.starts) + cap(x.chunks) }

// places appends the places of an id to dst, rising.
func (v *values) places(dst []int32, id uuid.UUID) []int32 {
	n := len(v.data) / idSize
	if v.index.starts == nil {
		return v.placesIn(dst, &id, 0, n)
	}
	hash := HashID(id)
	if !v.filter.mayHave(hash) {
		return dst
	}
	for i, word := range v.index.chunksOf(hash) {
		for ; word != 0; word &= word - 1 {
			lo := (64*i + bits.TrailingZeros64(word)) * v.index.chunk
			dst = v.placesIn(dst, &id, lo, min(lo+v.index.chunk, n))
		}
	}
	return dst
}

// placesIn appends those of the places [lo, hi) that have an id. About 0.5 ns a place.
func (v *values) placesIn(dst []int32, id *uuid.UUID, lo, hi int) []int32 {
	first, second := binary.LittleEndian.Uint64(id[:]), binary.LittleEndian.Uint64(id[8:])
	half := func(data []byte, k int) uint64 { return binary.LittleEndian.Uint64(data[8*k:]) }
	data := v.data[idSize*lo : idSize*hi]
	for at := lo; len(data) >= idSize; {
		if len(data) >= 4*idSize { // most are other ids: four at a time
			four := data[: 4*idSize : 4*idSize]
			if half(four, 0) != first && half(four, 2) != first && half(four, 4) != first && half(four, 6) != first {
				at, data = at+4, data[4*idSize:]
				continue
			}
		}
		if half(data, 0) == first && half(data, 1) == second {
			dst = append(dst, int32(at))
		}
		at, data = at+1, data[idSize:]
	}
	return dst
}
