package encoding

import "math"

// blocks adds words in blocks.
func (w *ImageWriter) blocks(b *blocks) {
	w.Int(b.low)
	w.Uint(b.scale)
	if b.order == rises {
		w.Uint(uint64(max(b.bound, 1))) // the value that the reader returns
	}
	for _, p := range b.numbersOf() {
		w.packed(p)
	}
	w.putWords(b.bits[:max(1, len(b.bits))-1])
}

// numbersOf returns blocks' packed numbers in an image's order.
func (b *blocks) numbersOf() []*packed {
	all := []*packed{&b.starts, &b.widths, &b.bases, &b.firsts, &b.seconds}
	switch {
	case b.order.isWords():
		return all[:3]
	case b.order == bends:
		return all
	}
	return all[:4]
}

// numberNames are the names of numbersOf.
var numberNames = [...]string{"starts", "widths", "bases", "firsts", "seconds"}

func (r *ImageReader) blocks(o order, n uint64) Words {
	r.In("blocks")
	b := &blocks{order: o, n: int(n), low: r.Int("low"), scale: r.Uint("scale", math.MaxUint64)}
	if o == rises {
		if b.bound = uint8(r.Uint("bound", 64)); b.bound == 0 {
			r.Failf("bound is 0")
		}
	}
	count := (n + blockLen - 1) / blockLen
	for i, p := range b.numbersOf() {
		more := uint64(0)
		if i == 0 {
			more = 1 // the end
		}
		*p = r.packed(numberNames[i], count+more)
	}
	if r.Err() != nil {
		return Words{}
	}
	r.In("blocks")
	if b.scale == 0 {
		r.Failf("scale is 0")
	}
	b.bits = r.bits("bits", b.starts.at(int(count)))
	if r.Err() == nil {
		r.checkBlocks(b)
	}
	return ofBlocks(b)
}

// checkBlocks checks everything that the reader of a block assumes, because a wrong offset would panic
// there.
func (r *ImageReader) checkBlocks(b *blocks) {
	count := int(b.widths.n)
	end := b.starts.at(0)
	if end != 0 {
		r.Failf("block 0 starts at %d", end)
	}
	for i := 0; i < count && r.Err() == nil; i++ {
		n := min(blockLen, b.n-i*blockLen)
		start, width := end, b.widths.at(i)
		end = b.starts.at(i + 1)
		switch room := end - start; {
		case width > 64:
			r.Failf("block %d has a width of %d", i, width)
		case end < start || end >= uint64(max(1, len(b.bits))) || room < uint64(b.order.bitsLen(n, int(width))):
			r.Failf("block %d of %d words of width %d lies in 64-bit words %d to %d", i, n, width, start, end)
		default:
			r.checkExceptions(i, n, b.bits[start+uint64(b.order.bitsLen(n, int(width))):end])
		}
	}
}

// checkExceptions checks block i's exceptions. The block has n words. Places must ascend, because each way to
// read a block takes at most one exception per word.
func (r *ImageReader) checkExceptions(i, n int, exceptions []uint64) {
	if areExceptions(n, exceptions) {
		return
	}
	next := uint64(0)
	for k, two := range exceptions {
		for half := range 2 {
			e := two >> (32 * half) & math.MaxUint32
			if e == 0 && half == 1 && k == len(exceptions)-1 {
				return // half a word is left over
			}
			place, excess := e&(blockLen-1), e>>placeBits
			if place < next || place >= uint64(n) || excess == 0 {
				r.Failf("exception %d of block %d is %d * 2^width at word %d of %d, and %d is next", 2*k+half, i, excess, place, n, next)
				return
			}
			next = place + 1
		}
	}
}

// areExceptions reports whether a block's exceptions are in order, without a branch for each. The block has n
// words. The result can be false if half a word is left over.
func areExceptions(n int, exceptions []uint64) bool {
	const none = 1 << placeBits // the least exception
	var wrong, last uint64      // differences below 0; place of the last exception, plus 1
	for _, two := range exceptions {
		one, other := two<<32>>32, two>>32
		first, second := one%blockLen, other%blockLen
		wrong |= (first - last) | (one - none) | (second - first - 1) | (other - none)
		last = second + 1
	}
	return (wrong|(uint64(n)-last))>>63 == 0
}
