package encoding

import (
	"math/bits"
	"slices"
	"sync"
)

// blockLen is the number of words that share a reference and a width.
const blockLen = 128

// order is the transform that a blocks layout applies to its words before packing.
type order uint8

const (
	asIs    order = 0 // the words
	rises   order = 1 // differences from the previous word, most of them not negative
	changes order = 2 // differences from the previous word, of either sign
	bends   order = 3 // differences of differences: timestamps at a steady pace
	sliced  order = 4 // the words, bit by bit: ordinals searched by range
)

// isWords reports whether the packed values are words, not differences.
func (o order) isWords() bool { return o == asIs || o == sliced }

// numbers returns about how many additional 64-bit words a block takes for its start values.
func (o order) numbers() int {
	if o == changes || o == bends {
		return 1
	}
	return 0
}

// worth returns the largest size that is acceptable in this order if another order takes `size`.
func (o order) worth(size int) int {
	if o == sliced {
		return size + size/4
	}
	return size
}

// bitsLen returns how many 64-bit words a block with n width-bit words takes.
func (o order) bitsLen(n, width int) int {
	if o == sliced {
		return slicedLen(n, width)
	}
	return packedLen(n, width)
}

// blocks is words in blocks of 128, each with its own reference and width (patched frame of reference). If
// a word needs more than width bits, its high bits are stored as an exception beside the block.
//
//	block  128 words in width bits, end to end or sliced, up to a whole 64-bit word
//	       exceptions, two per 64-bit word: place 7 bits | bits above width 25
//
// The packed values are (word - low) / scale, or their differences. `rises` takes differences modulo a power
// of 2 that exceeds all words; other differences are zigzag.
type blocks struct {
	low, scale uint64
	order      order
	bound      uint8  // rises: the words are below 2^bound
	n          int    // number of words
	firsts     packed // differences: the word before each block
	seconds    packed // bends: the difference before each block
	bases      packed // reference of each block
	widths     packed // width of each block
	starts     packed // start of each block, and the end, in 64-bit words
	bits       []uint64
}

const (
	placeBits  = 7
	excessBits = 32 - placeBits
)

// blocksDraft is blocks before packing, with a known size. Drafts are pooled, because their scratch memory
// is as large as the words.
type blocksDraft struct {
	blocks
	scaled []uint64
	work   []uint64
	plans  []blockPlan
}

func newBlocksDraft(words []uint64, plan packed) *blocksDraft {
	d := blocksDrafts.Get().(*blocksDraft)
	d.blocks = blocks{low: plan.min, scale: max(plan.scale, 1), n: len(words), bound: plan.width}
	d.scaled = slices.Grow(d.scaled[:0], len(words))[:len(words)]
	d.work = slices.Grow(d.work[:0], blockLen)[:blockLen]
	by := divide(d.scale)
	for i, w := range words {
		d.scaled[i] = by.exact(w - d.low)
	}
	n := (len(words) + blockLen - 1) / blockLen
	d.plans = slices.Grow(d.plans[:0], n)[:n]
	return d
}

var blocksDrafts = sync.Pool{New: func() any { return new(blocksDraft) }}

// done returns the scratch memory to the pool. The built blocks stay valid.
func (d *blocksDraft) done() {
	d.blocks = blocks{}
	if cap(d.scaled) <= draftKept {
		blocksDrafts.Put(d)
	}
}

// sampled is the number of blocks planned to choose an order.
const sampled = 16

// plan chooses the order from a sample of the blocks and plans all of them in it.
func (d *blocksDraft) plan(orders []order) {
	step := (len(d.plans) + sampled - 1) / sampled
	best := -1
	for _, o := range orders {
		size := 0
		for i := 0; i < len(d.plans); i += step {
			size += planBlock(d.differences(d.work, d.scaled, i, o), o).len + o.numbers()
		}
		if best < 0 || size < o.worth(best) {
			d.order, best = o, size
		}
		if len(orders) == 1 {
			break
		}
	}
	for i := range d.plans {
		d.plans[i] = planBlock(d.differences(d.work, d.scaled, i, d.order), d.order)
	}
}

// size estimates the bytes that the blocks will take.
func (d *blocksDraft) size() int {
	const self, perBlock = formSize + blocksSize + 5*8, 6
	size := self + perBlock*len(d.plans)
	for _, p := range d.plans {
		size += 8 * p.len
	}
	return size
}

func (d *blocksDraft) build() *blocks {
	b := d.blocks
	b.fill(d.scaled, d.plans, d.work)
	return &b
}

// differences returns the values to pack for block i.
func (b *blocks) differences(dst, scaled []uint64, i int, o order) []uint64 {
	lo := i * blockLen
	hi := min(lo+blockLen, len(scaled))
	before, step := b.before(scaled, i)
	mask := ^uint64(0) >> (64 - max(b.bound, 1))
	dst = dst[:0]
	for _, v := range scaled[lo:hi] {
		switch o {
		case asIs, sliced:
			dst = append(dst, v)
		case rises:
			dst = append(dst, (v-before)&mask)
		case changes:
			dst = append(dst, zigzag(v-before))
		case bends:
			dst = append(dst, zigzag(v-before-step))
			step = v - before
		}
		before = v
	}
	return dst
}

// before returns the word before block i, and its difference from its predecessor. The first
// block gets a virtual predecessor that makes both differences the same as the next.
func (b *blocks) before(scaled []uint64, i int) (word, step uint64) {
	switch at := i * blockLen; {
	case at >= 2:
		return scaled[at-1], scaled[at-1] - scaled[at-2]
	case len(scaled) > 2:
		step = scaled[2] - scaled[1]
	case len(scaled) > 1:
		step = scaled[1] - scaled[0]
	}
	return scaled[0] - step, step
}

