package query

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Groups are numbered as a map numbers them, for keys of any length, the empty one too, and
// whatever was in the index before.
func TestGroupIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	var x groupIndex
	for _, test := range []struct{ width, asked, different int }{
		{9, 10, 5}, {27, 50_000, 20_000}, {0, 3, 1}, {9, 40, 40}, {18, 100_000, 300}, {9, 30_000, 30_000},
	} {
		x.start(rng.Uint64(), test.width)
		want := map[string]int32{}
		for range test.asked {
			key := make([]byte, test.width)
			if test.width > 0 {
				binary.BigEndian.PutUint32(key[test.width-4:], uint32(rng.IntN(test.different)))
			}
			number, known := want[string(key)]
			group, ok := x.find(key)
			if ok != known || ok && group != number {
				t.Fatalf("width %d: key %x is group %d, %v, want %d, %v", test.width, key, group, ok, number, known)
			}
			if !ok {
				want[string(key)] = int32(len(want))
				group = x.add(key)
			}
			if group != want[string(key)] || string(x.key(int(group))) != string(key) {
				t.Fatalf("width %d: group %d has key %x, want group %d, key %x", test.width, group, x.key(int(group)), want[string(key)], key)
			}
		}
		x.done()
		for i, slot := range x.slots[:cap(x.slots)] {
			if slot != 0 {
				t.Fatalf("width %d: slot %d is given back as %d", test.width, i, slot)
			}
		}
	}
}
