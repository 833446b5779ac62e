package arrowconv

import (
	"fmt"
	"testing"

	"github.com/granarydb/granary/internal/effort"
)

// TestHostileBytes gives every byte of every buffer of every form each value
// that it can have: the answer is an ErrRecord or a batch that Check can read
// (A3), within a bound (A5). It tries some values only of slices, under the race
// detector, with -short, and if tests are not full.
func TestHostileBytes(t *testing.T) {
	tried, taken := 0, 0
	spent := newMeter()
	for k, fresh := range victims(t) {
		v := fresh()
		step := 1
		switch {
		case effort.Brief():
			step = 37
		case !effort.Full:
			step = 11
		case v.slice:
			step = 7
		}
		for node, d := range v.nodes {
			for i, b := range d.Buffers() {
				for at := range bytesOf(b) {
					was := b.Bytes()[at]
					for change := 1; change < 256; change += step {
						b.Bytes()[at] = was ^ byte(change)
						if v.batch(t, "changed") == nil {
							taken++
						}
						if bytes, yes := spent.exceeded(func() { v.batch(t, "changed") }); yes {
							t.Errorf("%v: allocated %d bytes", v.at(k, node, i, at, change), bytes)
						}
						if t.Failed() {
							t.Fatal(v.at(k, node, i, at, change))
						}
						tried++
					}
					b.Bytes()[at] = was
				}
			}
		}
		if err := v.batch(t, "restored"); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d records, %d taken", tried, taken)
	if taken == 0 || taken == tried {
		t.Errorf("%d of %d records taken", taken, tried)
	}
}

// at names a change.
func (v *victim) at(k, node, buffer, at, change int) string {
	return fmt.Sprintf("victim %d (%v as %v), node %d, buffer %d, byte %d changed by %#x",
		k, v.array.DataType(), v.typ, node, buffer, at, change)
}
