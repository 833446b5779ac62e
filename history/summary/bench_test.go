//go:build linux && !race

package summary_test

import (
	"fmt"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
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
					end := timeCPU(b)
					for b.Loop() {
						if s, err = p.SharesInto(s, all, from, from+span/part, pixels); err != nil {
							b.Fatal(err)
						}
					}
					end()
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
