package names

import (
	"math/bits"
	"slices"
	"sync/atomic"
)

// Keep returns an interner with the texts whose codes are marked: a bit each, in words of 64. Unused codes
// must not be marked.
//
// Readers of t go on. Once next has taken over, only they hold `bytes` bytes; t must then Retire. Otherwise
// next must not be used. Both share the blocks of which at least half is needed, and the pages of codes
// that are entirely needed. The rest is copied. The cost is a few ns for each code, and some 50 ns for each
// text that is copied.
func (t *Interner) Keep(marks []uint64) (next *Interner, bytes int) {
	next = &Interner{writer: writer{seed: t.seed, largest: t.largest, bytes: t.bytes, tail: t.tail}}
	if t.blocks.Load() == nil {
		return next, 0
	}
	sparse := t.sparse(marks)
	bytes = next.takeBlocks(t, sparse) + next.takePages(t, marks, sparse)
	next.supplyRest()
	next.index(max(firstCells, next.inUse+next.inUse/2))
	next.Settle()
	return next, bytes
}

func isMarked(marks []uint64, code int) bool { return marks[code/64]>>(code%64)&1 != 0 }

// sparse returns the blocks in which marked texts fill less than half.
func (t *Interner) sparse(marks []uint64) []bool {
	blocks, places := *t.blocks.Load(), t.places.list()
	used := make([]int, len(blocks))
	for word, set := range marks {
		for ; set != 0; set &= set - 1 {
			i := word*64 + bits.TrailingZeros64(set) - 1
			block, offset, end := splitPlace(places[i/pageLen][i%pageLen].Load())
			used[block] += end - offset
		}
	}
	sparse := make([]bool, len(blocks))
	for i, block := range blocks {
		sparse[i] = len(block) > 0 && 2*used[i] < len(block)
	}
	return sparse
}

// takeBlocks takes the blocks that are not sparse, and returns the others' bytes.
func (t *Interner) takeBlocks(from *Interner, sparse []bool) (bytes int) {
	blocks := slices.Clone(*from.blocks.Load())
	for i := range blocks {
		if sparse[i] {
			bytes += len(blocks[i])
			blocks[i] = noBytes
		}
	}
	if t.tail.size > 0 && sparse[t.tail.block] {
		t.tail = textEnd{}
	}
	t.bytes -= bytes
	t.setBlocks(blocks)
	return bytes
}

// takePages takes the pages of codes, or copies their marked codes to new pages, with copies of their texts
// in sparse blocks. It returns the bytes of the places that it does not take.
func (t *Interner) takePages(from *Interner, marks []uint64, sparse []bool) (bytes int) {
	places, states := slices.Clone(from.places.list()), slices.Clone(from.states.list())
	for p := range places {
		if places[p] == nil {
			continue
		}
		inUse, same := 0, true
		for k := range states[p] {
			if states[p][k].user == 0 {
				continue
			}
			if !isMarked(marks, p*pageLen+k+1) {
				same = false
				continue
			}
			inUse++
			block, _, _ := splitPlace(places[p][k].Load())
			same = same && !sparse[block]
		}
		if t.inUse += inUse; inUse > 0 {
			t.held++
		}
		if same && inUse > 0 {
			continue
		}
		bytes += pageLen * placeSize
		if inUse == 0 {
			places[p], states[p] = nil, nil
			continue
		}
		places[p], states[p] = t.copyPage(from, p, marks, sparse)
	}
	t.setPages(places, states)
	return bytes
}

// copyPage copies a page's marked codes to a new page.
func (t *Interner) copyPage(from *Interner, p int, marks []uint64, sparse []bool) (*[pageLen]atomic.Uint64, *[pageLen]textState) {
	places, states := new([pageLen]atomic.Uint64), new([pageLen]textState)
	for k := range states {
		code := p*pageLen + k + 1
		if !isMarked(marks, code) {
			continue
		}
		states[k] = from.states.list()[p][k]
		place := from.places.list()[p][k].Load()
		if block, _, _ := splitPlace(place); sparse[block] {
			place = keep(&t.writer, from.At(uint32(code)))
		}
		places[k].Store(place)
	}
	return places, states
}

// supplyRest makes all unused codes in the pages free, the lowest to be given first.
func (t *Interner) supplyRest() {
	t.free = make([]uint32, 0, t.held*pageLen-t.inUse)
	for p, states := range slices.Backward(t.states.list()) {
		if states == nil {
			continue
		}
		for k := pageLen - 1; k >= 0; k-- {
			if states[k].user == 0 {
				t.free = append(t.free, uint32(p*pageLen+k+1))
			}
		}
	}
}
