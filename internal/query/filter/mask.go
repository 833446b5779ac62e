package filter

import (
	"math/bits"

	"github.com/granarydb/granary/encoding"
)

// mask is a condition's result on open rows: all, none, or the rows whose bit is set.
type mask struct {
	all  bool
	from int32    // leading words that bits omits; rows before and after bits are not chosen
	bits []uint64 // nil: all decides. Bits after the last row are meaningless
}

// next returns the first chosen row of n rows, from row on. If not is true, it returns the first row that
// is not chosen. It returns n if there is none. The mask must be whole.
func (m *mask) next(row, n int, not bool) int {
	if m.bits == nil || row >= n {
		if m.all != not {
			return row
		}
		return n
	}
	flip := -encoding.FromBool(not)
	at := row / 64
	word := (m.bits[at] ^ flip) >> (row % 64) << (row % 64)
	for word == 0 {
		if at++; 64*at >= n {
			return n
		}
		word = m.bits[at] ^ flip
	}
	return min(n, 64*at+bits.TrailingZeros64(word))
}

// whole reports whether bits covers all n rows.
func (m *mask) whole(n int) bool { return m.from == 0 && len(m.bits) == (n+63)/64 }

// scattered reports whether the chosen rows of n are mostly in short runs. It clears the bits after the
// last row.
func (m *mask) scattered(n int) bool {
	const long = 8 // rows in a run from which on a block copy is as fast as single rows
	if m.whole(n) {
		m.bits[len(m.bits)-1] &= ^uint64(0) >> (-n & 63)
	}
	rows, runs, before := 0, 0, uint64(0)
	for _, word := range m.bits {
		rows += bits.OnesCount64(word)
		runs += bits.OnesCount64(word &^ (word<<1 | before>>63))
		before = word
	}
	return rows < long*runs
}

// maskOf returns the mask of n rows with bits. It drops the bits if all are equal.
func maskOf(bits []uint64, n int) mask {
	some, every := uint64(0), ^uint64(0)
	last := len(bits) - 1
	for _, word := range bits[:last] {
		some |= word
		every &= word
	}
	behind := ^(^uint64(0) >> (-n & 63))
	some |= bits[last] &^ behind
	every &= bits[last] | behind
	if some == 0 || every == ^uint64(0) {
		return mask{all: some != 0}
	}
	return mask{bits: bits}
}
