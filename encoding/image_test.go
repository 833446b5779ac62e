package encoding

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/internal/damaged"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/fields"
)

// imageLimits is what a reader of an image is told.
type imageLimits struct {
	least, most uint64
}

var anyWord = imageLimits{most: math.MaxUint64}

// imageOf returns the image of words, with their ordinals if they are a lookup.
func imageOf(words *Words) []byte {
	var w ImageWriter
	table, ordinals := words.Lookup()
	w.Uint(uint64(words.Len()))
	if table == nil || words.Len() == 0 {
		w.Uint(0)
	} else {
		w.Uint(uint64(table.Len()))
		w.Ordinals(ordinals)
	}
	w.Words(words)
	image, _ := w.AppendTo(nil)
	return image
}

// readWords reads an image that imageOf made.
func readWords(r *ImageReader, image []byte, limits imageLimits) (Words, error) {
	r.Open(image)
	n := int(r.Uint("rows", fuzzed))
	if headers := int(r.Uint("headers", fuzzed)); headers > 0 {
		r.Ordinals(n, headers)
	}
	words := r.Words("words", n, limits.least, limits.most)
	return words, r.Close()
}

// useWords reads words in every way, and fails unless all ways agree and keep to the limits.
func useWords(t fataler, w *Words, limits imageLimits, seed uint64) {
	t.Helper()
	all := w.Append(nil, 0, w.Len())
	if walked := walk(t, w); !slices.Equal(walked, all) {
		t.Fatalf("%v: a cursor reads %v, Append %v", w.layout, walked, all)
	}
	for i := int(seed % 7); i < len(all); i += 1 + len(all)/9 { // each costs a block
		if got := w.At(i); got != all[i] {
			t.Fatalf("%v: At(%d) = %d, Append %d", w.layout, i, got, all[i])
		}
	}
	checkRanges(t, w, all, seed)
	for _, each := range []int{3, 40} {
		checkPick(t, w, all, each, seed)
	}
	for i, word := range all {
		if word < limits.least || word > limits.most {
			t.Fatalf("%v: word %d is %d, not %d to %d", w.layout, i, word, limits.least, limits.most)
		}
	}
	if limits.most < 1<<12 {
		kind := int(seed % uint64(len(answers)))
		checkBits(t, w, all, answersOf(kind, seed, int(limits.most)+1), seed)
	}
	if w.Size() > 1<<20 {
		t.Fatalf("%v: Size() = %d", w.layout, w.Size())
	}
}

// dumpImage returns an image field by field.
func dumpImage(image []byte, read func(r *ImageReader) error) (string, error) {
	dump := fields.Dump{Image: image}
	var r ImageReader
	r.Trace, r.MaxText = dump.Field, fuzzed
	err := read(&r)
	return dump.Text.String(), err
}

const imageHeader = "# Made by: go test ./encoding -run '%s' -update\n# A field a line: its place, its bytes in order, and their meaning.\n\n"

