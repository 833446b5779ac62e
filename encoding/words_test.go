package encoding

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	encodings = []Encoding{Plain, Dictionary, RLE, DictionaryRLE, Delta}
	layouts   = []layout{layoutPlain, layoutPacked, layoutRuns, layoutBlocks, layoutRises, layoutChanges, layoutBends, layoutSliced, layoutSparse, layoutLookup}
)

// shapes are kinds of data. Together they make Encode choose every layout, and
// every width of packed words from 0 to 64.
var shapes = []struct {
	name string
	word func(r *rand.Rand, i int, last uint64) uint64
}{
	{"constant", func(*rand.Rand, int, uint64) uint64 { return 42 }},
	{"constant max", func(*rand.Rand, int, uint64) uint64 { return math.MaxUint64 }},
	{"bits", func(r *rand.Rand, _ int, _ uint64) uint64 { return r.Uint64N(2) }},
	{"codes", func(r *rand.Rand, _ int, _ uint64) uint64 { return r.Uint64N(1000) }},
	{"short runs", func(_ *rand.Rand, i int, _ uint64) uint64 { return uint64(i / 2) }},
	{"long runs", func(r *rand.Rand, _ int, last uint64) uint64 {
		if r.IntN(100) == 0 {
			return r.Uint64N(1 << 20)
		}
		return last
	}},
	{"counter", func(_ *rand.Rand, i int, _ uint64) uint64 { return 1 << 40 * uint64(i) }},
	{"timestamps", func(r *rand.Rand, i int, _ uint64) uint64 {
		return 1_790_000_000_000_000_000 + uint64(i)*10_000_000_000 + r.Uint64N(1000)
	}},
	{"accelerating", func(_ *rand.Rand, i int, _ uint64) uint64 { return uint64(i) * uint64(i) }},
	{"outliers", func(r *rand.Rand, _ int, _ uint64) uint64 {
		if r.IntN(50) == 0 {
			return r.Uint64N(1 << 30)
		}
		return r.Uint64N(1 << 8)
	}},
	{"rising", func(r *rand.Rand, _ int, last uint64) uint64 {
		if r.IntN(200) == 0 {
			return r.Uint64N(1 << 10)
		}
		return last + r.Uint64N(1<<8)
	}},
	{"wandering", func(r *rand.Rand, _ int, last uint64) uint64 { return last + r.Uint64N(1<<10) - 1<<9 }},
	{"multiples", func(r *rand.Rand, _ int, _ uint64) uint64 { return 10_000_000 * (1 + r.Uint64N(30)) }},
	{"mostly zero", func(r *rand.Rand, _ int, _ uint64) uint64 {
		if r.IntN(30) == 0 {
			return r.Uint64()
		}
		return 0
	}},
	{"falling", func(_ *rand.Rand, i int, _ uint64) uint64 { return -uint64(i) }},
	{"around zero", func(r *rand.Rand, _ int, _ uint64) uint64 { return r.Uint64N(200) - 100 }},
	{"around min int", func(r *rand.Rand, _ int, _ uint64) uint64 { return 1<<63 + r.Uint64N(200) - 100 }},
	{"int extremes", func(r *rand.Rand, _ int, _ uint64) uint64 {
		return [...]uint64{1 << 63, 1<<63 - 1, 0, math.MaxUint64}[r.IntN(4)]
	}},
	{"63 bits", func(r *rand.Rand, _ int, _ uint64) uint64 { return r.Uint64() >> 1 }},
	{"any width", func(r *rand.Rand, _ int, _ uint64) uint64 { return r.Uint64() >> r.IntN(65) }},
	{"random", func(r *rand.Rand, _ int, _ uint64) uint64 { return r.Uint64() }},
}

// wordsOf makes n words of a shape; the same seed makes the same words.
func wordsOf(shape int, seed uint64, n int) []uint64 {
	r := rand.New(rand.NewPCG(seed, 0))
	words := make([]uint64, n)
	var last uint64
	for i := range words {
		last = shapes[shape].word(r, i, last)
		words[i] = last
	}
	return words
}

// blocksOf encodes words: of the orders it is given, in that with the fewest bits.
func blocksOf(words []uint64, orders ...order) *blocks {
	if len(words) == 0 {
		return &blocks{}
	}
	d := newBlocksDraft(words, planOf(words))
	defer d.done()
	d.plan(orders)
	return d.build()
}

