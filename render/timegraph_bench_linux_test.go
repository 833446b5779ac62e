//go:build !race

package render

import (
	"fmt"
	"io"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/ihs"
)

// BenchmarkTimeGraphMillion draws a million attributes in 200 rows, of a range and of parts of it, with a pyramid and without. They
// change ten times each (50 times with GRANARY_FULL): 11 or 51 million intervals.
func BenchmarkTimeGraphMillion(b *testing.B) {
	const n = 1_000_000
	m := ihs.Synth{Attributes: n, Changes: effort.Part(50, 5)}
	v := synthetic(b, m)
	p, err := summary.Of(v)
	if err != nil {
		b.Fatal(err)
	}
	all := attributesOf(v)
	for _, part := range []int64{1, 10, 1000} {
		to := v.Start() + (v.End()-v.Start())/part
		for name, pyramid := range map[string]*summary.Pyramid{"nodes": p, "bare": nil} {
			b.Run(fmt.Sprintf("%s/range=1:%d", name, part), func(b *testing.B) {
				end := timeCPU(b)
				defer end()
				for b.Loop() {
					if err := TimeGraph(io.Discard, v, all, v.Start(), to, TimeOptions{Fold: true, Pyramid: pyramid}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// synthetic makes a history of a synthetic set.
func synthetic(b *testing.B, m ihs.Synth) *history.View {
	b.Helper()
	h, err := history.New(history.Options{})
	if err != nil {
		b.Fatal(err)
	}
	tx, err := h.Begin()
	if err != nil {
		b.Fatal(err)
	}
	for _, a := range m.Names() {
		if _, err := tx.Attribute(a.Name); err != nil {
			b.Fatal(err)
		}
	}
	next, last, n := m.Next(), int64(-1), 0
	for iv, err := next(); err == nil; iv, err = next() {
		if n++; n > 10_000 && iv.End > last {
			if _, err := tx.Commit(); err != nil {
				b.Fatal(err)
			}
			if tx, err = h.Begin(); err != nil {
				b.Fatal(err)
			}
			n = 0
		}
		value := history.Value{}
		if iv.Kind != ihs.KindNull {
			value = history.Int(iv.Int())
		}
		if err := tx.Add(history.Attribute(iv.Key), iv.Start, iv.End, value); err != nil {
			b.Fatal(err)
		}
		last = iv.End
	}
	if err := tx.Close(last); err != nil {
		b.Fatal(err)
	}
	v, err := tx.Commit()
	if err != nil {
		b.Fatal(err)
	}
	return v
}
