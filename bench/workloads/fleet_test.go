package workloads

import (
	"math"
	"testing"

	"github.com/granarydb/granary/bench/fleet"
)

// TestFleet_Bytes bounds the bytes and allocations of a million rows, which do not depend
// on the machine.
func TestFleet_Bytes(t *testing.T) {
	f := fleet.New(1)
	c, err := runCodes(f, f.Describe(1_000_000), 100)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", c)
	for _, m := range []struct {
		what      string
		got, most float64
	}{
		{"heap bytes a row without dictionaries", c.rowsHeap, 4},
		{"heap bytes a stack", c.stackHeap, 75},
		{"heap bytes a row", c.allHeap, 23},
		{"allocations a profile, 100 a transaction", c.allocs, 4.2},
		{"write amplification", c.amplification, 3.2},
		{"own account, off by", math.Abs(c.own - 1), 0.1},
	} {
		if m.got > m.most {
			t.Errorf("%s: %.2f, want at most %v", m.what, m.got, m.most)
		}
	}
}
