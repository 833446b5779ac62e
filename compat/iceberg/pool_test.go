package iceberg

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestPool takes, grows and frees blocks at random. No two have the same bytes, new bytes are zero, and old ones stay.
func TestPool(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	p := newPool()
	type block struct {
		bytes []byte
		fill  byte
	}
	var all []block
	size := func() int { return rng.IntN(1 << rng.IntN(23)) }
	for step := range 20_000 {
		if len(all) < 10 || rng.IntN(3) == 0 && len(all) < 40 {
			all = append(all, block{bytes: p.Allocate(size())})
		}
		i := rng.IntN(len(all))
		b := &all[i]
		if had := len(b.bytes); rng.IntN(2) == 0 {
			b.bytes = p.Reallocate(size(), b.bytes)
			if n := min(had, len(b.bytes)); bytes.Count(b.bytes[:n], []byte{b.fill}) != n {
				t.Fatalf("step %d: %d bytes are not what they were", step, n)
			}
			if more := b.bytes[min(had, len(b.bytes)):]; bytes.Count(more, []byte{0}) != len(more) {
				t.Fatalf("step %d: %d new bytes are not zero", step, len(more))
			}
		} else if rng.IntN(2) == 0 {
			if bytes.Count(b.bytes, []byte{b.fill}) != had {
				t.Fatalf("step %d: a block of %d bytes has those of another", step, had)
			}
			p.Free(b.bytes)
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
			continue
		}
		b.fill = byte(1 + rng.IntN(255))
		for j := range b.bytes {
			b.bytes[j] = b.fill
		}
	}
	kept := 0
	for class, blocks := range p.free {
		for _, b := range blocks {
			if cap(b) != leastPooled<<class {
				t.Errorf("a block of %d bytes is in class %d", cap(b), class)
			}
			kept++
		}
	}
	if kept == 0 {
		t.Error("no block is kept")
	}
}
