//go:build linux && !race

package summary_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/recorded"
)

// threadsOf returns the attributes with the states of threads.
func threadsOf(b *testing.B, v *history.View) (all []history.Attribute) {
	threads, err := v.Lookup("Threads")
	if err != nil {
		b.Fatal(err)
	}
	for a := range v.Children(threads) {
		all = append(all, a)
	}
	return all
}

// BenchmarkThreads asks about the states of 8,595 threads in 2,000 pixels, of the whole range and of parts of it.
func BenchmarkThreads(b *testing.B) {
	_, v := setView(b, "many-threads")
	all := threadsOf(b, v)
	span := v.End() - v.Start()
	var open *history.View // the last view before the history was closed
	set := recorded.Open(b, "many-threads")
	h, err := history.New(history.Options{Start: set.Header.Start})
	if err != nil {
		b.Fatal(err)
	}
	feed(b, h, set, 10_000, func(v *history.View) {
		if !v.Closed() {
			open = v
		}
	})
	openAt := of(b, open)
	b.Run("open", func(b *testing.B) {
		var s *summary.Shares
		var err error
		end := timeCPU(b)
		for b.Loop() {
			if s, err = openAt.SharesInto(s, all, open.Start(), open.End(), 2000); err != nil {
				b.Fatal(err)
			}
		}
		end()
	})
	b.Run("one-instant-a-pixel", func(b *testing.B) { // for comparison
		var s *history.Intervals
		var err error
		end := timeCPU(b)
		for b.Loop() {
			if s, err = v.PixelsInto(s, all, v.Start(), v.End(), 2000); err != nil {
				b.Fatal(err)
			}
		}
		end()
	})
	for _, p := range []struct {
		name string
		*summary.Pyramid
	}{{"nodes", of(b, v)}, {"bare", summary.Bare(v)}} {
		for _, part := range []int64{1, 10, 100, 1000} {
			from := v.Start() + (span-span/part)/2
			for _, pixels := range []int{2000, 1} {
				name := fmt.Sprintf("%s/range=1:%d/pixels=%d", p.name, part, pixels)
				b.Run("shares/"+name, func(b *testing.B) {
					var s *summary.Shares
					var err error
					least := time.Hour // other work on the machine changes it less than the mean
					end := timeCPU(b)
					for b.Loop() {
						began := time.Now()
						if s, err = p.SharesInto(s, all, from, from+span/part, pixels); err != nil {
							b.Fatal(err)
						}
						least = min(least, time.Since(began))
					}
					end()
					b.ReportMetric(float64(least)/1e3, "least-us")
					n := 0
					for i := range s.Attributes() {
						n += len(s.Attribute(i))
					}
					b.ReportMetric(float64(n), "shares")
				})
				b.Run("measures/"+name, func(b *testing.B) {
					var m *summary.Measures
					var err error
					end := timeCPU(b)
					for b.Loop() {
						if m, err = p.MeasuresInto(m, all, from, from+span/part, pixels); err != nil {
							b.Fatal(err)
						}
					}
					end()
				})
			}
		}
	}
}

// BenchmarkOf makes the pyramids of recorded sets.
func BenchmarkOf(b *testing.B) {
	for _, name := range recorded.Names {
		b.Run(name, func(b *testing.B) {
			h, v := setView(b, name)
			n := 0
			for a := range v.Len() {
				for range v.Range(history.Attribute(a), v.Start(), v.End(), history.RangeOptions{}) {
					n++
				}
			}
			var p *summary.Pyramid
			end := timeCPU(b)
			for b.Loop() {
				p = of(b, v)
			}
			end()
			b.ReportMetric(float64(n), "intervals")
			b.ReportMetric(float64(p.Size())/float64(n), "B/interval")
			b.ReportMetric(float64(h.Size())/float64(n), "B-history/interval")
		})
	}
}

// manyAttributes returns a history of attributes with a number of intervals each.
func manyAttributes(b *testing.B, attributes, intervals int) *history.View {
	h, err := history.New(history.Options{})
	if err != nil {
		b.Fatal(err)
	}
	w, err := h.Begin()
	if err != nil {
		b.Fatal(err)
	}
	for a := range attributes {
		if _, err := w.Child(history.Top, strconv.Itoa(a)); err != nil {
			b.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	starts := make([]int64, attributes)
	for i := range intervals {
		if i*attributes%(1<<19) < attributes && i > 0 {
			if _, err := w.Commit(); err != nil {
				b.Fatal(err)
			}
			if w, err = h.Begin(); err != nil {
				b.Fatal(err)
			}
		}
		for a := range attributes {
			end := int64(i+1)*1_000_000 + rng.Int64N(1_000_000)
			if err := w.Add(history.Attribute(a), starts[a], end, history.Int(rng.Int64N(5))); err != nil {
				b.Fatal(err)
			}
			starts[a] = end + 1
		}
	}
	if err := w.Close(int64(intervals+2) * 1_000_000); err != nil {
		b.Fatal(err)
	}
	v, err := w.Commit()
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// BenchmarkMany asks about all of a million attributes, and about one of ten million intervals.
func BenchmarkMany(b *testing.B) {
	for _, size := range []struct{ attributes, intervals int }{{1_000_000, 5}, {1, 10_000_000}, {100, 100_000}} {
		v := manyAttributes(b, size.attributes, size.intervals)
		span := v.End() - v.Start()
		for _, p := range []struct {
			name string
			*summary.Pyramid
		}{{"nodes", of(b, v)}, {"bare", summary.Bare(v)}} {
			for _, pixels := range []int{1, 2000} {
				b.Run(fmt.Sprintf("attributes=%d/intervals=%d/%s/pixels=%d", size.attributes, size.intervals, p.name, pixels), func(b *testing.B) {
					var s *summary.Shares
					var err error
					end := timeCPU(b)
					for b.Loop() {
						if s, err = p.SharesInto(s, nil, v.Start()+span/7, v.End()-span/11, pixels); err != nil {
							b.Fatal(err)
						}
					}
					end()
				})
			}
		}
	}
}

// BenchmarkExtend extends a pyramid by nothing, of a million attributes in 15,625 lanes.
func BenchmarkExtend(b *testing.B) {
	v := manyAttributes(b, 1_000_000, 5)
	p := of(b, v)
	end := timeCPU(b)
	for b.Loop() {
		if _, err := p.Extend(v); err != nil {
			b.Fatal(err)
		}
	}
	end()
	b.ReportMetric(float64(v.Lanes()), "lanes")
}
