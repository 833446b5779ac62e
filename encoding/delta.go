package encoding

// anchorEvery is how many words share one anchor. Random access adds up to
// this many differences; an anchor costs 8 bytes a block, half a bit a word.
const anchorEvery = 128

// delta is words as differences between neighbours. The word that opens each
// block is kept whole, so that reading may start there.
type delta struct {
	anchors []uint64
	steps   packed // zigzag(w[i]-w[i-1]); where a block opens, a neighbour's
}

func deltaOf(words []uint64) delta {
	d := delta{anchors: make([]uint64, 0, (len(words)+anchorEvery-1)/anchorEvery)}
	steps := make([]uint64, len(words))
	for i, w := range words {
		if i%anchorEvery == 0 {
			d.anchors = append(d.anchors, w)
			// Nobody reads this step. A neighbour's keeps the frame narrow.
			steps[i] = steps[max(i-1, 0)]
		} else {
			steps[i] = zigzag(w - words[i-1])
		}
	}
	if len(steps) > 1 {
		steps[0] = steps[1]
	}
	d.steps = pack(steps)
	return d
}

func (d *delta) at(i int) uint64 {
	block := i / anchorEvery
	w := d.anchors[block]
	for k := block*anchorEvery + 1; k <= i; k++ {
		w += unzigzag(d.steps.at(k))
	}
	return w
}

func (d *delta) appendTo(dst []uint64, lo, hi int) []uint64 {
	if lo >= hi {
		return dst
	}
	w := d.at(lo)
	dst = append(dst, w)
	for i := lo + 1; i < hi; i++ {
		if i%anchorEvery == 0 {
			w = d.anchors[i/anchorEvery]
		} else {
			w += unzigzag(d.steps.at(i))
		}
		dst = append(dst, w)
	}
	return dst
}

func (d *delta) size() int { return 8*len(d.anchors) + d.steps.size() }

// zigzag maps small differences of either sign to small words.
func zigzag(difference uint64) uint64 {
	return difference<<1 ^ uint64(int64(difference)>>63)
}

func unzigzag(word uint64) uint64 { return word>>1 ^ -(word & 1) }
