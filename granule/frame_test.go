package granule

import (
	"cmp"
	"testing"

	"github.com/granarydb/granary/encoding"
)

// Rows of two frames compare in a family by the first name in which they differ, with nulls first, whether a frame
// has a column of nulls or lacks the column.
func TestCompareFamilies(t *testing.T) {
	names := []string{"tags.a", "tags.b", "tags.c"}
	const missing, null, states = 0, 1, 4 // others are values
	family := func(n int) (columns []frameColumn, values [3]int) {
		for i, name := range names {
			state := n % states
			n /= states
			if state == missing {
				continue
			}
			columns = append(columns, frameColumn{name: name, words: []uint64{uint64(state)}, valid: []bool{state != null}})
			values[i] = state - null
		}
		return columns, values
	}
	for n := range states * states * states {
		for k := range states * states * states {
			a, x := family(n)
			b, y := family(k)
			want := cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(x[2], y[2]))
			if got := compareFamilies(encoding.Uint64, a, 0, b, 0); got != want {
				t.Fatalf("%v and %v compare as %d, want %d", a, b, got, want)
			}
		}
	}
}
