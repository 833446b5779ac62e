package encoding

import (
	"encoding/binary"
	"math/bits"
)

// narrow is codes with as many bytes each as the greatest needs, the lowest byte first. How
// many codes there are is known to who has it; other bytes follow.
type narrow struct {
	bytes []byte
	width int // 1 to 4
}

// widthBits is what the width less 1 takes.
const widthBits = 2

// widthOf returns how many bytes each of some codes takes.
func widthOf(codes []uint32) int {
	var all uint32
	for _, code := range codes {
		all |= code
	}
	return max(1, (bits.Len32(all)+7)/8)
}

// appendNarrow appends codes in so many bytes each.
func appendNarrow(dst []byte, codes []uint32, width int) []byte {
	for _, code := range codes {
		dst = binary.LittleEndian.AppendUint32(dst, code)
		dst = dst[:len(dst)-4+width]
	}
	return dst
}

// at returns code k.
func (c narrow) at(k int) uint32 {
	b := c.bytes[k*c.width:]
	switch c.width {
	case 1:
		return uint32(b[0])
	case 2:
		return uint32(binary.LittleEndian.Uint16(b))
	case 3:
		return uint32(binary.LittleEndian.Uint16(b)) | uint32(b[2])<<16
	}
	return binary.LittleEndian.Uint32(b)
}

// two returns the codes k and k+1, one above the other, and nothing of the bytes that
// follow: they may be written meanwhile.
func (c narrow) two(k int) uint64 {
	b := c.bytes[k*c.width:]
	switch c.width {
	case 1:
		return uint64(binary.LittleEndian.Uint16(b))
	case 2:
		return uint64(binary.LittleEndian.Uint32(b))
	case 3:
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint16(b[4:]))<<32
	}
	return binary.LittleEndian.Uint64(b)
}

// first returns which of n codes is the first whose bit is set in wanted, n if none is.
func (c narrow) first(n int, wanted []uint64) int {
	width := uint(8 * c.width)
	mask := uint64(1)<<width - 1
	k := 0
	for ; k+1 < n; k += 2 {
		two := c.two(k)
		if isSet(wanted, uint32(two&mask)) {
			return k
		}
		if isSet(wanted, uint32(two>>width)) {
			return k + 1
		}
	}
	if k < n && !isSet(wanted, c.at(k)) {
		k++
	}
	return k
}

// isSet says whether a set of codes, which may be too short for all of them, has one.
func isSet(set []uint64, code uint32) bool {
	return int(code/64) < len(set) && set[code/64]>>(code%64)&1 == 1
}