// inLayout encodes words in a layout, be it the smallest or not.
func inLayout(l layout, words []uint64) Words {
	w := Words{layout: l, n: uint32(len(words)), form: &form{}}
	switch l {
	case layoutPlain:
		w.packed, w.form = packed{bits: append(slices.Clone(words), 0), width: 64, n: uint32(len(words))}, nil
	case layoutPacked:
		w.packed, w.form = pack(words), nil
	case layoutRuns:
		w.form.runs = runsOf(words)
	case layoutSparse:
		w.form.sparse = sparseOf(words)
	case layoutLookup:
		table := slices.Compact(slices.Sorted(slices.Values(words)))
		ordinals := make([]uint64, len(words))
		for i, word := range words {
			at, _ := slices.BinarySearch(table, word)
			ordinals[i] = uint64(at)
		}
		packed := Encode(Plain, ordinals)
		return Lookup(Encode(Delta, table), &packed)
	default:
		w.form.blocks = blocksOf(words, order(l-layoutBlocks))
	}
	return w
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkWords reads words in every way and compares them with the encoded ones (E1).
func checkWords(t fataler, got *Words, want []uint64) {
	t.Helper()
	if got.Len() != len(want) {
		t.Fatalf("%v: Len() = %d, want %d", got.layout, got.Len(), len(want))
	}
	for i, w := range want {
		if g := got.At(i); g != w {
			t.Fatalf("%v: At(%d) = %#x, want %#x", got.layout, i, g, w)
		}
	}
	if all := got.Append(nil, 0, len(want)); !slices.Equal(all, want) {
		t.Fatalf("%v: Append (-want +got):\n%s", got.layout, cmp.Diff(want, all))
	}
	if all := walk(t, got); !slices.Equal(all, want) {
		t.Fatalf("%v: Cursor (-want +got):\n%s", got.layout, cmp.Diff(want, all))
	}
}

// checkRanges reads ranges, at random and around the ends of blocks, into slices with and
// without room, and compares them with the encoded words (E1). The content of a slice before
// the range, and the memory behind it, must not change.
func checkRanges(t fataler, got *Words, want []uint64, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	for range 6 {
		lo := r.IntN(len(want) + 1)
		hi := lo + r.IntN(len(want)+1-lo)
		if r.IntN(2) == 0 {
			lo = min(lo/blockLen*blockLen+r.IntN(2), hi)
		}
		room := []int{0, hi - lo, hi - lo + 5}[r.IntN(3)]
		dst := make([]uint64, 1, 1+room)
		behind := dst[:cap(dst)]
		for i := range behind {
			behind[i] = 7
		}
		out := got.Append(dst, lo, hi)
		if out[0] != 7 || !slices.Equal(out[1:], want[lo:hi]) {
			t.Fatalf("%v: Append(%d, %d) of %d words (-want +got):\n%s", got.layout, lo, hi, len(want), cmp.Diff(want[lo:hi], out[1:]))
		}
		if room > hi-lo && slices.ContainsFunc(behind[1+hi-lo:], func(w uint64) bool { return w != 7 }) {
			t.Fatalf("%v: Append(%d, %d) writes behind its end", got.layout, lo, hi)
		}
	}
}

// walk reads words with a cursor, and asks it once more at the end.
func walk(t fataler, w *Words) []uint64 {
	t.Helper()
	var out []uint64
	c := w.Cursor()
	for {
		word, rows := c.Next()
		if rows == 0 {
			break
		}
		if rows < 0 || len(out)+rows > w.Len() {
			t.Fatalf("%v: cursor at row %d of %d gives %d rows", w.layout, len(out), w.Len(), rows)
		}
		out = append(out, slices.Repeat([]uint64{word}, rows)...)
	}
	if word, rows := c.Next(); word != 0 || rows != 0 {
		t.Fatalf("%v: Next() after the end = %d, %d", w.layout, word, rows)
	}
	return out
}

// E1 for every shape around the places where blocks and 64-bit words end.
func TestWordsRoundTrip(t *testing.T) {
	for shape, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			for _, n := range []int{0, 1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000} {
				words := wordsOf(shape, 1, n)
				for _, e := range encodings {
					w := Encode(e, words)
					checkWords(t, &w, words)
				}
				for _, l := range layouts {
					w := inLayout(l, words)
					checkWords(t, &w, words)
				}
			}
		})
	}
}

