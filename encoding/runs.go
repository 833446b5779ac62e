package encoding

import (
	"sort"
	"sync"
)

// runs is words as runs of equal neighbours: each run's value and the row after its last.
type runs struct {
	values Words // flat
	ends   packed
}

// runsOf encodes words. It allocates little beyond the result.
func runsOf(words []uint64) *runs {
	d := takeDraft()
	defer d.done()
	values, ends := d.values[:0], d.ends[:0]
	for i, w := range words {
		if i == 0 || w != words[i-1] {
			values = append(values, w)
			ends = append(ends, uint64(i))
		}
	}
	if len(ends) == 0 {
		return &runs{}
	}
	ends = append(ends, uint64(len(words)))
	d.values, d.ends = values, ends
	return &runs{values: inBlocks(values), ends: pack(ends[1:])}
}

// find returns the run of row i, by binary search.
func (r *runs) find(i int) int {
	return sort.Search(int(r.ends.n), func(k int) bool { return r.ends.at(k) > uint64(i) })
}

func (r *runs) at(i int) uint64 { return r.values.At(r.find(i)) }

func (r *runs) appendTo(dst []uint64, lo, hi int) []uint64 {
	if lo >= hi {
		return dst
	}
	var buf [blockLen]uint64
	for run := r.find(lo); lo < hi; {
		for _, value := range r.values.appendFlat(buf[:0], run, min(run+blockLen, int(r.ends.n))) {
			end := min(int(r.ends.at(run)), hi)
			for ; lo < end; lo++ {
				dst = append(dst, value)
			}
			run++
		}
	}
	return dst
}

func (r *runs) size() int {
	const self = 112
	return self + r.values.Size() + r.ends.size()
}

// draft is scratch memory for words that are assembled before packing. The result does not
// refer to it. Drafts are pooled.
type draft struct{ values, ends []uint64 }

var drafts = sync.Pool{New: func() any { return new(draft) }}

// draftKept bounds a pooled draft, in words: a granule's column.
const draftKept = 1 << 17

func takeDraft() *draft { return drafts.Get().(*draft) }

func (d *draft) done() {
	if max(cap(d.values), cap(d.ends)) <= draftKept {
		drafts.Put(d)
	}
}
