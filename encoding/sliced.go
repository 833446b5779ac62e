package encoding

// The words of a block can be sliced: the lowest bit of each of 64 words, then the next bit of each, up to
// the highest (bit-sliced, or vertical; BitWeaving/V). Sliced words take as many bits as words end to end. 64
// of them are compared with a bound in one or two operations per bit, but a single word is assembled from one
// place per bit.
//
//	slice 0  bit 0 of words 0 to 63, word 0 the lowest
//	slice 1  bit 1 of the same words
//	...      up to the highest of width bits; then the same of words 64 to 127

// slicedLen returns the number of 64-bit words that n width-bit words take.
func slicedLen(n, width int) int { return (n + 63) / 64 * width }

// putSliced writes width-bit words to dst, which must be zero.
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

// readSliced reads width-bit words; width is not 0.
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

// readSlices reads 64 words. Eight slices are eight 8x8 bit matrices, one per byte; transposed, they are the
// words.
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

// transpose transposes eight 8x8 bit matrices; byte k of word i is row i of matrix k, whose bit j becomes bit
// i of row j. It swaps bits across the diagonal, then 2x2 blocks, then 4x4 blocks.
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

// swapped returns two rows after exchanging upper's high bits with lower's low bits; mask selects them.
func swapped(upper, lower uint64, shift uint, mask uint64) (a, b uint64) {
	change := (upper>>shift ^ lower) & mask
	return upper ^ change<<shift, lower ^ change
}

// slicedAt returns width-bit word i.
func slicedAt(src []uint64, i int, width uint) (word uint64) {
	at := uint(i) / 64 * width
	for k, plane := range src[at : at+width] {
		word |= plane >> (i & 63) & 1 << k
	}
	return word
}

// slicedInRange returns a bit for each of 64 words, given their slices, that is at least from
// and at most to. From the lowest bit up, a word is below a bound if its bit is 0 and the
// bound's is 1, and is not below it in the opposite case; where the bits are equal, the lower
// bits decide. It is not inlined: inlined, its loop had too few registers.
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