// drawWords draws words of a mixture of shapes, so that widths, runs and steps
// change within one column.
func drawWords(t *rapid.T) []uint64 {
	var words []uint64
	for range rapid.IntRange(0, 3).Draw(t, "pieces") {
		shape := rapid.IntRange(0, len(shapes)-1).Draw(t, "shape")
		n := rapid.OneOf(rapid.IntRange(0, 300), rapid.SampledFrom([]int{127, 128, 129})).Draw(t, "n")
		words = append(words, wordsOf(shape, rapid.Uint64().Draw(t, "seed"), n)...)
	}
	return words
}

// E1 for mixtures: Append returns any range of the words, and keeps the content of dst.
func TestWordsRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := drawWords(t)
		lo := rapid.IntRange(0, len(words)).Draw(t, "lo")
		hi := rapid.IntRange(lo, len(words)).Draw(t, "hi")
		all := []Words{Encode(rapid.SampledFrom(encodings).Draw(t, "encoding"), words)}
		for _, l := range layouts {
			all = append(all, inLayout(l, words))
		}
		for _, w := range all {
			checkWords(t, &w, words)
			want := append([]uint64{7}, words[lo:hi]...)
			if got := w.Append([]uint64{7}, lo, hi); !slices.Equal(want, got) {
				t.Fatalf("%v: Append(%d, %d) (-want +got):\n%s", w.layout, lo, hi, cmp.Diff(want, got))
			}
		}
	})
}

// The golden file shows the layout and size that Encode chooses for each shape and encoding,
// so a change of layout changes the file.
func TestEncodeGolden(t *testing.T) {
	const n = 1024
	var out strings.Builder
	fmt.Fprintf(&out, "# Layout and bytes of %d words. Made by: go test ./encoding -run Golden -update\n\n%-16s", n, "")
	for _, e := range encodings {
		fmt.Fprintf(&out, "%-16v", e)
	}
	for shape, s := range shapes {
		fmt.Fprintf(&out, "\n%-16s", s.name)
		for _, e := range encodings {
			w := Encode(e, wordsOf(shape, 1, n))
			fmt.Fprintf(&out, "%-16s", fmt.Sprintf("%v %d", w.layout, w.Size()))
		}
	}
	checkGolden(t, "layouts.txt", trimLines(out.String()))
}

// trimLines drops the spaces that padding leaves at the ends of lines.
func trimLines(s string) string {
	return regexp.MustCompile(` *(\n|$)`).ReplaceAllString(s, "$1") + "\n"
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// Encode takes about the smallest of packed and the requested layouts: blocks if there is more
// than one, runs if they have two words on average.
func TestEncodeTakesTheSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := drawWords(t)
		for e, tried := range map[Encoding][]layout{
			Plain:         {layoutPacked, layoutBlocks, layoutChanges},
			Dictionary:    {layoutPacked, layoutBlocks, layoutChanges},
			RLE:           {layoutPacked, layoutBlocks, layoutRises, layoutRuns},
			DictionaryRLE: {layoutPacked, layoutBlocks, layoutRises, layoutRuns},
			Delta:         {layoutPacked, layoutRises, layoutChanges, layoutBends},
		} {
			w := Encode(e, words)
			for _, l := range tried {
				other := inLayout(l, words)
				switch {
				case l == layoutRuns && 2*other.form.runs.ends.n >= other.n:
					continue
				case other.form != nil && other.form.blocks != nil && other.n <= blockLen:
					continue
				}
				if slack := other.Size()/4 + blocksSize; w.Size() > other.Size()+slack {
					t.Errorf("Encode(%v): %v of %d bytes, %v has %d", e, w.layout, w.Size(), l, other.Size())
				}
			}
		}
	})
}

// Pack gives each column its words, of one slab.
func TestPack(t *testing.T) {
	var columns [][]uint64
	for shape := range shapes {
		columns = append(columns, wordsOf(shape, 1, 100+shape))
	}
	columns = append(columns, nil)
	first := inLayout(layoutPlain, []uint64{7})
	all := Pack([]Words{first}, columns...)
	checkWords(t, &all[0], []uint64{7})
	for i, want := range columns {
		checkWords(t, &all[i+1], want)
	}
	if n := testing.AllocsPerRun(10, func() { all = Pack(all[:0], columns...) }); n != 1 {
		t.Errorf("Pack allocates %v times, want 1", n)
	}
}

