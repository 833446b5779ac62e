package encoding

import (
	"math"
	"math/bits"
)

// within reports whether all words are in [least, most], and the references of packed words at most most.
// If a block's packed form does not show it, it compares the words while they are packed, or reads them:
// 0.1 to 2 ns per word.
func (w *Words) within(least, most uint64) bool {
	switch {
	case least == 0 && most == math.MaxUint64 || w.n == 0:
		return true
	case least > most:
		return false
	case w.form == nil:
		return w.packed.within(least, most)
	case w.form.runs != nil:
		return w.form.runs.values.within(least, most)
	case w.form.lookup != nil:
		return w.form.lookup.table.within(least, most)
	case w.form.sparse != nil:
		kept := &w.form.sparse.kept
		return (least == 0 || kept.n == w.n) && kept.within(least, most)
	}
	return w.form.blocks.within(least, most)
}

func (p *packed) within(least, most uint64) bool {
	if p.min > most {
		return false
	}
	if p.min >= least {
		top := (most - p.min) / max(p.scale, 1)
		if top >= widest(uint64(p.width)) || atMost(p.bits, int(p.n), uint(p.width), asIs, top) {
			return true
		}
	}
	var buf [blockLen]uint64
	for lo := 0; lo < int(p.n); lo += blockLen {
		if !allWithin(p.appendTo(buf[:0], lo, min(lo+blockLen, int(p.n))), least, most) {
			return false
		}
	}
	return true
}

func (b *blocks) within(least, most uint64) bool {
	if b.low > most {
		return false
	}
	top := (most - b.low) / b.scale // the unscaled words' bound
	var buf [blockLen]uint64
	for i := range int(b.widths.n) {
		if b.order.isWords() && b.bases.at(i) > top {
			return false // with such a reference Bits would begin to look words up
		}
		first, last, ok := b.reach(i, top)
		if ok && last <= top && b.low+first*b.scale >= least {
			continue
		}
		if !allWithin(b.read(buf[:], i), least, most) {
			return false
		}
	}
	return true
}

// reach returns bounds of block i's unscaled words, or shows that they are at most top. ok is false if only
// reading the block could.
func (b *blocks) reach(i int, top uint64) (first, last uint64, ok bool) {
	const small = 32 // with this many bits, a block's sums do not overflow
	if b.order == rises && widest(uint64(b.bound)) <= top {
		return 0, top, true
	}
	n, width, base := min(blockLen, b.n-i*blockLen), b.widths.at(i), b.bases.at(i)
	start := b.starts.at(i)
	excess := sumExceptions(b.bits[start+uint64(b.order.bitsLen(n, int(width))) : b.starts.at(i+1)])
	if width > small || base>>small > 0 || b.order == bends || excess<<width>>width != excess || excess<<width>>62 > 0 {
		return 0, 0, false
	}
	most := widest(width)
	if b.order.isWords() {
		if last = base + most + excess<<width; last > top && excess == 0 && atMost(b.bits[start:], n, uint(width), b.order, top-base) {
			last = top
		}
		return base, last, true
	}
	before, limit := b.firsts.at(i), top
	if b.order == rises {
		limit = min(top, widest(uint64(b.bound)))
	}
	sum, more := most*uint64(n), base*uint64(n)+excess<<width
	if before+sum+more > limit && width <= sumBits && littleEndian {
		sum = sumPacked(b.bits[start:], 0, n, uint(width))
	}
	if sum += more; b.order == changes { // by at most half of each packed number, rounded up
		sum = (sum + uint64(n)) / 2
		first = before - sum
	} else {
		first = before
	}
	return first, before + sum, before>>small == 0 && first <= before && before+sum <= limit
}

// widest returns the greatest number with `width` bits.
func widest(width uint64) uint64 { return ^uint64(0) >> (64 - width) }

// sumExceptions returns the sum of a block's exceptions, in units of 2^width.
func sumExceptions(exceptions []uint64) (sum uint64) {
	for _, two := range exceptions {
		sum += two<<32>>32>>placeBits + two>>32>>placeBits
	}
	return sum
}

// atMost reports whether the packed form shows that n packed words, which have no exceptions, are at most
// top. top is less than the greatest word with this width.
func atMost(src []uint64, n int, width uint, o order, top uint64) bool {
	const wide = 14 // bits that fit lanes of 16
	r := wordRanges{width: width, sliced: o == sliced, n: 1}
	switch {
	case r.sliced:
		r.to[0] = top
	case width > wide || !littleEndian:
		return false
	case width > narrowBits:
		r.to[0] = top * lanes16
	default:
		r.to[0] = top * lanes8
	}
	for lo := 0; lo < n; lo += 64 {
		rows := min(64, n-lo)
		if bits.OnesCount64(r.bits(src, lo*int(width), rows)) < rows {
			return false
		}
	}
	return true
}

// allWithin reports whether all words are within bounds.
func allWithin(words []uint64, least, most uint64) bool {
	for _, w := range words {
		if w-least > most-least {
			return false
		}
	}
	return true
}
