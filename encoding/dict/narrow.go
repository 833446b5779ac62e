package dict

import (
	"encoding/binary"
	"math/bits"
)

// narrow is codes with a fixed width, which fits the greatest, the lowest byte first. Its owner knows the
// number of codes; other bytes may follow.
type narrow struct {
	bytes []byte
	width int // 1 to 4
}

// widthBits is the number of bits for width-1.
const widthBits = 2

// widthOf returns the bytes that the greatest code needs.
func widthOf(codes []uint32) int {
	var all uint32
	for _, code := range codes {
		all |= code
	}
	return max(1, (bits.Len32(all)+7)/8)
}

// appendNarrow appends codes in width bytes each.
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
