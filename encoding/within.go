package encoding

import (
	"math"
	"math/bits"
	"slices"
)

// within reports whether all words are at least least and at most most, and the references of
// packed words at most most. It reads the words that their packed form does not show to be, for
// 1 to 3 ns each.
func (w *Words) within(least, most uint64) bool {
	if least == 0 && most == math.MaxUint64 || w.n == 0 {
		return true
	}
	switch {
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
	high, low := bits.Mul64(^uint64(0)>>(64-p.width), max(p.scale, 1))
	if p.min >= least && high == 0 && low <= most-p.min {
		return true
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
	top := (most - b.low) / b.scale // of the words before they are scaled
	var buf [blockLen]uint64
	for i := range int(b.widths.n) {
		if b.order.isWords() && b.bases.at(i) > top {
			return false // a reference, at which Bits begins to look words up
		}
		first, last, ok := b.reach(i)
		if ok && last <= top && b.low+first*b.scale >= least {
			continue
		}
		if !allWithin(b.read(buf[:], i), least, most) {
			return false
		}
	}
	return true
}

// reach returns bounds of the words of block i before they are scaled; ok is false if they are
// not known without reading it.
func (b *blocks) reach(i int) (first, last uint64, ok bool) {
	const small, sum = 32, 62 // bits: of the terms of a sum, and of exceptions
	width, base := b.widths.at(i), b.bases.at(i)
	if width > small || base>>small > 0 || b.order == changes || b.order == bends {
		return 0, 0, false
	}
	n := min(blockLen, b.n-i*blockLen)
	excess := b.excess(i, n)
	most := uint64(1)<<width - 1
	if b.order.isWords() {
		return base, base + most + excess<<width, excess>>(sum-width) == 0
	}
	before := b.firsts.at(i)
	last = before + uint64(n)*(base+most) + excess<<width
	ok = before>>small == 0 && excess>>(sum-width) == 0 && last <= ^uint64(0)>>(64-max(b.bound, 1))
	return before + base, last, ok
}

// excess returns the sum of the exceptions of block i, which has n words.
func (b *blocks) excess(i, n int) (sum uint64) {
	from := b.starts.at(i) + uint64(b.order.bitsLen(n, int(b.widths.at(i))))
	for _, two := range b.bits[from:max(from, b.starts.at(i+1))] {
		sum += two<<32>>32>>placeBits + two>>32>>placeBits
	}
	return sum
}

// allWithin reports whether words, of which there is one, are within bounds.
func allWithin(words []uint64, least, most uint64) bool {
	return slices.Min(words) >= least && slices.Max(words) <= most
}
