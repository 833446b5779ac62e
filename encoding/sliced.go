package encoding

// Words of a block may lie in slices: of each 64 words the lowest bit of all, then the next
// bit of all, up to the highest (bit-sliced, or vertical; BitWeaving/V). They take as many
// bits as end to end, 64 of them are compared with a bound in an operation or two a bit, and
// one is put together from as many places as it has bits.
//
//	slice 0  bit 0 of words 0 to 63, the first one's lowest
//	slice 1  bit 1 of the same words
//	...      up to the highest of width bits; then the same of words 64 to 127

// slicedLen returns how many 64-bit words n words of so many bits take.
func slicedLen(n, width int) int { return (n + 63) / 64 * width }

// putSliced sets the bits of words of a width. dst is zero.
func putSliced(dst, words []uint64, width int) {
	for ; len(words) > 0; dst = dst[width:] {
		some := words[:min(64, len(words))]
		words = words[len(some):]
		for low := 0; low < width; low += 8 {
			var square [8]uint64
			for i, v := range some {
				square[i%8] |= v >> low & 0xff << (i / 8 * 8)
			}
			transpose(&square)
			copy(dst[low:width], square[:])
		}
	}
}

// readSliced reads words of a width, which is not 0.
func readSliced(dst, src []uint64, width int) {
	for ; len(dst) >= 64; dst, src = dst[64:], src[width:] {
		readSlices((*[64]uint64)(dst), src[:width])
	}
	if len(dst) > 0 {
		var last [64]uint64
		readSlices(&last, src[:width])
		copy(dst, last[:])
	}
}

// readSlices reads 64 words. Eight slices at a time are eight squares of bits, one a byte:
// across, they are the words.
func readSlices(dst *[64]uint64, slices []uint64) {
	var square [8]uint64
	copy(square[:], slices)
	transpose(&square)
	for i, v := range square {
		dst[i] = v & 0xff
		dst[i+8] = v >> 8 & 0xff
		dst[i+16] = v >> 16 & 0xff
		dst[i+24] = v >> 24 & 0xff
		dst[i+32] = v >> 32 & 0xff
		dst[i+40] = v >> 40 & 0xff
		dst[i+48] = v >> 48 & 0xff
		dst[i+56] = v >> 56
	}
	for low := 8; low < len(slices); low += 8 {
		square = [8]uint64{}
		copy(square[:], slices[low:])
		transpose(&square)
		for i := range dst {
			dst[i] |= square[i%8] >> (i / 8 * 8) & 0xff << low
		}
	}
}

// transpose turns eight squares of eight bits by eight, of which byte k of word i is row i of
// square k: bit j of it becomes bit i of row j. Off the diagonal, bits change places, then
// squares of two by two, then those of four by four.
func transpose(rows *[8]uint64) {
	const ones, twos, fours = 0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f
	for i := 0; i < 8; i += 2 {
		rows[i], rows[i+1] = swapped(rows[i], rows[i+1], 1, ones)
	}
	for i := 0; i < 8; i += 4 {
		rows[i], rows[i+2] = swapped(rows[i], rows[i+2], 2, twos)
		rows[i+1], rows[i+3] = swapped(rows[i+1], rows[i+3], 2, twos)
	}
	for i := range 4 {
		rows[i], rows[i+4] = swapped(rows[i], rows[i+4], 4, fours)
	}
}

// swapped returns two rows after the upper bits of the one and the lower ones of the other,
// which the mask has, changed places.
func swapped(upper, lower uint64, shift uint, mask uint64) (a, b uint64) {
	change := (upper>>shift ^ lower) & mask
	return upper ^ change<<shift, lower ^ change
}

// slicedAt returns word i of a width.
func slicedAt(src []uint64, i int, width uint) (word uint64) {
	at := uint(i) / 64 * width
	for k, plane := range src[at : at+width] {
		word |= plane >> (i & 63) & 1 << k
	}
	return word
}

// slicedInRange returns the bits of those of 64 words, whose slices are given, that are at
// least from and at most to. From the lowest bit on: a word is below a bound if its bit is 0
// where the bound's is 1, and is not if it is 1 where the bound's is 0; where they are alike,
// the bits before say. It is not inlined: where it was, its loop had too few registers.
//
//go:noinline
func slicedInRange(planes []uint64, from, to uint64) uint64 {
	below, upTo := uint64(0), ^uint64(0)
	for _, plane := range planes {
		zero, f, t := ^plane, -(from & 1), -(to & 1)
		below ^= (zero ^ below) & (f ^ below)
		upTo ^= (zero ^ upTo) & (t ^ upTo)
		from, to = from>>1, to>>1
	}
	return upTo &^ below
}