// E2: neither the slice that Encode was given nor one that Append gave is part
// of the words.
func TestWordsShareNothing(t *testing.T) {
	for shape, s := range shapes {
		for _, e := range encodings {
			given := wordsOf(shape, 1, 300)
			want := slices.Clone(given)
			w := Encode(e, given)
			if !slices.Equal(given, want) {
				t.Fatalf("%s: Encode(%v) changed its input", s.name, e)
			}
			for i := range given {
				given[i]++
			}
			got := w.Append(nil, 0, w.Len())
			for i := range got {
				got[i]++
			}
			checkWords(t, &w, want)
		}
	}
}

// sliceBytes sums the slices that v refers to: the expected Size.
func sliceBytes(v reflect.Value) int {
	n := 0
	switch v.Kind() {
	case reflect.Slice:
		n = v.Cap() * int(v.Type().Elem().Size())
	case reflect.Pointer:
		if !v.IsNil() {
			n = int(v.Type().Elem().Size()) + sliceBytes(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			n += sliceBytes(field)
		}
	}
	return n
}

func TestWordsSize(t *testing.T) {
	for shape, s := range shapes {
		for _, e := range encodings {
			w := Encode(e, wordsOf(shape, 1, 1300))
			// Bytes that the allocator rounds up do not count.
			if got, want := w.Size(), sliceBytes(reflect.ValueOf(w)); got < want || got > want+32 {
				t.Errorf("%s, %v as %v: Size() = %d, want %d", s.name, e, w.layout, got, want)
			}
		}
	}
}

func TestZeroWords(t *testing.T) {
	var w Words
	checkWords(t, &w, nil)
	if w.Size() != 0 {
		t.Errorf("Size() = %d, want 0", w.Size())
	}
}

// Runs and constants come whole, so that work is done once a run.
func TestCursorGivesRunsWhole(t *testing.T) {
	type run struct {
		Word uint64
		Rows int
	}
	tests := []struct {
		name   string
		layout layout
		want   []run
	}{
		{"runs", layoutRuns, []run{{5, 1000}, {1 << 50, 2000}, {5, 1}}},
		{"constant", layoutPacked, []run{{5, 300}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var words []uint64
			for _, r := range tt.want {
				words = append(words, slices.Repeat([]uint64{r.Word}, r.Rows)...)
			}
			w := Encode(RLE, words)
			if w.layout != tt.layout {
				t.Fatalf("layout %v, want %v", w.layout, tt.layout)
			}
			var got []run
			for c := w.Cursor(); ; {
				word, rows := c.Next()
				if rows == 0 {
					break
				}
				got = append(got, run{word, rows})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWordsOutOfRangePanics(t *testing.T) {
	for _, l := range layouts {
		w := inLayout(l, []uint64{1, 2, 3, 4})
		empty := inLayout(l, nil)
		tests := []struct {
			name string
			read func()
		}{
			{"At(-1)", func() { w.At(-1) }},
			{"At(Len)", func() { w.At(4) }},
			{"At(0) of none", func() { empty.At(0) }},
			{"Append(-1, 1)", func() { w.Append(nil, -1, 1) }},
			{"Append(3, 2)", func() { w.Append(nil, 3, 2) }},
			{"Append(0, Len+1)", func() { w.Append(nil, 0, 5) }},
			{"Append(Len+1, Len+1)", func() { w.Append(nil, 5, 5) }},
		}
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%v/%s", l, tt.name), func(t *testing.T) {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				tt.read()
			})
		}
	}
}

func TestZigzag(t *testing.T) {
	for difference, want := range map[int64]uint64{0: 0, -1: 1, 1: 2, -2: 3, math.MaxInt64: math.MaxUint64 - 1, math.MinInt64: math.MaxUint64} {
		if got := zigzag(uint64(difference)); got != want {
			t.Errorf("zigzag(%d) = %d, want %d", difference, got, want)
		}
		if got := int64(unzigzag(want)); got != difference {
			t.Errorf("unzigzag(%d) = %d, want %d", want, got, difference)
		}
	}
}
