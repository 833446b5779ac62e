package tile

// End is an interval's end, and its value's word.
type End struct {
	End  int64
	Word uint64
}

// Null is a flag in a slot's byte: the value is null.
const Null = 1 << 7

// Run is ended intervals on their way into tiles, as columns like in a block.
type Run struct {
	At    []End
	Slots []uint8 // slot, and Null
}

// Part returns the entries [lo, hi).
func (r Run) Part(lo, hi int) Run { return Run{r.At[lo:hi], r.Slots[lo:hi]} }

// Behind returns the entries from n on.
func (r Run) Behind(n int) Run { return r.Part(n, len(r.At)) }

// One returns 1 for true, to add without a branch.
func One(b bool) (n uint64) {
	if b {
		n = 1
	}
	return n
}
