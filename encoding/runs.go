package encoding

import "sort"

// runs is words as runs of equal neighbours: the value of each run and the
// row after its last one.
type runs struct {
	values packed
	ends   packed
}

// runsOf encodes words. It allocates as much as there are runs.
func runsOf(words []uint64) runs {
	var values, ends []uint64
	for i, w := range words {
		if i == 0 || w != words[i-1] {
			values = append(values, w)
			ends = append(ends, uint64(i))
		}
	}
	if len(ends) == 0 {
		return runs{}
	}
	ends = append(ends[1:], uint64(len(words)))
	return runs{values: pack(values), ends: pack(ends)}
}

// find returns the run that row i is in, by binary search.
func (r *runs) find(i int) int {
	return sort.Search(r.ends.n, func(k int) bool { return r.ends.at(k) > uint64(i) })
}

func (r *runs) at(i int) uint64 { return r.values.at(r.find(i)) }

func (r *runs) appendTo(dst []uint64, lo, hi int) []uint64 {
	for k := r.find(lo); lo < hi; k++ {
		value, end := r.values.at(k), min(int(r.ends.at(k)), hi)
		for ; lo < end; lo++ {
			dst = append(dst, value)
		}
	}
	return dst
}

func (r *runs) size() int { return r.values.size() + r.ends.size() }