// The golden files have the bytes of an image of each layout.
func TestImageGolden(t *testing.T) {
	for _, tt := range dumps {
		t.Run(tt.name, func(t *testing.T) {
			words := inLayout(tt.layout, tt.words)
			image := imageOf(&words)
			text, err := dumpImage(image, func(r *ImageReader) error {
				got, err := readWords(r, image, anyWord)
				if err == nil {
					checkWords(t, &got, tt.words)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			head := fmt.Sprintf("# Image of layout %v. %d words: %s.\n"+imageHeader, tt.layout, len(tt.words), tt.about, "TestImageGolden")
			checkGolden(t, "image_"+tt.name+".golden", head+text)
		})
	}
}

// The numbers of types, encodings and layouts are in images: they never change.
func TestImageNumbersGolden(t *testing.T) {
	var out strings.Builder
	out.WriteString("# Numbers in images. A number never gets another meaning; new ones come behind.\n" +
		"# Made by: go test ./encoding -run TestImageNumbersGolden -update\n")
	section := func(name string) { fmt.Fprintf(&out, "\n%s\n", name) }
	section("types")
	for v := range Type(math.MaxUint8) {
		if v.Known() {
			fmt.Fprintf(&out, "%4d  %v\n", v, v)
		}
	}
	section("encodings")
	for v := range Encoding(math.MaxUint8) {
		if v.Known() {
			fmt.Fprintf(&out, "%4d  %v\n", v, v)
		}
	}
	section("layouts")
	for v := range layoutNames {
		fmt.Fprintf(&out, "%4d  %v\n", v, layout(v))
	}
	section("kinds of columns")
	for _, k := range []struct {
		number int
		name   string
	}{{imageOfWords, "words"}, {imageOfNulls, "nulls"}, {imageOfTexts, "texts"}, {imageOfIDs, "ids"}, {imageOfIndexed, "indexed ids"}} {
		fmt.Fprintf(&out, "%4d  %v\n", k.number, k.name)
	}
	checkGolden(t, "image_numbers.golden", out.String())
}

// columnImage returns the image of a column, and where its wide words begin.
func columnImage(c *Column) (image []byte, wide int) {
	var w ImageWriter
	w.Column(c, true)
	return w.AppendTo(nil)
}

// readColumn reads an image that columnImage made.
func readColumn(r *ImageReader, image []byte, spec Spec, rows int, nullable bool) (Column, error) {
	r.Open(image)
	c := r.Column(spec, rows, codesOf(spec), nullable, true)
	return c, r.Close()
}

// codesOf returns the number of codes of a spec's dictionary.
func codesOf(spec Spec) int {
	switch {
	case spec.Dict != nil:
		return spec.Dict.Len()
	case spec.Lists != nil:
		return spec.Lists.Len()
	}
	return 0
}

// sampleColumns are columns with every kind of image.
func sampleColumns(t testing.TB) map[string]struct {
	spec   Spec
	column Column
} {
	t.Helper()
	out := map[string]struct {
		spec   Spec
		column Column
	}{}
	add := func(name string, spec Spec, c Column) {
		out[name] = struct {
			spec   Spec
			column Column
		}{spec, c}
	}
	nulls := NewBuilder(Spec{Type: Int64, Encoding: Plain}, 5)
	texts := NewBuilder(Spec{Type: String, Encoding: Plain}, 5)
	for i, text := range []string{"first", "", "äöü", "next", "last"} {
		if i == 3 {
			nulls.Null()
			texts.Null()
			continue
		}
		nulls.Word(uint64(i) * 10)
		texts.Bytes([]byte(text))
	}
	add("nulls", nulls.spec, nulls.Build())
	add("texts", texts.spec, texts.Build())
	ids := func(n int) []byte {
		var data []byte
		for i := range n {
			id := idOf(i)
			data = append(data, id[:]...)
		}
		return data
	}
	spec := Spec{Type: UUID, Encoding: Plain}
	add("ids", spec, NewIDs(spec, []uint64{1, 0, 2, 3}, ids(3)))
	add("indexed", spec, NewIDs(spec, counted(2*filterFrom, func(i uint64) uint64 { return i + 1 }), ids(2*filterFrom)))
	packed := Pack(nil, []uint64{1, 2, 0, 3})
	add("packed ids", spec, PackedIDs(spec, packed[0], ids(3)))
	return out
}

// The golden files have the bytes of the images of columns: nulls, strings, ids, and the filter
// and index of ids, which are kept by hash.
func TestColumnImageGolden(t *testing.T) {
	for name, s := range sampleColumns(t) {
		t.Run(name, func(t *testing.T) {
			image, wide := columnImage(&s.column)
			text, err := dumpImage(image, func(r *ImageReader) error {
				got, err := readColumn(r, image, s.spec, s.column.Len(), true)
				if err == nil {
					checkSameColumn(t, &s.column, &got)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			head := fmt.Sprintf("# Image of a column: %s. Its wide words begin at %#x. Its xxh3 is %016x.\n"+imageHeader, name, wide, xxh3.Hash(image), "TestColumnImageGolden")
			checkGolden(t, "image_column_"+strings.ReplaceAll(name, " ", "_")+".golden", head+text)
		})
	}
	if got, want := fmt.Sprintf("%x", HashID(uuid.UUID{1, 2, 15: 16})), "{a2cc80c5be35b568 ce2b7dc6e6049ef5}"; got != want {
		t.Errorf("HashID = %s, want %s: filters and indexes of ids are kept by it", got, want)
	}
}

// checkSameColumn compares a column that was read with the one that was written.
func checkSameColumn(t testing.TB, want, got *Column) {
	t.Helper()
	if got.Len() != want.Len() || got.Type() != want.Type() || got.Nulls() != want.Nulls() || got.counts != want.counts || got.Dict() != want.Dict() || got.Lists() != want.Lists() {
		t.Fatalf("%d rows of %v, nulls %v; want %d of %v, %v", got.Len(), got.Type(), got.Nulls(), want.Len(), want.Type(), want.Nulls())
	}
	if a, b := read(got), read(want); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("rows %v, want %v", a, b)
	}
	if a, b := got.AppendValid(nil, 0, got.Len()), want.AppendValid(nil, 0, want.Len()); !slices.Equal(a, b) {
		t.Errorf("valid %v, want %v", a, b)
	}
	if a, b := got.Size(), want.Size(); a > b+64 {
		t.Errorf("Size() = %d, want at most %d", a, b)
	}
}

// E1 beyond a file: what is read is what was written, word by word and byte by byte, in every
// layout and every layout inside of others.
func TestWordsImage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawWords(t)
		want = want[:min(len(want), fuzzed)]
		all := []Words{Encode(rapid.SampledFrom(encodings).Draw(t, "encoding"), want), EncodeOrdinals(want), Pack(nil, want)[0]}
		for _, l := range layouts {
			all = append(all, inLayout(l, want))
		}
		for i := range all {
			image := imageOf(&all[i])
			var r ImageReader
			got, err := readWords(&r, image, anyWord)
			if err != nil {
				t.Fatalf("%v: %v", all[i].layout, err)
			}
			checkWords(t, &got, want)
			useWords(t, &got, anyWord, 1)
			if again := imageOf(&got); !bytes.Equal(again, image) {
				t.Fatalf("%v: the image of what was read has %d bytes, not the same %d", all[i].layout, len(again), len(image))
			}
			if len(image)%8 != 0 {
				t.Fatalf("%v: an image of %d bytes", all[i].layout, len(image))
			}
			if len(want) > 0 {
				checkBounds(t, image, want, all[i].layout)
			}
		}
	})
}

// checkBounds reads an image within the least bounds that its words have, and within less.
func checkBounds(t fataler, image []byte, want []uint64, l layout) {
	t.Helper()
	var r ImageReader
	least, most := slices.Min(want), slices.Max(want)
	// Packed words are taken as below or above their reference in either view. Only codes have
	// bounds, and they are not negative.
	if most>>63 != 0 {
		return
	}
	if _, err := readWords(&r, image, imageLimits{least: least, most: most}); err != nil {
		t.Fatalf("%v: words of %d to %d: %v", l, least, most, err)
	}
	if least < most {
		for _, less := range []imageLimits{{least: least + 1, most: most}, {least: least, most: most - 1}} {
			if _, err := readWords(&r, image, less); !errors.Is(err, ErrImage) {
				t.Fatalf("%v: words of %d to %d are %d to %d: %v", l, least, most, less.least, less.most, err)
			}
		}
	}
}

// Columns of all types and encodings, with nulls and without.
func TestColumnImage(t *testing.T) {
	nulls := map[string]func(i int) bool{"none": func(int) bool { return false }, "all": func(int) bool { return true }, "thirds": func(i int) bool { return i%3 == 1 }}
	for _, typ := range types {
		for _, e := range encodings {
			if !e.Fits(typ) {
				continue
			}
			for name, null := range nulls {
				for _, n := range []int{0, 1, 200, 3000} {
					spec := specOf(typ, e)
					want := build(t, spec, rowsOf(typ, n, null))
					image, wide := columnImage(want)
					if (wide < len(image)) != (spec.Dict == nil && want.own != nil && wide < len(image)) {
						t.Errorf("%v, %v: wide words begin at %d of %d bytes", typ, e, wide, len(image))
					}
					r := ImageReader{MaxText: fuzzed}
					got, err := readColumn(&r, image, spec, n, true)
					if err != nil {
						t.Fatalf("%v, %v, %s null of %d: %v", typ, e, name, n, err)
					}
					checkSameColumn(t, want, &got)
					if again, _ := columnImage(&got); !bytes.Equal(again, image) {
						t.Errorf("%v, %v: the image of what was read differs", typ, e)
					}
					if _, err := readColumn(&r, image, spec, n, false); (err != nil) != (name != "none" && n > 1) && n > 1 {
						t.Errorf("%v, %v, %s null, not nullable: %v", typ, e, name, err)
					}
				}
			}
		}
	}
}

// Words are used where they were read, if they can be, and are copied otherwise.
func TestImageSharesMemory(t *testing.T) {
	within := func(words []uint64, image []byte) bool {
		at, from := uintptr(unsafe.Pointer(&words[0])), uintptr(unsafe.Pointer(&image[0]))
		return at >= from && at < from+uintptr(len(image))
	}
	words := inLayout(layoutRises, wordsOf(10, 1, 700))
	image := imageOf(&words)
	read := func(image []byte) Words {
		var r ImageReader
		got, err := readWords(&r, image, anyWord)
		if err != nil {
			t.Fatal(err)
		}
		checkWords(t, &got, words.Append(nil, 0, words.Len()))
		return got
	}
	if got := read(image); !within(got.form.blocks.bits, image) {
		t.Error("words of an aligned image are a copy")
	}
	moved := append(make([]byte, 1, len(image)+8), image...)[1:]
	if got := read(moved); within(got.form.blocks.bits, moved) {
		t.Error("words of an image that is not aligned share its memory")
	}
	if !littleEndian {
		t.Skip("the other byte order is that of this machine")
	}
	littleEndian = false
	defer func() { littleEndian = true }()
	if other := imageOf(&words); !bytes.Equal(other, image) {
		t.Error("the image is another with the other byte order")
	}
	if got := read(image); within(got.form.blocks.bits, image) {
		t.Error("words share the memory of the image with the other byte order")
	}
	for name, s := range sampleColumns(t) {
		image, _ := columnImage(&s.column)
		r := ImageReader{MaxText: fuzzed}
		got, err := readColumn(&r, image, s.spec, s.column.Len(), true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkSameColumn(t, &s.column, &got)
	}
}

// wordsToDamage is the image of words whose reader is told limits.
func wordsToDamage(name string, image []byte, limits imageLimits) damaged.Image {
	return damaged.Image{
		Name: name, Bytes: image, Bad: ErrImage,
		Open: func(image []byte) (any, error) {
			var r ImageReader
			words, err := readWords(&r, image, limits)
			return &words, err
		},
		Use: func(t *testing.T, opened any) { useWords(t, opened.(*Words), limits, uint64(len(image))) },
	}
}

// columnToDamage is the image of a column.
func columnToDamage(name string, image []byte, spec Spec, rows int) damaged.Image {
	const maxText = 10
	return damaged.Image{
		Name: name, Bytes: image, Bad: ErrImage,
		Open: func(image []byte) (any, error) {
			r := ImageReader{MaxText: maxText}
			c, err := readColumn(&r, image, spec, rows, true)
			return &c, err
		},
		Use: func(t *testing.T, opened any) {
			c := opened.(*Column)
			useWords(t, c.Words(), anyWord, uint64(len(image)))
			if spec.Type.Fixed() {
				return
			}
			for i, word := range c.Words().Append(nil, 0, rows) {
				if value := c.Bytes(word); spec.Type == UUID && word != 0 && len(value) != idSize || spec.Type == String && len(value) > maxText {
					t.Fatalf("row %d has %d bytes", i, len(value))
				}
			}
			c.AppendValid(nil, 0, rows)
			for i := range 3 {
				c.MayHave(HashID(idOf(i)))
				c.RowsOf(nil, idOf(i))
			}
		},
	}
}

// toDamage returns images of all layouts and kinds of columns.
func toDamage(t testing.TB) (images []damaged.Image) {
	for _, tt := range dumps {
		words := inLayout(tt.layout, tt.words)
		limits := anyWord
		if most := slices.Max(tt.words); most < 1<<12 {
			limits.most = most
		}
		images = append(images, wordsToDamage(tt.name, imageOf(&words), limits))
	}
	samples := sampleColumns(t)
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		s := samples[name]
		image, _ := columnImage(&s.column)
		images = append(images, columnToDamage(name, image, s.spec, s.column.Len()))
	}
	return images
}

// Every byte of a small image, changed to every value, is an error, or words that read the same
// in every way and keep to their bounds.
func TestImage_EveryByte(t *testing.T) {
	effort.Slow(t)
	for _, image := range toDamage(t) {
		image.EveryByte(t, 256*64)
	}
}

func TestImage_RandomChanges(t *testing.T) { damaged.RandomChanges(t, toDamage(t)) }

// Part by part, what reading words relies on is checked, and the error names the place.
func TestImageErrors(t *testing.T) {
	flatWords := func(w *ImageWriter, words ...uint64) {
		p := pack(words)
		w.Words(&Words{layout: layoutPacked, n: p.n, packed: p})
	}
	packedNumbers := func(w *ImageWriter, numbers ...uint64) {
		p := pack(numbers)
		w.packed(&p)
	}
	// blocksOf130 writes two blocks, of 128 and of 2 words.
	blocksOf130 := func(starts, widths []uint64, bits ...uint64) func(w *ImageWriter) {
		return func(w *ImageWriter) {
			w.Uint(uint64(layoutBlocks))
			w.Int(0)
			w.Uint(1)
			packedNumbers(w, starts...)
			packedNumbers(w, widths...)
			packedNumbers(w, 0, 0)
			w.putWords(bits)
		}
	}
	exception := func(place, excess uint64) uint64 { return excess<<placeBits | place }
	idColumn := func(write func(w *ImageWriter)) func(w *ImageWriter) {
		return func(w *ImageWriter) {
			w.Uint(imageOfIndexed)
			w.Uint(300)
			w.isWide = true
			words := Encode(Delta, counted(300, func(i uint64) uint64 { return i + 1 }))
			w.Words(&words)
			w.putData(make([]byte, idSize*300))
			w.putWords(make([]uint64, filterSize(300)))
			write(w)
		}
	}
	stringsOf := func(data string, ends ...uint64) func(w *ImageWriter) {
		return func(w *ImageWriter) {
			w.Uint(imageOfTexts)
			w.Uint(uint64(len(ends)))
			w.isWide = true
			flatWords(w, append(counted(len(ends), func(i uint64) uint64 { return i + 1 }), make([]uint64, 3-len(ends))...)...)
			packedNumbers(w, ends...)
			w.putData([]byte(data))
		}
	}
	words := func(n int, most uint64) func(r *ImageReader) {
		return func(r *ImageReader) { r.Words("words", n, 0, most) }
	}
	column := func(spec Spec, rows int) func(r *ImageReader) {
		return func(r *ImageReader) { r.Column(spec, rows, 0, true, true) }
	}
	text, ids := Spec{Type: String, Encoding: Plain}, Spec{Type: UUID, Encoding: Plain}
	tests := []struct {
		name  string
		write func(w *ImageWriter)
		read  func(r *ImageReader)
		want  string
	}{
		{"a layout that there is not", func(w *ImageWriter) { w.Uint(10) }, words(1, 9), "layout is 10, at most 9"},
		{"a wide word", func(w *ImageWriter) { w.Uint(1); w.Uint(65 << 1) }, words(1, 9), "width is 130, at most 129"},
		{"plain of another width", func(w *ImageWriter) { w.Uint(0); w.Uint(0); w.Int(3) }, words(1, 9), "layout plain of width 0"},
		{"a scale of 1", func(w *ImageWriter) { w.Uint(1); w.Uint(1); w.Int(0); w.Uint(1) }, words(1, 9), "a scale of 1 is not written"},
		{"bits that are not there", func(w *ImageWriter) { w.Uint(1); w.Uint(7 << 1); w.Int(0) }, words(100, 9), "bits have 88 bytes, and 0 words are left"},
		{"a word beyond the bound", func(w *ImageWriter) { flatWords(w, 1, 9, 10) }, words(3, 9), "not all words are 0 to 9"},
		{"runs in runs", func(w *ImageWriter) { w.Uint(2); w.Uint(1); w.Uint(2) }, words(3, 9), "layout runs inside of another"},
		{"more runs than words", func(w *ImageWriter) { w.Uint(2); w.Uint(4) }, words(3, 9), "runs is 4, at most 3"},
		{"runs that end early", func(w *ImageWriter) { w.Uint(2); w.Uint(1); flatWords(w, 5); packedNumbers(w, 2) }, words(3, 9), "the last run ends at row 2 of 3"},
		{"an empty run", func(w *ImageWriter) { w.Uint(2); w.Uint(2); flatWords(w, 5, 6); packedNumbers(w, 3, 3) }, words(3, 9), "a run ends at row 3, and the one before at 3"},
		{"bits behind a bitmap", func(w *ImageWriter) { w.Uint(8); w.putWords([]uint64{9}); flatWords(w, 5, 6) }, words(3, 9), "the bitmap of 3 words has bits behind them"},
		{"a lookup without ordinals", func(w *ImageWriter) { w.Uint(9); w.Uint(1) }, words(3, 9), "a lookup of 3 words has no ordinals"},
		{"a lookup in a lookup", func(w *ImageWriter) { flatWords(w, 0, 1, 1); w.Uint(9); w.Uint(9) }, func(r *ImageReader) {
			r.Ordinals(3, 2)
			r.Words("words", 3, 0, 9)
		}, "a lookup of 2 words has no ordinals"},
		{"no words in runs", func(w *ImageWriter) { w.Uint(2) }, words(0, 9), "no words are in layout runs"},
		{"blocks without a scale", func(w *ImageWriter) {
			w.Uint(3)
			w.Int(0)
			w.Uint(0)
			packedNumbers(w, 0, 0)
			packedNumbers(w, 0)
			packedNumbers(w, 0)
		}, words(3, 9), "scale is 0"},
		{"a block that starts late", blocksOf130([]uint64{1, 1, 1}, []uint64{0, 0}, 0), words(130, 9), "block 0 starts at 1"},
		{"a wide block", blocksOf130([]uint64{0, 0, 1}, []uint64{0, 65}, 0), words(130, 9), "block 1 has a width of 65"},
		{"a block without room", blocksOf130([]uint64{0, 1, 2}, []uint64{1, 1}, 0, 0), words(130, 9), "block 0 of 128 words of width 1 lies in 64-bit words 0 to 1"},
		{"a block that ends before it starts", blocksOf130([]uint64{0, 3, 2}, []uint64{1, 0}, 0, 0), words(130, 9), "block 0 of 128 words of width 1 lies in 64-bit words 0 to 3"},
		{"an exception behind the words", blocksOf130([]uint64{0, 0, 1}, []uint64{0, 0}, exception(2, 1)), words(130, 9), "exception 0 of block 1 is 1 * 2^width at word 2 of 2, and 0 is next"},
		{"an exception twice", blocksOf130([]uint64{0, 1, 1}, []uint64{0, 0}, exception(7, 1)<<32|exception(7, 1)), words(130, 9), "exception 1 of block 0 is 1 * 2^width at word 7 of 128, and 8 is next"},
		{"an exception of nothing", blocksOf130([]uint64{0, 1, 1}, []uint64{0, 0}, exception(7, 0)), words(130, 9), "exception 0 of block 0 is 0 * 2^width at word 7 of 128, and 0 is next"},
		{"words that are left", func(w *ImageWriter) { flatWords(w, 1, 2); w.putWords([]uint64{1}) }, words(2, 9), "0 bytes of the descriptor, 1 words and 0 wide words are left"},
		{"strings as ids", stringsOf("abc", 1, 2, 3), column(ids, 3), "a column of kind 2 is no uuid of encoding plain"},
		{"a string amid a character", stringsOf("aäb", 1, 2, 4), column(text, 3), "a string ends at byte 2 amid a character"},
		{"strings that are not UTF-8", stringsOf("a\xffb", 1, 2, 3), column(text, 3), "the strings are not valid UTF-8"},
		{"a long string", stringsOf("abcdefghijkl", 1, 12), column(text, 3), "a string lies in bytes 1 to 12 of 12, and may have 10"},
		{"ends that fall", stringsOf("abc", 2, 1, 3), column(text, 3), "a string lies in bytes 2 to 1 of 3, and may have 10"},
		{"more values than rows", func(w *ImageWriter) { w.Uint(2); w.Uint(4) }, column(text, 3), "values is 4, at most 3"},
		{"an ordinal of no value", func(w *ImageWriter) { w.Uint(2); w.Uint(2); w.isWide = true; flatWords(w, 1, 2, 3) }, column(text, 3), "not all words are 0 to 2"},
		{"buckets that fall", idColumn(func(w *ImageWriter) {
			starts := make([]byte, 4*39)
			starts[0] = 1
			w.putData(starts)
			w.putData(make([]byte, 300))
		}), column(ids, 300), "bucket 1 starts at 0 of 300, and the one before at 1"},
		{"a chunk behind the ids", idColumn(func(w *ImageWriter) {
			w.putData(make([]byte, 4*39))
			w.putData(append(make([]byte, 299), 150))
		}), column(ids, 300), "entry 299 is of chunk 150, of 300 ids in chunks of 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var w ImageWriter
			tt.write(&w)
			image, _ := w.AppendTo(nil)
			r := ImageReader{MaxText: 10}
			r.Open(image)
			tt.read(&r)
			if err := r.Close(); !errors.Is(err, ErrImage) || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	for _, image := range [][]byte{nil, make([]byte, 4), make([]byte, 8), make([]byte, 9), {8, 0, 0, 0, 1, 0, 0, 0}, {9, 0, 0, 0, 0, 0, 0, 0}, {8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}} {
		var r ImageReader
		if r.Open(image); !errors.Is(r.Close(), ErrImage) {
			t.Errorf("%x is an image", image)
		}
	}
}

// FuzzImage reads any bytes as an image of words and as one of a column.
func FuzzImage(f *testing.F) {
	for _, tt := range dumps {
		words := inLayout(tt.layout, tt.words)
		f.Add(imageOf(&words), uint64(0), slices.Max(tt.words), byte(0))
	}
	columns := sampleColumns(f)
	for _, s := range columns {
		image, _ := columnImage(&s.column)
		f.Add(image, uint64(0), uint64(0), byte(s.spec.Type))
	}
	f.Fuzz(func(t *testing.T, image []byte, least, most uint64, typ byte) {
		words := wordsToDamage("words", nil, imageLimits{least: least, most: most})
		_ = words.Try(t, image)
		for _, rows := range []int{4, 5, 512} {
			for _, spec := range []Spec{{Type: Int64, Encoding: Plain}, {Type: String, Encoding: Plain}, {Type: UUID, Encoding: Plain}} {
				if typ == byte(spec.Type) {
					column := columnToDamage("column", nil, spec, rows)
					_ = column.Try(t, image)
				}
			}
		}
	})
}
