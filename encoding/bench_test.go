package encoding

import (
	"fmt"
	"testing"
)

// benchWords are columns like those of a profile store, one for each layout.
var benchWords = []struct {
	layout   layout
	encoding Encoding
	shape    string
}{
	{layoutPlain, Plain, "random"},
	{layoutPacked, Dictionary, "codes"},
	{layoutRuns, DictionaryRLE, "long runs"},
	{layoutBlocks, Plain, "outliers"},
	{layoutRises, Delta, "rising"},
	{layoutChanges, Delta, "wandering"},
	{layoutBends, Delta, "accelerating"},
}

const benchLen = 1 << 16

func shapeNamed(b *testing.B, name string) int {
	b.Helper()
	for i, s := range shapes {
		if s.name == name {
			return i
		}
	}
	b.Fatalf("no shape %q", name)
	return 0
}

// perWord runs fn, which handles n words, and reports its cost.
func perWord(b *testing.B, n int, fn func()) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		fn()
	}
	words := float64(b.N) * float64(n)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/words, "ns/word")
	b.ReportMetric(words/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkWords(b *testing.B) {
	for _, bb := range benchWords {
		words := wordsOf(shapeNamed(b, bb.shape), 1, benchLen)
		w := Encode(bb.encoding, words)
		if w.layout != bb.layout {
			b.Fatalf("%s: layout %v, want %v", bb.shape, w.layout, bb.layout)
		}
		b.Run(fmt.Sprintf("op=At/layout=%v", bb.layout), func(b *testing.B) {
			var sum uint64
			perWord(b, benchLen/61, func() {
				for i := range benchLen / 61 {
					sum += w.At(i * 61)
				}
			})
			sink = sum
		})
		b.Run(fmt.Sprintf("op=Append/layout=%v", bb.layout), func(b *testing.B) {
			dst := make([]uint64, 0, benchLen)
			perWord(b, benchLen, func() { dst = w.Append(dst[:0], 0, benchLen) })
		})
		b.Run(fmt.Sprintf("op=Cursor/layout=%v", bb.layout), func(b *testing.B) {
			var sum uint64
			perWord(b, benchLen, func() {
				for c := w.Cursor(); ; {
					word, rows := c.Next()
					if rows == 0 {
						break
					}
					sum += word * uint64(rows)
				}
			})
			sink = sum
		})
		b.Run(fmt.Sprintf("op=Encode/layout=%v", bb.layout), func(b *testing.B) {
			perWord(b, benchLen, func() { sink = uint64(Encode(bb.encoding, words).n) })
			b.ReportMetric(float64(w.Size())/benchLen, "B/word")
		})
	}
}

var sink uint64

// BenchmarkUnpack reads a block of words of some widths: of the narrow ones, several a load.
func BenchmarkUnpack(b *testing.B) {
	src, dst := make([]uint64, blockLen), make([]uint64, blockLen)
	for _, width := range []uint{4, 12, 20, 60} {
		b.Run(fmt.Sprintf("width=%d", width), func(b *testing.B) {
			for b.Loop() {
				unpack(dst, src, 0, width)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/blockLen, "ns/word")
		})
	}
}
