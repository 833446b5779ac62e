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
	"github.com/granarydb/granary/internal/fields"
)

// imageLimits is what a reader of an image is told.
type imageLimits struct {
	rows        int
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
	for v := Type(0); v < 255; v++ {
		if v.Known() {
			fmt.Fprintf(&out, "%4d  %v\n", v, v)
		}
	}
	section("encodings")
	for v := Encoding(0); v < 255; v++ {
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
	w.Column(c)
	return w.AppendTo(nil)
}

// readColumn reads an image that columnImage made.
func readColumn(r *ImageReader, image []byte, spec Spec, rows int, nullable bool) (Column, error) {
	r.Open(image)
	c := r.Column(spec, rows, codesOf(spec), nullable)
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
	for _, image := range toDamage(t) {
		most := 256 * 128
		if raceEnabled || image.Name == "indexed" {
			most = 4096
		}
		image.EveryByte(t, most)
	}
}

func TestImage_RandomChanges(t *testing.T) { damaged.RandomChanges(t, toDamage(t)) }

// FuzzImage reads any bytes as an image of words and as one of a column.
func FuzzImage(f *testing.F) {
	for _, tt := range dumps {
		words := inLayout(tt.layout, tt.words)
		f.Add(imageOf(&words), uint64(0), uint64(slices.Max(tt.words)), byte(0))
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
