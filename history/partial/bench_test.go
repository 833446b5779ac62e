//go:build !race

package partial_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
)

// asker is a history, whole or partial.
type asker struct {
	at    func(a history.Attribute, t int64) error
	slice func(t int64) error
	all   func(a history.Attribute) error // the range of all time
}

// BenchmarkDistance measures size and questions against the distance of checkpoints, on the recorded sets
// and on 100 attributes with 20,000 intervals each. every=0 is the whole history.
func BenchmarkDistance(b *testing.B) {
	for _, name := range []string{"many-threads", "uneven-streams", "bug446190", "flipping-endianness", "synth:100:20000"} {
		s, l, provide := setEvents(b, name)
		h, full := wholeSet(b, s, l)
		measure(b, name, 0, full, s.Len(), h.Size(), asker{
			func(a history.Attribute, t int64) error { _, err := full.At(a, t); return err },
			func(t int64) error { _, err := full.Slice(t); return err },
			func(a history.Attribute) error {
				for _, err := range full.Range(a, full.Start(), full.End(), history.RangeOptions{}) {
					if err != nil {
						return err
					}
				}
				return nil
			},
		})
		for _, every := range []int{100, 1000, 10_000, 50_000} {
			p, err := partial.Build(b.Context(), l, provide, partial.Options{Start: s.Header.Start, End: s.Header.End, Every: every})
			if err != nil {
				b.Fatal(err)
			}
			var states []history.Interval
			measure(b, name, every, full, p.Intervals(), p.Size(), asker{
				func(a history.Attribute, t int64) error { _, err := p.At(b.Context(), a, t); return err },
				func(t int64) (err error) { states, err = p.Slice(b.Context(), t, states); return err },
				func(a history.Attribute) error {
					for _, err := range p.Range(b.Context(), a, full.Start(), full.End()) {
						if err != nil {
							return err
						}
					}
					return nil
				},
			})
		}
	}
}

// measure runs each question at random.
func measure(b *testing.B, set string, every int, v *history.View, intervals int, bytes int64, h asker) {
	rng := rand.New(rand.NewPCG(3, 4))
	at := func() int64 { return v.Start() + rng.Int64N(v.End()-v.Start()+1) }
	a := func() history.Attribute { return history.Attribute(rng.IntN(v.Len())) }
	for _, q := range []struct {
		name string
		ask  func() error
	}{
		{"state", func() error { return h.at(a(), at()) }},
		{"slice", func() error { return h.slice(at()) }},
		{"range", func() error { return h.all(a()) }},
	} {
		b.Run(fmt.Sprintf("set=%s/every=%d/%s", set, every, q.name), func(b *testing.B) {
			for b.Loop() {
				if err := q.ask(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(intervals), "intervals")
			b.ReportMetric(float64(bytes), "B-kept")
		})
	}
}
