package fields

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// PutUint writes what encoding/binary writes, behind what is there.
func TestPutUint(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, v uint64, n int) {
		b := bytes.Repeat([]byte{0xff}, n+binary.MaxVarintLen64)
		want := binary.AppendUvarint(bytes.Repeat([]byte{0xff}, n), v)
		if end := PutUint(b, n, v); !bytes.Equal(b[:end], want) {
			t.Fatalf("%d at %d is % x, want % x", v, n, b[:end], want)
		}
	}
	for bit := range 65 {
		for _, v := range []uint64{1<<bit - 1, 1 << bit, 1<<bit + 1, math.MaxUint64 - 1<<bit} {
			check(t, v, bit%5)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "number") >> rapid.IntRange(0, 63).Draw(t, "shift")
		check(t, v, rapid.IntRange(0, 5).Draw(t, "place"))
	})
}
