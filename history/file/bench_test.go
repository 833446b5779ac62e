//go:build !race

package file

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/recorded"
)

// manyThreads writes a recorded history to memory and to a file.
func manyThreads(tb testing.TB) (s *ihs.Set, memory *history.View, path string) {
	s = recorded.Open(tb, "many-threads")
	h, err := history.New(history.Options{Start: s.Header.Start})
	must(tb, err)
	memory = feed(tb, s, h)
	path = filepath.Join(tb.TempDir(), "many-threads.history")
	w, err := Create(path, Options{History: history.Options{Start: s.Header.Start}})
	must(tb, err)
	feed(tb, s, w.History)
	must(tb, w.Close())
	return s, memory, path
}

// feed adds the intervals of a set, 10,000 a commit, and closes the history.
func feed(tb testing.TB, s *ihs.Set, h *history.History) *history.View {
	d, err := h.Begin()
	must(tb, err)
	for _, a := range s.Attributes {
		parent := history.Top
		if a.Parent >= 0 {
			parent = history.Attribute(a.Parent)
		}
		_, err := d.Child(parent, a.Name)
		must(tb, err)
	}
	n := 0
	for i := range s.Keys {
		if n++; n > 10000 && s.Ends[i] != s.Ends[i-1] {
			n = 0
			_, err := d.Commit()
			must(tb, err)
			d, err = h.Begin()
			must(tb, err)
		}
		in := s.At(i)
		v := history.Value{}
		switch in.Kind {
		case ihs.KindInt, ihs.KindLong:
			v = history.Int(in.Int())
		case ihs.KindFloat:
			v = history.Float(in.Float())
		case ihs.KindString:
			v = history.String(in.Text)
		}
		must(tb, d.Add(history.Attribute(in.Key), in.Start, in.End, v))
	}
	must(tb, d.Close(s.Header.End))
	v, err := d.Commit()
	must(tb, err)
	return v
}

// TestManyThreads_Bytes bounds the bytes of a file, names and all.
func TestManyThreads_Bytes(t *testing.T) {
	effort.Long(t)
	s, _, path := manyThreads(t)
	f, err := os.Stat(path)
	must(t, err)
	each := float64(f.Size()) / float64(s.Len())
	if t.Logf("%d bytes, %.2f an interval", f.Size(), each); each > 3.2 {
		t.Error("more than 3.2")
	}
}

// BenchmarkOpen opens a file, whose blocks the system has in memory.
func BenchmarkOpen(b *testing.B) {
	_, _, path := manyThreads(b)
	for b.Loop() {
		r, err := Open(path, Options{})
		must(b, err)
		must(b, r.Close())
	}
}

// BenchmarkQueries asks a history in memory, one in a file whose blocks are in the cache, and one of which
// no block is.
func BenchmarkQueries(b *testing.B) {
	s, memory, path := manyThreads(b)
	open := func() *Reader {
		r, err := Open(path, Options{})
		must(b, err)
		return r
	}
	warm := open()
	defer warm.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	at := func() int64 { return s.Header.Start + rng.Int64N(s.Header.End-s.Header.Start) }
	queries := map[string]func(v *history.View) error{
		"state": func(v *history.View) error {
			_, err := v.At(history.Attribute(rng.IntN(v.Len())), at())
			return err
		},
		"slice": func(v *history.View) error {
			_, err := v.Slice(at())
			return err
		},
	}
	for name, query := range queries {
		for kind, v := range map[string]*history.View{"memory": memory, "warm": warm.View} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				for b.Loop() {
					must(b, query(v))
				}
			})
		}
		b.Run(name+"/cold", func(b *testing.B) {
			var took time.Duration
			n := 0
			for b.Loop() {
				b.StopTimer()
				r := open()
				b.StartTimer()
				began := time.Now()
				must(b, query(r.View))
				took += time.Since(began)
				n++
				b.StopTimer()
				must(b, r.Close())
				b.StartTimer()
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(n), "ns/query")
		})
	}
}

// BenchmarkStream writes 20 million intervals of 1000 attributes to a file; with -benchtime 5x, 100 million. It
// reports the greatest heap between commits, all counted, and then what a state at random takes.
func BenchmarkStream(b *testing.B) {
	const attributes = 1000
	path := filepath.Join(b.TempDir(), "a")
	w, err := Create(path, Options{})
	must(b, err)
	d, err := w.History.Begin()
	must(b, err)
	all := make([]history.Attribute, attributes)
	for i := range all {
		all[i], err = d.Attribute("thread", string(rune('a'+i%26)), string(rune(1000+i)))
		must(b, err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	picks, gaps := make([]int, 20000), make([]int64, 20000)
	for i := range picks {
		picks[i], gaps[i] = rng.IntN(attributes), 1+rng.Int64N(100)
	}
	last := make([]int64, attributes)
	at, n, most := int64(0), 0, uint64(0)
	batch := make([]history.Attribute, 1000)
	starts, ends, values := make([]int64, 1000), make([]int64, 1000), make([]history.Value, 1000)
	for b.Loop() {
		for range 1000 {
			for part := range 20 {
				for i := range batch {
					k := picks[1000*part+i]
					at += gaps[1000*part+i]
					batch[i], starts[i], ends[i], values[i] = all[k], last[k], at, history.Int(at>>4&7)
					last[k] = at + 1
				}
				_, err = d.AddAll(batch, starts, ends, values)
				must(b, err)
				n += len(batch)
			}
			_, err = d.Commit()
			must(b, err)
			d, err = w.History.Begin()
			must(b, err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}
	must(b, d.Close(at+1))
	_, err = d.Commit()
	must(b, err)
	must(b, w.Close())
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "M/s")
	b.ReportMetric(float64(most)/(1<<20), "MiB")
	r, err := Open(path, Options{})
	must(b, err)
	began := time.Now()
	for range 1000 {
		_, err := r.View.At(all[rng.IntN(attributes)], rng.Int64N(at))
		must(b, err)
	}
	b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "us/state")
	b.ReportMetric(float64(w.size)/float64(n), "B/interval")
	must(b, r.Close())
}
