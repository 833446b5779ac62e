package encoding

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Pick appends the words of the given rows to dst. rows must ascend; Pick panics unless each is at least 0 and
// below Len. If rows are far apart, a row costs 3 to 6 ns from packed or sparse words and 5 to 150 ns from
// runs; it is slowest if consecutive rows are more than 128 runs apart. Otherwise Pick reads, in each block of
// 128 rows with a picked row, all rows from the first picked row to the last, as Append does.
func (w *Words) Pick(dst []uint64, rows []int32) []uint64 {
	if len(rows) == 0 {
		return dst
	}
	if rows[0] < 0 || int(rows[len(rows)-1]) >= int(w.n) {
		panic("encoding: row out of range")
	}
	switch {
	case w.form == nil && sparsely(rows):
		for _, row := range rows {
			dst = append(dst, w.packed.at(int(row)))
		}
		return dst
	case w.layout == layoutSparse && sparsely(rows):
		for _, row := range rows {
			dst = append(dst, w.form.sparse.at(int(row)))
		}
		return dst
	case w.layout == layoutRuns:
		return w.form.runs.pick(dst, rows)
	case w.form != nil && w.form.blocks != nil:
		return w.form.blocks.pick(dst, rows)
	}
	var buf [blockLen]uint64
	for len(rows) > 0 {
		near, rest := inBlock(rows)
		lo, hi := near[0], near[len(near)-1]+1
		words := w.Append(buf[:0], int(lo), int(hi))
		for _, row := range near {
			dst = append(dst, words[row-lo])
		}
		rows = rest
	}
	return dst
}

// sparsely reports whether rows includes few rows between its first and its last.
func sparsely(rows []int32) bool {
	const each = 8 // this many rows can be read in sequence in the time of one random read
	return int(rows[len(rows)-1]-rows[0]) > each*len(rows)
}

// inBlock splits rows into near, the rows in the block of the first row, and rest.
func inBlock(rows []int32) (near, rest []int32) {
	end := (rows[0]/blockLen + 1) * blockLen
	n := 1
	for n < len(rows) && rows[n] < end {
		n++
	}
	return rows[:n], rows[n:]
}

// pick steps from run to run, and uses a binary search if the next row's run is further than `near` runs away.
func (r *runs) pick(dst []uint64, rows []int32) []uint64 {
	const near = 8 // stepping over this many runs is as fast as a search
	var buf [blockLen]uint64
	values, first := buf[:0], 0 // values of the runs from first on
	run, end := 0, int32(0)
	for _, row := range rows {
		for steps := 0; end <= row; steps++ {
			if steps == near || end == 0 {
				run = r.find(int(row))
			} else {
				run++
			}
			end = int32(r.ends.at(run))
		}
		if run >= first+len(values) {
			first = run / blockLen * blockLen
			values = r.values.appendFlat(buf[:0], first, min(first+blockLen, int(r.ends.n)))
		}
		dst = append(dst, values[run-first])
	}
	return dst
}

// pick reads the picked words of a block one by one if there are few of them and the layout permits it: either
// a word does not depend on earlier words, or it is their sum. Otherwise it decodes the whole block.
func (b *blocks) pick(dst []uint64, rows []int32) []uint64 {
	const few, fewWords = blockLen / 8, blockLen / 4 // most rows to pick singly: few by sums, fewWords by words, which are cheaper
	var buf [blockLen]uint64
	for len(rows) > 0 {
		near, rest := inBlock(rows)
		rows = rest
		i := int(near[0]) / blockLen
		switch {
		case b.order == asIs && len(near) <= fewWords, b.order == sliced && len(near) <= few:
			dst = b.pickFew(dst, i, near)
			continue
		case b.order == rises && b.summed(i, len(near), few):
			dst = b.pickRises(dst, i, near)
			continue
		}
		words := b.read(buf[:], i)
		for _, row := range near {
			dst = append(dst, words[row%blockLen])
		}
	}
	return dst
}