// blockPlan has the parameters of a packed block.
type blockPlan struct {
	base  uint64
	width int
	len   int // in 64-bit words
}

// planBlock finds the width that needs the fewest bits.
func planBlock(block []uint64, o order) blockPlan {
	base := slices.Min(block)
	var count [65]int // words by the number of bits they need
	for _, v := range block {
		count[bits.Len64(v-base)]++
	}
	widest := 64
	for widest > 0 && count[widest] == 0 {
		widest--
	}
	best := blockPlan{base, widest, o.bitsLen(len(block), widest)}
	exceptions := 0
	for width := widest - 1; width >= 0 && widest-width <= excessBits; width-- {
		exceptions += count[width+1]
		if size := o.bitsLen(len(block), width) + (exceptions+1)/2; size < best.len {
			best.width, best.len = width, size
		}
	}
	return best
}

// fill packs the blocks as planned.
func (b *blocks) fill(scaled []uint64, plans []blockPlan, work []uint64) {
	total := 0
	var firsts, seconds, bases, widths, starts []uint64
	for i, p := range plans {
		word, step := b.before(scaled, i)
		firsts, seconds, bases = append(firsts, word), append(seconds, step), append(bases, p.base)
		widths, starts = append(widths, uint64(p.width)), append(starts, uint64(total))
		total += p.len
	}
	b.bits = make([]uint64, total+1)
	for i, p := range plans {
		out := b.bits[starts[i]:]
		block := b.differences(work, scaled, i, b.order)
		exception := 2 * b.order.bitsLen(len(block), p.width) // in 32-bit halves
		for k, v := range block {
			v -= p.base
			if p.width < 64 && v>>p.width != 0 {
				out[exception/2] |= (v>>p.width<<placeBits | uint64(k)) << (exception % 2 * 32)
				exception++
				v &= 1<<p.width - 1
			}
			block[k] = v
		}
		if b.order == sliced {
			putSliced(out, block, p.width)
			continue
		}
		for k, v := range block {
			put64(out, k*p.width, uint(p.width), v)
		}
	}
	b.bases, b.widths, b.starts = pack(bases), pack(widths), pack(append(starts, uint64(total)))
	if !b.order.isWords() {
		b.firsts = pack(firsts)
	}
	if b.order == bends {
		b.seconds = pack(seconds)
	}
}

// put64 sets `width` bits at offset bit.
func put64(dst []uint64, bit int, width uint, v uint64) {
	word, shift := bit>>6, uint(bit&63)
	dst[word] |= v << shift
	if shift+width > 64 {
		dst[word+1] |= v >> (64 - shift)
	}
}

// read unpacks block i into dst, which must have room for it, and returns its words.
func (b *blocks) read(dst []uint64, i int) []uint64 {
	n := min(blockLen, b.n-i*blockLen)
	dst = dst[:n]
	src := b.bits[b.starts.at(i):]
	width, base := uint(b.widths.at(i)), b.bases.at(i)
	switch {
	case width == 0:
		clear(dst)
	case b.order == sliced:
		readSliced(dst, src, int(width))
	default:
		unpack(dst, src, 0, width)
	}
	packed, end := b.order.bitsLen(n, int(width)), int(b.starts.at(i+1)-b.starts.at(i))
	for _, two := range src[packed:end] {
		dst[two&(blockLen-1)] |= two << 32 >> 32 >> placeBits << width
		if two >>= 32; two>>placeBits != 0 { // the last word may hold only one exception (see blocks)
			dst[two&(blockLen-1)] |= two >> placeBits << width
		}
	}
	b.sum(dst, i, base)
	return dst
}

// sum turns the packed values back into words.
func (b *blocks) sum(dst []uint64, i int, base uint64) {
	low, scale := b.low, b.scale
	if b.order.isWords() {
		low += base * scale
		for k, v := range dst {
			dst[k] = low + v*scale
		}
		return
	}
	word := b.firsts.at(i)
	switch b.order {
	case rises:
		mask := ^uint64(0) >> (64 - max(b.bound, 1))
		for k, v := range dst {
			word += v + base // masked only in dst, so that the next addition does not wait
			dst[k] = low + word&mask*scale
		}
	case changes:
		for k, v := range dst {
			word += unzigzag(v + base)
			dst[k] = low + word*scale
		}
	default:
		step := b.seconds.at(i)
		for k, v := range dst {
			step += unzigzag(v + base)
			word += step
			dst[k] = low + word*scale
		}
	}
}

// at returns word i. It decodes the block.
func (b *blocks) at(i int) uint64 {
	var buf [blockLen]uint64
	return b.read(buf[:], i/blockLen)[i%blockLen]
}

func (b *blocks) appendTo(dst []uint64, lo, hi int) []uint64 {
	var buf [blockLen]uint64
	for lo < hi {
		i, skip := lo/blockLen, lo%blockLen
		n := min(blockLen-skip, hi-lo)
		if start := len(dst); skip == 0 && n == min(blockLen, b.n-lo) && start+n <= cap(dst) {
			dst = dst[:start+n]
			b.read(dst[start:], i)
		} else {
			dst = append(dst, b.read(buf[:], i)[skip:skip+n]...)
		}
		lo += n
	}
	return dst
}

// Bytes that a form and its blocks take in memory.
const (
	formSize   = 32
	blocksSize = 312
)

func (b *blocks) size() int {
	return blocksSize + 8*cap(b.bits) + b.firsts.size() + b.seconds.size() + b.bases.size() + b.widths.size() + b.starts.size()
}

// zigzag maps small differences of either sign to small words.
func zigzag(difference uint64) uint64 {
	return difference<<1 ^ uint64(int64(difference)>>63)
}

func unzigzag(word uint64) uint64 { return word>>1 ^ -(word & 1) }
