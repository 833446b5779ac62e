package encoding

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// checkBits compares the bits of ranges of rows with those of the words, each below the length
// of of. The memory of dst behind them must not change.
func checkBits(t fataler, got *Words, words []uint64, of []byte, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	for range 4 {
		lo := r.IntN(len(words) + 1)
		hi := lo + r.IntN(len(words)+1-lo)
		want := make([]uint64, (hi-lo+63)/64)
		for i, word := range words[lo:hi] {
			want[i/64] |= uint64(of[word]) << (i % 64)
		}
		dst := slices.Repeat([]uint64{0x5555555555555555}, len(want)+2)
		got.Bits(dst, lo, hi, of)
		if !slices.Equal(dst[:len(want)], want) {
			t.Fatalf("%v: Bits(%d, %d) of %v words (-want +got):\n%s", got.layout, lo, hi, len(words), cmp.Diff(want, dst[:len(want)]))
		}
		if dst[len(want)] != 0x5555555555555555 {
			t.Fatalf("%v: Bits(%d, %d) writes behind its end", got.layout, lo, hi)
		}
	}
}

// answers are kinds of tables that words are looked up in.
var answers = []struct {
	name string
	of   func(r *rand.Rand, word, most int) bool
}{
	{"none", func(*rand.Rand, int, int) bool { return false }},
	{"all", func(*rand.Rand, int, int) bool { return true }},
	{"below", func(_ *rand.Rand, word, most int) bool { return word < most/3 }},
	{"above", func(_ *rand.Rand, word, most int) bool { return word >= most/3 }},
	{"between", func(_ *rand.Rand, word, most int) bool { return word >= most/3 && word < most/2 }},
	{"one", func(_ *rand.Rand, word, most int) bool { return word == most/2 }},
	{"a few ranges", func(_ *rand.Rand, word, _ int) bool { return word/40%2 == 0 }},
	{"every other", func(_ *rand.Rand, word, _ int) bool { return word%2 == 0 }},
	{"any", func(r *rand.Rand, _, _ int) bool { return r.IntN(2) == 0 }},
}

func answersOf(kind int, seed uint64, most int) []byte {
	r := rand.New(rand.NewPCG(seed, 3))
	of := make([]byte, most)
	for word := range of {
		of[word] = byte(FromBool(answers[kind].of(r, word, most)))
	}
	return of
}

// Of words of every width up to those too wide to be compared while they are packed, in
// every layout, and of every kind of table.
func TestWords_Bits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for width := range 18 {
		most := 1 << width
		for _, n := range []int{1, 7, 8, 63, 64, 65, 127, 128, 129, 1000} {
			words := make([]uint64, n)
			for i := range words {
				words[i] = r.Uint64N(uint64(most))
				if width > 3 && i%37 != 0 {
					words[i] %= uint64(most / 8) // the others are exceptions
				}
			}
			all := []Words{Constant(words[0], n)}
			for _, l := range layouts {
				all = append(all, inLayout(l, words))
			}
			for kind := range answers {
				of := answersOf(kind, uint64(n), most)
				checkBits(t, &all[0], slices.Repeat(words[:1], n), of, uint64(n))
				for i := range layouts {
					checkBits(t, &all[1+i], words, of, uint64(n))
				}
			}
		}
	}
}

// Of windows that move along a table, as the headers of series do.
func TestWords_Bits_Windows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var words []uint64
		base, most := uint64(0), 0
		for range rapid.IntRange(1, 8).Draw(t, "series") {
			headers := rapid.IntRange(1, 300).Draw(t, "headers")
			for range rapid.IntRange(1, 400).Draw(t, "rows") {
				words = append(words, base+r.Uint64N(uint64(headers)))
			}
			base += uint64(headers)
			most = int(base)
		}
		of := answersOf(rapid.IntRange(0, len(answers)-1).Draw(t, "answers"), r.Uint64(), most)
		for _, l := range layouts {
			w := inLayout(l, words)
			checkBits(t, &w, words, of, r.Uint64())
		}
	})
}

func TestWords_Bits_OutOfRange(t *testing.T) {
	for _, l := range layouts {
		w := inLayout(l, []uint64{0, 1, 0, 1})
		for _, rows := range [][2]int{{-1, 1}, {3, 2}, {0, 5}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%v: Bits(%d, %d) does not panic", l, rows[0], rows[1])
					}
				}()
				w.Bits(make([]uint64, 1), rows[0], rows[1], []byte{0, 1})
			}()
		}
	}
}

// The bits that a time range asks for of a part of one series, and of several.
func BenchmarkBits(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const rows = 1 << 16
	for _, tt := range []struct {
		name    string
		headers int
		of      int // kind of answers
	}{{"30", 30, 2}, {"87", 87, 2}, {"1000", 1000, 4}, {"87, every other", 87, 7}} {
		words := make([]uint64, rows)
		for i := range words {
			words[i] = r.Uint64N(uint64(tt.headers))
		}
		of := answersOf(tt.of, 1, tt.headers)
		for _, l := range []layout{layoutBlocks, layoutSliced} {
			w := inLayout(l, words)
			dst := make([]uint64, rows/64)
			b.Run(fmt.Sprintf("%s/%v", tt.name, l), func(b *testing.B) {
				for b.Loop() {
					w.Bits(dst, 0, rows, of)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
			})
		}
	}
}
