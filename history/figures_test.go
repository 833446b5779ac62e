package history

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/granarydb/granary/history/ihs"
)

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func loadSet(tb testing.TB, name string) *ihs.Set {
	path := name
	if len(name) < 6 || name[:6] != "synth:" {
		path = filepath.Join("..", "..", "shared", "data", "intervals", name)
		if _, err := os.Stat(path + ".ihs.gz"); err != nil {
			tb.Skip(path, "is not there")
		}
	}
	s, err := ihs.Open(path, ihs.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func valueOf(s *ihs.Set, i int) Value {
	switch s.Kinds[i] {
	case ihs.KindInt, ihs.KindLong:
		return Int(int64(s.Words[i]))
	case ihs.KindFloat:
		return Value{kind: KindFloat, word: s.Words[i]}
	case ihs.KindString:
		return String(s.Texts[s.Words[i]])
	}
	return Value{}
}

func buildSet(tb testing.TB, s *ihs.Set, batch int) (*History, *View) {
	h, err := New(Options{Start: s.Header.Start})
	if err != nil {
		tb.Fatal(err)
	}
	w, _ := h.Begin()
	for k := range s.Attributes {
		parent := Root
		if p := s.Attributes[k].Parent; p >= 0 {
			parent = Attribute(p)
		}
		if _, err := w.Child(parent, s.Attributes[k].Name); err != nil {
			tb.Fatal(err)
		}
	}
	w.Commit()
	return h, feed(tb, h, s, batch)
}

func feed(tb testing.TB, h *History, s *ihs.Set, batch int) *View {
	w, err := h.Begin()
	if err != nil {
		tb.Fatal(err)
	}
	n := 0
	for i := range s.Keys {
		if n >= batch && s.Ends[i] != s.Ends[i-1] {
			w.Commit()
			w, _ = h.Begin()
			n = 0
		}
		n++
		if err := w.Add(Attribute(s.Keys[i]), s.Starts[i], s.Ends[i], valueOf(s, i)); err != nil {
			tb.Fatal(i, err)
		}
	}
	if err := w.Close(s.Header.End); err != nil {
		tb.Fatal(err)
	}
	v, err := w.Commit()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestFigures(t *testing.T) {
	name := os.Getenv("FIG_SET")
	if name == "" {
		t.Skip()
	}
	s := loadSet(t, name)
	for range 3 {
		h, _ := New(Options{Start: s.Header.Start})
		w, _ := h.Begin()
		for k := range max(len(s.Attributes), s.Header.Keys) {
			if len(s.Attributes) == 0 {
				w.Child(Root, "a", string(rune('0'+k%10)), "x")
			}
			parent := Root
			if p := s.Attributes[k].Parent; p >= 0 {
				parent = Attribute(p)
			}
			w.Child(parent, s.Attributes[k].Name)
		}
		w.Commit()
		runtime.GC()
		c := cpu()
		v := feed(t, h, s, 10000)
		d := cpu() - c
		t.Logf("build %v: %.1f M/s; size %d, %.2f B/iv without names (%d names, %.1f each)", d, float64(s.Len())/d.Seconds()/1e6, h.Size(), float64(h.Size()-int64(h.tree.size()))/float64(s.Len()), h.tree.size(), float64(h.tree.size())/float64(v.Len()))
		_ = v
	}
	before := liveBytes()
	h, v := buildSet(t, s, 10000)
	after := liveBytes()
	t.Logf("heap %d = %.2f B/iv less names %d; texts %d; chunks %d dir %d lanes %d", after-before, float64(after-before-int64(h.tree.size()))/float64(s.Len()), h.tree.size(), h.texts.Size(), len(h.chunks.tiles), h.directory, len(h.lanes))

	// correctness
	start := time.Now()
	for n := 0; n < s.Len(); n += 7 {
		at := s.Starts[n] + (s.Ends[n]-s.Starts[n])*int64(n%3)/2
		in, err := v.At(Attribute(s.Keys[n]), at)
		if err != nil || in.Start != s.Starts[n] || in.End != s.Ends[n] || !in.Value.Equal(valueOf(s, n)) || in.Open {
			t.Fatalf("%d: at %d: %+v %v want %d %d %v", n, at, in, err, s.Starts[n], s.Ends[n], valueOf(s, n))
		}
	}
	t.Log("checked", time.Since(start))
	rng := rand.New(rand.NewPCG(1, 2))
	span := s.Header.End - s.Header.Start
	at := func() int64 { return s.Header.Start + rng.Int64N(span) }
	measure := func(name string, n int, f func()) {
		best := time.Hour
		for range 5 {
			c := cpu()
			for range n {
				f()
			}
			best = min(best, (cpu()-c)/time.Duration(n))
		}
		t.Logf("%s: %v", name, best)
	}
	measure("state x1000", 200, func() {
		for range 1000 {
			v.at(Attribute(rng.IntN(v.Len())), at())
		}
	})
	measure("slice", 50, func() { v.Slice(at()) })
	{
		sl := v.newSlice(nil)
		measure("slice without memory", 100, func() { sl.fill(at()) })
	}
	for _, keep := range []int{1, 4, 8, 16} {
		c, _ := v.Cursor(keep)
		for range 3 * keep {
			c.MoveTo(at())
		}
		measure("cursor "+string(rune('0'+keep)), 100, func() { c.MoveTo(at()) })
	}
	c, _ := v.Cursor(1)
	tt := s.Header.Start
	measure("sweep", 200, func() { tt += span / 1001; c.MoveTo(tt) })
	times := pixelTimes(s.Header.Start, s.Header.End, 2000)
	keys := make([]Attribute, 100)
	measure("100x2000", 200, func() {
		for i := range keys {
			keys[i] = Attribute(rng.IntN(v.Len()))
		}
		v.Sample(keys, times)
	})
	if th, err := v.Lookup("Threads"); err == nil {
		var all []Attribute
		for a := range v.Children(th) {
			all = append(all, a)
		}
		n := 0
		measure("threads x2000", 20, func() { r, _ := v.Sample(all, times); n = r.Len() })
		t.Log(len(all), "attributes", n, "intervals")
	}
	measure("history", 1000, func() {
		for range v.Range(Attribute(rng.IntN(v.Len())), v.Start(), v.End(), RangeOptions{}) {
		}
	})
}