// pickFew picks rows from block i, whose words do not depend on earlier words.
func (b *blocks) pickFew(dst []uint64, i int, rows []int32) []uint64 {
	from, width := int(b.starts.at(i)), uint(b.widths.at(i))
	src, start := b.bits[from:], len(dst)
	for _, row := range rows {
		dst = append(dst, b.order.get(src, int(row%blockLen), width))
	}
	n := min(blockLen, b.n-i*blockLen)
	for _, both := range src[b.order.bitsLen(n, int(width)) : int(b.starts.at(i+1))-from] {
		for ; both>>placeBits != 0; both >>= 32 { // the last word may hold only one exception (see blocks)
			place, high := int32(both&(blockLen-1)), both<<32>>32>>placeBits
			if k, ok := slices.BinarySearch(rows, int32(i*blockLen)+place); ok {
				dst[start+k] |= high << width
			}
		}
	}
	base := b.low + b.bases.at(i)*b.scale
	for k, v := range dst[start:] {
		dst[start+k] = base + v*b.scale
	}
	return dst
}

// pickRises picks rows from block i, where each word is the sum of the packed values up to it. It sums the
// values between two rows without unpacking them.
func (b *blocks) pickRises(dst []uint64, i int, rows []int32) []uint64 {
	from, width, start := int(b.starts.at(i)), uint(b.widths.at(i)), len(dst)
	src, sum, base, at := b.bits[from:], b.firsts.at(i), b.bases.at(i), 0
	for _, row := range rows {
		end := int(row%blockLen) + 1
		if width == 1 {
			dst = append(dst, sum+onesBefore(src, end)+uint64(end)*base)
			continue
		}
		sum += sumPacked(src, at, end, width) + uint64(end-at)*base
		at = end
		dst = append(dst, sum)
	}
	n := min(blockLen, b.n-i*blockLen)
	for _, both := range src[packedLen(n, int(width)) : int(b.starts.at(i+1))-from] {
		for ; both>>placeBits != 0; both >>= 32 { // the last word may hold only one exception (see blocks)
			place, high := int32(both&(blockLen-1)), both<<32>>32>>placeBits
			k, _ := slices.BinarySearch(rows, int32(i*blockLen)+place)
			for k += start; k < len(dst); k++ {
				dst[k] += high << width
			}
		}
	}
	mask := ^uint64(0) >> (64 - max(b.bound, 1))
	for k, v := range dst[start:] {
		dst[start+k] = b.low + v&mask*b.scale
	}
	return dst
}

// summed reports whether to sum for `picks` rows of block i: for any number of rows if words have one bit,
// for few rows if words are wider, up to sumBits.
func (b *blocks) summed(i, picks, few int) bool {
	width := b.widths.at(i)
	return width == 1 || picks <= few && width <= sumBits && littleEndian
}

// onesBefore returns the number of the first n bits that are set; n is from 1 to 128.
func onesBefore(src []uint64, n int) uint64 {
	if n <= 64 {
		return uint64(bits.OnesCount64(src[0] << (-n & 63)))
	}
	return uint64(bits.OnesCount64(src[0]) + bits.OnesCount64(src[1]<<(-n&63)))
}

// sumBits is the greatest width of words that sumPacked sums.
const sumBits = 8

// highest[width] masks the top bit of each width-bit word in a 64-bit load.
var highest = func() (of [sumBits + 1]uint64) {
	for width := 1; width < len(of); width++ {
		for end := width; end <= 57; end += width {
			of[width] |= 1 << (end - 1)
		}
	}
	return of
}()

// sumPacked returns the sum of the width-bit words [lo, hi). It counts the words in a load with the highest
// bit set, doubles the count, adds the words with the next bit set, and so on.
func sumPacked(src []uint64, lo, hi int, width uint) (sum uint64) {
	if width == 0 {
		return 0
	}
	b, each := wordBytes(src), 57/int(width)
	for ; lo < hi; lo += each {
		bit := uint(lo) * width
		v := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & (1<<(uint(min(hi-lo, each))*width&63) - 1)
		some, place := 0, highest[width]
		for range width {
			some = 2*some + bits.OnesCount64(v&place)
			place >>= 1
		}
		sum += uint64(some)
	}
	return sum
}
