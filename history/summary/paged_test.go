package summary_test

import (
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/crashfs"
)

// TestPaged asks about a history in a file, most of whose blocks are not in memory.
func TestPaged(t *testing.T) {
	defer summary.SetShare(2)()
	for _, closes := range []bool{false, true} {
		fs := crashfs.New(crashfs.Options{})
		opts := file.Options{FS: fs, Cache: 1}
		w, err := file.Create("a", opts)
		if err != nil {
			t.Fatal(err)
		}
		m := newMade(t, 8)
		m.h, m.start, m.now, m.gap, m.drops = w.History, 0, 0, 6, false
		for range 8 {
			m.commit(20_000, false)
		}
		m.commit(1000, closes)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := file.Open("a", opts)
		if err != nil {
			t.Fatal(err)
		}
		p := of(t, r.View)
		if nodes, _ := summary.Nodes(p); nodes < 20 {
			t.Errorf("%d nodes", nodes)
		}
		c := asker{pyramids: []*summary.Pyramid{p, summary.Bare(r.View)}}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 40 {
			c.ask(t, anyQuestion(rng, r.View, 3))
		}
		fs.Fail(&crashfs.Fault{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.ReadAt}, Forever: true})
		if _, err := summary.Of(r.View); !errors.Is(err, syscall.EIO) {
			t.Error("a pyramid of blocks that cannot be read:", err)
		}
		if _, err := summary.Bare(r.View).Shares(nil, r.View.Start(), r.View.End(), 10); !errors.Is(err, syscall.EIO) {
			t.Error("shares of blocks that cannot be read:", err)
		}
		if _, err := summary.Bare(r.View).Measures(nil, r.View.Start(), r.View.End(), 10); !errors.Is(err, syscall.EIO) {
			t.Error("measures of blocks that cannot be read:", err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestQuiet asks about a quiet attribute beside a busy one: hundreds of tiles, few of which have it, and nodes of several
// levels. The oldest tiles are dropped on the way.
func TestQuiet(t *testing.T) {
	h, err := history.New(history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	p, at := summary.Bare(h.Empty()), int64(0)
	for round := range 20 {
		w, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"busy", "quiet", "counter"} {
			if _, err := w.Attribute(name); err != nil {
				t.Fatal(err)
			}
		}
		for range 10_000 {
			at += 1 + rng.Int64N(5)
			a, value := history.Attribute(0), history.Int(rng.Int64N(3))
			switch n := rng.IntN(3000); {
			case n == 0:
				a = 1
			case n%2 == 1:
				a, value = 2, history.Int(at)
			}
			if err := w.Change(at, a, value); err != nil {
				t.Fatal(err)
			}
		}
		switch round {
		case 12: // few enough that nodes stay
			w.DropBefore(at / 6)
		case 16:
			w.DropBefore(at / 2)
		}
		v, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		if p, err = p.Extend(v); err != nil {
			t.Fatal(err)
		}
		at++
		c := asker{pyramids: []*summary.Pyramid{p, of(t, v), summary.Bare(v)}}
		for i := range 4 {
			q := anyQuestion(rng, v, 0)
			q.attributes = []history.Attribute{1}
			if q.pixels = 1 + q.pixels%64; i == 3 && round%4 == 0 || uint64(q.to)-uint64(q.from) < 20_000 {
				q.attributes = []history.Attribute{1, 0, 2}
			}
			c.ask(t, q)
		}
	}
	if nodes, levels := summary.Nodes(p); nodes < 40 || levels < 2 {
		t.Errorf("%d nodes in %d levels", nodes, levels)
	}
	if 20*p.Size() > h.Size() {
		t.Errorf("nodes take %d bytes, the history %d", p.Size(), h.Size())
	}
	t.Logf("nodes take %.1f %%", 100*float64(p.Size())/float64(h.Size()))
}
