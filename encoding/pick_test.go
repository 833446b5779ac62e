package encoding

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// checkPick picks one row in `each` at random, and compares with the words.
func checkPick(t fataler, got *Words, words []uint64, each int, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 4))
	var rows []int32
	want := []uint64{7}
	for row, word := range words {
		if r.IntN(each) == 0 {
			rows = append(rows, int32(row))
			want = append(want, word)
		}
	}
	if picked := got.Pick([]uint64{7}, rows); !slices.Equal(picked, want) {
		t.Fatalf("%v: Pick of %d rows of %d (-want +got):\n%s", got.layout, len(rows), len(words), cmp.Diff(want, picked))
	}
}

// Of all layouts, rows that are many, few and far between.
func TestWords_Pick(t *testing.T) {
	for shape, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			for _, n := range []int{0, 1, 127, 128, 129, 1000, 5000} {
				words := wordsOf(shape, 1, n)
				for _, each := range []int{1, 2, 7, 30, 200, 2000} {
					for _, l := range layouts {
						w := inLayout(l, words)
						checkPick(t, &w, words, each, uint64(n))
					}
				}
			}
		})
	}
}

func TestWords_Pick_Mixed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := drawWords(t)
		each := rapid.IntRange(1, 300).Draw(t, "each")
		for _, l := range layouts {
			w := inLayout(l, words)
			checkPick(t, &w, words, each, rapid.Uint64().Draw(t, "seed"))
		}
	})
}

func TestWords_Pick_OutOfRange(t *testing.T) {
	for _, l := range layouts {
		w := inLayout(l, []uint64{1, 2, 3, 4})
		for _, rows := range [][]int32{{-1}, {4}, {0, 3, 4}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%v: Pick(%v) does not panic", l, rows)
					}
				}()
				w.Pick(nil, rows)
			}()
		}
	}
}

func BenchmarkPick(b *testing.B) {
	const n = 1 << 16
	for _, each := range []int{4, 8, 12, 30, 300} {
		for _, l := range []layout{layoutPacked, layoutRuns, layoutBlocks, layoutSliced, layoutRises} {
			r := rand.New(rand.NewPCG(1, 1))
			words := make([]uint64, n)
			var rows []int32
			for i := range words {
				words[i] = r.Uint64N(1000)
				if l == layoutRuns || l == layoutRises {
					words[i] = uint64(i / 20)
				}
				if r.IntN(each) == 0 {
					rows = append(rows, int32(i))
				}
			}
			w := inLayout(l, words)
			b.Run(fmt.Sprintf("1 of %d/%v", each, l), func(b *testing.B) {
				dst := make([]uint64, 0, len(rows))
				for b.Loop() {
					dst = w.Pick(dst[:0], rows)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/pick")
			})
		}
	}
}
