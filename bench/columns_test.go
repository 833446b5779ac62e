package main

import (
	"math"
	"testing"
)

// TestColumns holds what a million rows of the fleet take to what they may take: bytes
// and allocations, which do not depend on the machine as times do.
func TestColumns(t *testing.T) {
	f := newFleet(1)
	c, err := f.runCodes(f.describe(1_000_000), 100)
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
