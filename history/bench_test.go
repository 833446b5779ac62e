package history

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/recorded"
)

// benchSet is the set of the benchmarks. `cd bench && GOWORK=off go run . -workload histories`
// prints the figures.
const benchSet = "many-threads"

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

// nameSet returns a history with the attributes of a set.
func nameSet(tb testing.TB, s *ihs.Set, journal bool) *History {
	h, err := New(Options{Start: s.Header.Start, Journal: journal})
	if err != nil {
		tb.Fatal(err)
	}
	w, err := h.Begin()
	if err != nil {
		tb.Fatal(err)
	}
	for _, a := range s.Attributes {
		parent := Top
		if a.Parent >= 0 {
			parent = Attribute(a.Parent)
		}
		if _, err := w.Child(parent, a.Name); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := w.Commit(); err != nil {
		tb.Fatal(err)
	}
	return h
}

// feed adds the intervals of a set, batch a commit, and closes the history.
func feed(tb testing.TB, h *History, s *ihs.Set, batch int) *View {
	w, err := h.Begin()
	if err != nil {
		tb.Fatal(err)
	}
	n := 0
	for i := range s.Keys {
		if n >= batch && s.Ends[i] != s.Ends[i-1] {
			if h.opts.Journal {
				w.Prepare()
				w.Journal()
			}
			if _, err := w.Commit(); err != nil {
				tb.Fatal(err)
			}
			if w, err = h.Begin(); err != nil {
				tb.Fatal(err)
			}
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

// benchView returns the history of the benchmarks, and a source of random instants in it.
func benchView(b *testing.B) (*View, func() int64) {
	s := recorded.Open(b, benchSet)
	v := feed(b, nameSet(b, s, false), s, 10000)
	rng := rand.New(rand.NewPCG(1, 2))
	return v, func() int64 { return s.Header.Start + rng.Int64N(s.Header.End-s.Header.Start) }
}

// BenchmarkBuild writes a history without journals, and with them.
func BenchmarkBuild(b *testing.B) {
	s := recorded.Open(b, benchSet)
	for _, journal := range []bool{false, true} {
		b.Run("journal="+strconv.FormatBool(journal), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				h := nameSet(b, s, journal)
				runtime.GC()
				b.StartTimer()
				feed(b, h, s, 10000)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(s.Len())/float64(b.N), "ns/interval")
		})
	}
}

// BenchmarkJournal is the cost of journals: builds without and with them in turns. Both metrics are of
// an interval; the median is that of the differences of neighbours, so that other work on the machine
// is in both.
func BenchmarkJournal(b *testing.B) {
	s := recorded.Open(b, benchSet)
	var least [2]time.Duration
	var differences []float64
	for b.Loop() {
		var took [2]time.Duration
		for i, journal := range []bool{false, true} {
			h := nameSet(b, s, journal)
			runtime.GC()
			begin := time.Now()
			feed(b, h, s, 10000)
			took[i] = time.Since(begin)
			if least[i] == 0 || took[i] < least[i] {
				least[i] = took[i]
			}
		}
		differences = append(differences, float64(took[1]-took[0])/float64(s.Len()))
	}
	slices.Sort(differences)
	b.ReportMetric(differences[len(differences)/2], "ns-median")
	b.ReportMetric(float64(least[1]-least[0])/float64(s.Len()), "ns-of-least")
	b.ReportMetric(float64(least[0])/float64(s.Len()), "ns-without")
}

// BenchmarkReplay repeats the journals of a history.
func BenchmarkReplay(b *testing.B) {
	s := recorded.Open(b, benchSet)
	bytes, journals := 0, journalsOf(b, s, 10000)
	for _, j := range journals {
		bytes += len(j)
	}
	for b.Loop() {
		h, err := New(Options{Start: s.Header.Start})
		if err != nil {
			b.Fatal(err)
		}
		for _, j := range journals {
			if _, err := h.Replay(j); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(bytes)/float64(s.Len()), "B/interval")
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(s.Len())/float64(b.N), "ns/interval")
}

func BenchmarkAt(b *testing.B) {
	v, at := benchView(b)
	rng := rand.New(rand.NewPCG(3, 4))
	for b.Loop() {
		if _, err := v.At(Attribute(rng.IntN(v.Len())), at()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSlice(b *testing.B) {
	v, at := benchView(b)
	for b.Loop() {
		if _, err := v.Slice(at()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSliceInto(b *testing.B) {
	v, at := benchView(b)
	var s *Slice
	for b.Loop() {
		var err error
		if s, err = v.SliceInto(s, at()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSample100(b *testing.B) {
	v, _ := benchView(b)
	times := PixelTimes(v.Start(), v.End(), 2000)
	rng := rand.New(rand.NewPCG(3, 4))
	some := make([]Attribute, 100)
	for b.Loop() {
		for i := range some {
			some[i] = Attribute(rng.IntN(v.Len()))
		}
		if _, err := v.Sample(some, times); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSampleThreads(b *testing.B) {
	v, _ := benchView(b)
	threads, err := v.Lookup("Threads")
	if err != nil {
		b.Fatal(err)
	}
	var all []Attribute
	for a := range v.Children(threads) {
		all = append(all, a)
	}
	times := PixelTimes(v.Start(), v.End(), 2000)
	for b.Loop() {
		if _, err := v.Sample(all, times); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTexts writes strings of some number of distinct ones to 100 attributes, and looks up
// states of them.
func BenchmarkTexts(b *testing.B) {
	for _, distinct := range []int{20, 10_000, 1 << 30} {
		values := make([]Value, min(distinct, 1<<18))
		for i := range values {
			values[i] = String("a state of the system " + strconv.Itoa(i))
		}
		name := "distinct=" + strconv.Itoa(len(values))
		const attributes = 100
		var view *View
		b.Run(name+"/do=change", func(b *testing.B) {
			for b.Loop() {
				h, err := New(Options{})
				if err != nil {
					b.Fatal(err)
				}
				for i := 0; i < len(values) || i < 1<<17; {
					w, err := h.Begin()
					if err != nil {
						b.Fatal(err)
					}
					for a := range attributes {
						if _, err := w.Attribute("thread", strconv.Itoa(a)); err != nil {
							b.Fatal(err)
						}
					}
					for range 10_000 {
						if err := w.Change(int64(i), Attribute(1+i%attributes), values[i*7919%len(values)]); err != nil {
							b.Fatal(err)
						}
						i++
					}
					if view, err = w.Commit(); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(view.End()), "ns/change")
		})
		b.Run(name+"/do=at", func(b *testing.B) {
			rng := rand.New(rand.NewPCG(3, 4))
			length := 0
			for b.Loop() {
				in, err := view.At(Attribute(1+rng.IntN(attributes)), rng.Int64N(view.End()))
				if err != nil {
					b.Fatal(err)
				}
				length += len(in.Value.Text())
			}
			if length == 0 {
				b.Fatal("no texts")
			}
		})
	}
}
