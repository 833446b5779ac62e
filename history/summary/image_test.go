package summary_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/recorded"
)

// reopen returns the pyramid of an image of one, of the same nodes.
func reopen(t testing.TB, p *summary.Pyramid) *summary.Pyramid {
	t.Helper()
	image := p.AppendImage([]byte("before"))
	opened, err := summary.Open(p.View(), image[6:])
	if err != nil {
		t.Fatal(err)
	}
	if again := opened.AppendImage(nil); !bytes.Equal(again, image[6:]) {
		t.Fatalf("the image of an image has %d bytes, not %d, or others", len(again), len(image)-6)
	}
	return opened
}

// imaged returns a pyramid with nodes of all kinds.
func imaged(t testing.TB) (p *summary.Pyramid, restore func()) {
	restore = summary.SetShare(2)
	m := newMade(t, 10)
	for range 3 {
		p = of(t, m.commit(6000, false))
	}
	if nodes, levels := summary.Nodes(p); nodes < 40 || levels < 2 {
		t.Fatalf("%d nodes in %d levels", nodes, levels)
	}
	return p, restore
}

// TestImage_Changed changes bytes of an image, cuts it, and gives it to other views: an error, or answers of some kind.
func TestImage_Changed(t *testing.T) {
	effort.Long(t)
	p, restore := imaged(t)
	defer restore()
	image := p.AppendImage(nil)
	r := rand.New(rand.NewPCG(1, 2))
	for size := range image {
		if _, err := summary.Open(p.View(), image[:size]); !errors.Is(err, summary.ErrImage) {
			t.Fatalf("%d of %d bytes: %v", size, len(image), err)
		}
	}
	refused, rounds := 0, effort.Part(40_000, 10)
	for range rounds {
		changed := bytes.Clone(image)
		for range 1 + r.IntN(3) {
			changed[r.IntN(len(changed))] = byte(r.Uint32())
		}
		if !survives(t, r, p, changed) {
			refused++
		}
	}
	t.Logf("%d of %d changed images of %d bytes are refused", refused, rounds, len(image))
	if refused < rounds/2 {
		t.Errorf("%d of %d changed images are refused", refused, rounds)
	}
	if _, err := summary.Open(newMade(t, 10).commit(5000, false), image); !errors.Is(err, summary.ErrImage) {
		t.Errorf("the image of another view: %v", err)
	}
	if _, err := summary.Open(p.View(), append([]byte{2}, image[1:]...)); !errors.Is(err, summary.ErrImage) {
		t.Errorf("an image of another version: %v", err)
	}
}

// survives opens an image, and asks: no panic, and no answer without end. It reports whether it was opened.
func survives(t testing.TB, r *rand.Rand, p *summary.Pyramid, image []byte) bool {
	opened, err := summary.Open(p.View(), image)
	if err != nil {
		if !errors.Is(err, summary.ErrImage) {
			t.Fatal(err)
		}
		return false
	}
	q := anyQuestion(r, p.View(), 0)
	if _, err := opened.Shares(nil, q.from, q.to, q.pixels); err != nil {
		t.Fatal(err)
	}
	s, err := opened.Shares(nil, q.from, q.to, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Attributes() {
		time := uint64(0)
		for _, share := range s.Attribute(i) {
			time += share.Time
		}
		if time != uint64(q.to-q.from)+1 {
			t.Fatalf("attribute %d has %d instants of [%d, %d]", i, time, q.from, q.to)
		}
	}
	m, err := opened.Measures(nil, q.from, q.to, q.pixels)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Attributes() {
		for _, at := range m.Attribute(i) {
			at.Min()
			at.Mean()
		}
	}
	if _, err := opened.Extend(p.View()); err != nil {
		t.Fatal(err)
	}
	return true
}

// FuzzImage opens any bytes as an image, and asks.
func FuzzImage(f *testing.F) {
	p, restore := imaged(f)
	defer restore()
	f.Add(p.AppendImage(nil), uint64(1))
	f.Fuzz(func(t *testing.T, image []byte, seed uint64) {
		survives(t, rand.New(rand.NewPCG(seed, 1)), p, image)
	})
}

// TestImage_Sets opens images of recorded sets: they have the nodes of their views, in at most 5 % of the bytes.
func TestImage_Sets(t *testing.T) {
	for _, name := range recorded.Names {
		t.Run(name, func(t *testing.T) {
			h, v := setView(t, name)
			p := of(t, v)
			opened := reopen(t, p)
			nodes, levels := summary.Nodes(p)
			if n, l := summary.Nodes(opened); n != nodes || l != levels || n == 0 {
				t.Errorf("%d nodes in %d levels, want %d in %d", n, l, nodes, levels)
			}
			bytes := len(p.AppendImage(nil))
			t.Logf("%d nodes, %d bytes on the heap, an image of %d: %.2f %% of the history", nodes, p.Size(), bytes, 100*float64(bytes)/float64(h.Size()))
			if int64(bytes) > p.Size() || 20*int64(bytes) > h.Size() || 20*opened.Size() > h.Size() {
				t.Errorf("an image of %d bytes, and %d once it is open, of a history of %d", bytes, opened.Size(), h.Size())
			}
			r := rand.New(rand.NewPCG(7, 1))
			c := asker{pyramids: []*summary.Pyramid{opened}}
			for range effort.Part(200, 15) {
				c.ask(t, anyQuestion(r, v, 5))
			}
		})
	}
}
