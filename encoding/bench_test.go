package encoding

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
)

// benchWords are columns like those of a profile store, one for each layout.
var benchWords = []struct {
	layout   Layout
	encoding Encoding
	shape    string
}{
	{LayoutPlain, Plain, "random"},
	{LayoutPacked, Dictionary, "codes"},
	{LayoutRuns, DictionaryRLE, "long runs"},
	{LayoutBlocks, Plain, "outliers"},
	{LayoutRises, Delta, "rising"},
	{LayoutChanges, Delta, "wandering"},
	{LayoutBends, Delta, "accelerating"},
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
		if w.Layout() != bb.layout {
			b.Fatalf("%s: layout %v, want %v", bb.shape, w.Layout(), bb.layout)
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

func BenchmarkDict(b *testing.B) {
	values := make([][]byte, benchLen)
	for i := range values {
		values[i] = fmt.Appendf(nil, "pod-%08x-%05d", i*2654435761, i)
	}
	full := NewDict(1)
	for _, v := range values {
		if _, err := full.Intern(v); err != nil {
			b.Fatal(err)
		}
	}
	internAll := func(d *Dict) {
		for _, v := range values {
			code, _ := d.Intern(v)
			sink += uint64(code)
		}
	}
	b.Run("op=Intern/hit", func(b *testing.B) {
		perWord(b, benchLen, func() { internAll(full) })
	})
	b.Run("op=Intern/miss", func(b *testing.B) {
		perWord(b, benchLen, func() { internAll(NewDict(1)) })
		b.ReportMetric(float64(full.Size())/benchLen, "B/value")
	})
	b.Run("op=Value", func(b *testing.B) {
		perWord(b, benchLen, func() {
			for code := range uint32(benchLen) {
				sink += uint64(len(full.Value(code + 1)))
			}
		})
	})
}

func BenchmarkListDict(b *testing.B) {
	const depth, batch = 20, 500
	lists := make([][]uuid.UUID, 20*batch)
	codes := make([][]uint32, len(lists))
	full := NewListDict(1)
	for i := range lists {
		lists[i] = stackOf(i*7919, depth)
	}
	for i, code := range mustLists(b, full, lists) {
		codes[i] = full.List(nil, code)
	}
	var out []uint32
	inBatches := func(intern func(lo, hi int)) func() {
		return func() {
			for lo := 0; lo < len(lists); lo += batch {
				intern(lo, lo+batch)
			}
		}
	}
	b.Run("op=InternLists/hit", func(b *testing.B) {
		perWord(b, len(lists), inBatches(func(lo, hi int) { out, _ = full.InternLists(out[:0], lists[lo:hi]) }))
	})
	b.Run("op=InternCodes/hit", func(b *testing.B) {
		perWord(b, len(lists), inBatches(func(lo, hi int) { out, _ = full.InternCodes(out[:0], codes[lo:hi]) }))
	})
	b.Run("op=InternLists/miss", func(b *testing.B) {
		var d *ListDict
		perWord(b, len(lists), func() {
			d = NewListDict(1)
			inBatches(func(lo, hi int) { out, _ = d.InternLists(out[:0], lists[lo:hi]) })()
		})
		bytes, _ := d.Size()
		b.ReportMetric(float64(bytes)/float64(len(lists)), "B/list")
	})
	b.Run("op=List", func(b *testing.B) {
		perWord(b, len(lists), func() {
			for code := range uint32(len(lists)) {
				out = full.List(out[:0], code+1)
			}
		})
	})
}
