package encoding

import (
	"encoding/binary"
	"math/bits"

	"github.com/google/uuid"
)

const idSize = 16 // bytes of a UUID

// values is the bytes of a plain column: the value with code k is data[end of k-1:end of k], or, without
// ends, 16 bytes.
type values struct {
	data   []byte
	ends   packed   // for strings; none for UUIDs
	filter idFilter // for UUIDs, if they are many and long-lived
	index  idIndex  // likewise
}

// places appends an id's places to dst, in order.
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

// placesIn appends the places in [lo, hi) that have an id. It costs about 0.5 ns a place.
func (v *values) placesIn(dst []int32, id *uuid.UUID, lo, hi int) []int32 {
	first, second := binary.LittleEndian.Uint64(id[:]), binary.LittleEndian.Uint64(id[8:])
	half := func(data []byte, k int) uint64 { return binary.LittleEndian.Uint64(data[8*k:]) }
	data := v.data[idSize*lo : idSize*hi]
	for at := lo; len(data) >= idSize; {
		if len(data) >= 4*idSize { // four at a time, because most ids differ
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
