package granule

import (
	"math/bits"
	"slices"
)

// Digits are wide, so that few are needed, but counting their values must not take longer than the words. The
// widths below are the fastest for few and for many words.
const (
	fewBits  = 9
	manyBits = 11
	many     = 1 << 13
)

// radixSort sorts words by the bits from bit `from` on, and is stable. It sorts only up to the highest
// bit in which words differ, in digits of equal width: two or three for a profile's rows, at 1 to 2 ns
// each. It uses words and spare, which have the same length, and returns the slice with the result.
func radixSort(words, spare []uint64, from int) []uint64 {
	var differ uint64
	ordered := true
	for i := 1; i < len(words); i++ {
		differ |= words[i] ^ words[0]
		ordered = ordered && words[i-1]>>from <= words[i]>>from
	}
	if ordered {
		return words
	}
	return sortDiffering(words, spare, from, differ)
}

// sortDiffering is radixSort for words that differ in the given bits.
func sortDiffering(words, spare []uint64, from int, differ uint64) []uint64 {
	width, most := bits.Len64(differ>>from), fewBits
	if len(words) >= many {
		most = manyBits
	} else if width > fewBits && width <= 2*fewBits {
		sortTwoDigits(words, spare, from, (width+1)/2)
		return words
	}
	return sortDigits(words, spare, from, differ, most)
}

// sortDigits sorts words by the differing bits from bit `from` on, in digits of at most `most` bits.
func sortDigits(words, spare []uint64, from int, differ uint64, most int) []uint64 {
	width := bits.Len64(differ >> from)
	digits := (width + most - 1) / most
	digit := (width + digits - 1) / digits
	mask := uint64(1)<<digit - 1
	var place [1 << manyBits]uint32
	for shift := from; shift < from+width; shift += digit {
		if differ>>shift&mask != 0 {
			sortDigit(spare, words, shift, mask, &place)
			words, spare = spare, words
		}
	}
	return words
}

// sortTwoDigits sorts words by two digits of equal width, from bit `from` on. It counts both in one pass.
func sortTwoDigits(words, spare []uint64, from, digit int) {
	const most = 1<<fewBits - 1
	var low, high [most + 1]uint32
	mask, lowAt, highAt := uint64(1)<<digit-1, from&63, (from+digit)&63
	for _, w := range words {
		low[w>>lowAt&mask&most]++
		high[w>>highAt&mask&most]++
	}
	var sumLow, sumHigh uint32
	for i := range mask + 1 {
		countLow, countHigh := low[i&most], high[i&most]
		low[i&most], high[i&most] = sumLow, sumHigh
		sumLow += countLow
		sumHigh += countHigh
	}
	for _, w := range words {
		d := w >> lowAt & mask & most
		at := low[d]
		low[d] = at + 1
		spare[at] = w
	}
	for _, w := range spare {
		d := w >> highAt & mask & most
		at := high[d]
		high[d] = at + 1
		words[at] = w
	}
}

// sortDigit writes words to sorted in the order of a digit.
func sortDigit(sorted, words []uint64, shift int, mask uint64, place *[1 << manyBits]uint32) {
	mask &= 1<<manyBits - 1
	clear(place[:mask+1])
	for _, w := range words {
		place[w>>(shift&63)&mask]++
	}
	sum := uint32(0)
	for i, count := range place[:mask+1] {
		place[i] = sum
		sum += count
	}
	for _, w := range words {
		at := &place[w>>(shift&63)&mask]
		sorted[*at] = w
		*at++
	}
}

// rowOf returns the frame's row of a key.
func rowOf(key uint64) int { return int(uint32(key)) }

// sorted returns a key for each row, in key order. It sorts by series and leading list as one integer, and
// rows with equal integers by the rest of the key. In a profile the list sorts the rows completely, because
// they have one series.
func (f *frame) sorted(mem *slab) []uint64 {
	from, words := 0, []uint64(nil)
	list := f.leadingLists()
	if f.keyed = f.one && list != nil && !list.constant; f.keyed {
		from, words = 1, sortedLists(list.words, mem)
	} else {
		from, words = f.unsortedKeys(list, mem)
		words = radixSort(words, mem.room(len(words))[:len(words)], 32)
	}
	if columns := f.varying(from); columns != nil {
		ties(words, 32, func(lo, hi int) {
			slices.SortStableFunc(words[lo:hi], func(a, b uint64) int { return compareKeys(columns, rowOf(a), rowOf(b)) })
		})
	}
	return words
}

// sortedLists returns a key for each code of a list, in order.
func sortedLists(codes []uint64, mem *slab) []uint64 {
	if len(codes) == 0 {
		return nil
	}
	keys := mem.room(len(codes))[:len(codes)]
	first, last := codes[0], codes[0]
	differ, ordered := uint64(0), true
	for i, code := range codes {
		keys[i] = code<<32 | uint64(i)
		differ |= code ^ first
		ordered = ordered && last <= code
		last = code
	}
	if ordered {
		return keys
	}
	return sortDiffering(keys, mem.room(len(keys))[:len(keys)], 32, differ<<32)
}

// unsortedKeys returns the keys of rows in several series, and the first suffix column in which rows with
// equal keys can differ.
func (f *frame) unsortedKeys(list *frameColumn, mem *slab) (from int, words []uint64) {
	words = f.seriesRanks(mem.room(len(f.series)))
	if f.schema.ListsLead() {
		from = 1
	}
	if list != nil {
		width := bits.Len64(slices.Max(list.words))
		if bits.Len64(slices.Max(words))+width > 32 {
			// No batch has enough series or lists to come here. Compare everything.
			list, width, from = nil, 0, 0
		}
		for i := range words {
			words[i] <<= width
			if list != nil {
				words[i] |= list.word(i)
			}
		}
	}
	for i := range words {
		words[i] = words[i]<<32 | uint64(i)
	}
	return from, words
}

// compareKeys compares two rows in a frame in columns.
func compareKeys(columns []keyColumn, a, b int) int {
	for _, c := range columns {
		if d := compareWords(c.t, c.frameColumn, a, c.frameColumn, b); d != 0 {
			return d
		}
	}
	return 0
}

// ties calls f with each range of two or more neighbours that are equal in the bits from bit `from` on.
func ties(words []uint64, from int, f func(lo, hi int)) {
	for lo := 0; lo < len(words); {
		hi := lo + 1
		for hi < len(words) && words[hi]>>from == words[lo]>>from {
			hi++
		}
		if hi-lo > 1 {
			f(lo, hi)
		}
		lo = hi
	}
}
