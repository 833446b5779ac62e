package encoding

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// counted makes n words of their numbers.
func counted(n int, word func(i uint64) uint64) []uint64 {
	words := make([]uint64, n)
	for i := range words {
		words[i] = word(uint64(i))
	}
	return words
}

// dumps are sequences that show every field of every layout.
var dumps = []struct {
	name   string
	layout layout
	about  string // of the words
	words  []uint64
}{
	{
		"plain", layoutPlain, "0, 1, and the ends of both ranges: width 64",
		[]uint64{0, 1, math.MaxUint64, 1 << 63, 1<<63 - 1},
	},
	{"constant", layoutPacked, "42, five times: width 0, no bits", slices.Repeat([]uint64{42}, 5)},
	{
		"packed", layoutPacked, "multiples of 10 ms in ns: the scale is their greatest common divisor",
		[]uint64{10e6, 30e6, 20e6, 70e6, 10e6, 150e6},
	},
	{
		"packed_signed", layoutPacked, "-3 to 20, one by one: the reference is negative",
		counted(24, func(i uint64) uint64 { return i - 3 }),
	},
	{
		"runs", layoutRuns, "codes 7, null and 9, of 100, 60 and 1 rows",
		slices.Concat(slices.Repeat([]uint64{7}, 100), slices.Repeat([]uint64{0}, 60), []uint64{9}),
	},
	{
		"blocks", layoutBlocks, "128 words of 0 to 7 with 1000, 90000 and 500 at 5, 77 and 127; 128 times 8; a partial block of 3 that has 64 bits",
		slices.Concat(counted(128, func(i uint64) uint64 {
			if w, ok := map[uint64]uint64{5: 1000, 77: 90000, 127: 500}[i]; ok {
				return w
			}
			return i % 8
		}), slices.Repeat([]uint64{8}, 128), []uint64{math.MaxUint64, 1 << 63, 1<<63 - 1}),
	},
	{
		"rises", layoutRises, "codes that rise by 3, and after 130 begin anew at 10: a negative difference, modulo 2^bound",
		counted(150, func(i uint64) uint64 { return 10 + 3*(i%130) }),
	},
	{
		"changes", layoutChanges, "100 and two more, one less, two more ...: negative differences",
		counted(131, func(i uint64) uint64 { return 100 + i/2 + i%2*2 }),
	},
	{
		"bends", layoutBends, "times in ns every 10 s, from 150 on every 20 s",
		counted(200, func(i uint64) uint64 { return 1_790_000_000e9 + 10e9*(i+max(i, 150)-150) }),
	},
	{
		"sliced", layoutSliced, "128 words of 20 to 24 with 300 at 9; a partial block of 70, of 0 to 511",
		slices.Concat(counted(128, func(i uint64) uint64 {
			if i == 9 {
				return 300
			}
			return 20 + i%5
		}), counted(70, func(i uint64) uint64 { return i * 73 % 512 })),
	},
	{
		"sparse", layoutSparse, "0, but 12, 40 and 7 at 3, 64 and 515",
		counted(520, func(i uint64) uint64 { return map[uint64]uint64{3: 12, 64: 40, 515: 7}[i] }),
	},
	{
		"lookup", layoutLookup, "1000, 5000, 2000 and again",
		counted(9, func(i uint64) uint64 { return []uint64{1000, 5000, 2000}[i%3] }),
	},
}

// The golden files show the memory of each layout, byte by byte, so a change of a layout
// changes them.
func TestDumpGolden(t *testing.T) {
	for _, tt := range dumps {
		t.Run(tt.name, func(t *testing.T) {
			w := inLayout(tt.layout, tt.words)
			checkWords(t, &w, tt.words)
			var out strings.Builder
			fmt.Fprintf(&out, "# Layout %v. %d words: %s.\n%s", tt.layout, len(tt.words), tt.about, dumpHead)
			if err := w.dump(&out); err != nil {
				t.Fatal(err)
			}
			checkGolden(t, tt.name+".golden", out.String())
		})
	}
}

const dumpHead = "# Made by: go test ./encoding -run TestDumpGolden -update\n# A field a line: its bytes, highest first, and what they mean.\n\n"

// brokenWriter takes nothing.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestDumpErrors(t *testing.T) {
	w := inLayout(layoutPlain, []uint64{1})
	if err := w.dump(brokenWriter{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Dump() = %v, want the writer's error", err)
	}
}

// Every shape in every layout can be dumped, and long dumps are shortened.
func TestDumpAnything(t *testing.T) {
	for shape, s := range shapes {
		for _, l := range layouts {
			for _, n := range []int{0, 1, 300, 3000} {
				w := inLayout(l, wordsOf(shape, 1, n))
				var out strings.Builder
				if err := w.dump(&out); err != nil {
					t.Fatal(err)
				}
				if got, most := out.Len(), 6000+40*n; got > most || got == 0 {
					t.Errorf("%s as %v: dump of %d words has %d bytes", s.name, l, n, got)
				}
			}
		}
	}
}
