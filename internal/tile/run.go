package tile

// End is the end of an interval, and the word of its value.
type End struct {
	End  int64
	Word uint64
}

// Null is in the byte of a slot: the value is null.
const Null = 1 << 7

// Run is intervals that ended, on their way into tiles: columns as in a block.
type Run struct {
	At    []End
	Slots []uint8 // and Null
}

// Part returns the entries [lo, hi).
func (r Run) Part(lo, hi int) Run { return Run{r.At[lo:hi], r.Slots[lo:hi]} }

// Behind returns the entries from n on.
func (r Run) Behind(n int) Run { return r.Part(n, len(r.At)) }

// One returns 1 for true: a sum without a branch.
func One(b bool) (n uint64) {
	if b {
		n = 1
	}
	return n
}
