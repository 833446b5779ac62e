package dict

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/internal/fields"
)

// newSharing returns an empty dictionary that keeps no record whole.
func newSharing(seed uint64) *Lists {
	d := NewLists(seed)
	d.records.whole = mostWhole
	return d
}

// TestLists_Records has one element for each record, in the order of the records, and stops
// when it is told to.
func TestLists_Records(t *testing.T) {
	d := newSharing(1)
	var ids []uuid.UUID
	for i := range 200 {
		ids = append(ids, uuid.UUID{byte(i), 1})
	}
	if _, err := d.InternElements(nil, ids, nil); err != nil {
		t.Fatal(err)
	}
	for element := range d.Records() {
		t.Fatalf("without records: %d", element)
	}
	var want []uint32
	for i, element := range rand.New(rand.NewPCG(1, 1)).Perm(len(ids))[:100] {
		record := []byte{byte(i)}
		if err := d.KeepRecord(ids[element], record); err != nil {
			t.Fatal(err)
		}
		want = append(want, uint32(element+1))
	}
	for most := range len(want) + 1 {
		var got []uint32
		for element, record := range d.Records() {
			if len(got) == most {
				break
			}
			if record[0] != byte(len(got)) || string(d.Record(element)) != string(record) {
				t.Fatalf("record %d is %d, that of element %d is %d", len(got), record, element, d.Record(element))
			}
			got = append(got, element)
		}
		if !slices.Equal(got, want[:most]) {
			t.Fatalf("%d, want %d", got, want[:most])
		}
	}
}

// Each record comes out as it went in, whatever its texts are, and cut says which it has.
func TestRecords(t *testing.T) {
	tests := []struct {
		record string
		texts  []string
	}{
		{"", nil},
		{"short", nil},
		{"\x00\x01\x02\x03\x04\x05\x06\x07\x08", nil},
		{"12345678", []string{"12345678"}},
		{"\x011234567\x02", nil},
		{"\x0112345678\x02", []string{"12345678"}},
		{"\x01a longer text\x1fshort\x80and one more text", []string{"a longer text", "and one more text"}},
		{"the texts\x01\x02\x03\x04\x05\x06\x07", []string{"the texts"}},
		{"the texts\x01\x02\x03\x04\x05\x06\x07\x08", []string{"the texts", "\x01\x02\x03\x04\x05\x06\x07\x08"}},
		{strings.Repeat("x", 1000) + "\x00" + strings.Repeat("x", 1000), []string{strings.Repeat("x", 1000), strings.Repeat("x", 1000)}},
	}
	r := &newSharing(1).records
	for _, tt := range tests {
		var texts []string
		for _, text := range cut([]byte(tt.record)) {
			if len(text) > 0 {
				texts = append(texts, string(text))
			}
		}
		if !slices.Equal(texts, tt.texts) {
			t.Errorf("%.50q has texts %.50q, want %.50q", tt.record, texts, tt.texts)
		}
		code, err := r.add([]byte(tt.record))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.read(code)); got != tt.record {
			t.Errorf("%.50q became %.50q", tt.record, got)
		}
	}
}

// Records of any bytes come out as they went in, also out of images, and Need is a bound on their growth.
func TestRecords_Any(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 12), rapid.Custom(func(t *rapid.T) []byte {
			return []byte(rapid.SampledFrom([]string{"main.main", "github.com/a/b.(*C).Method", "/usr/lib/libc.so.6", "ünïcode function name"}).Draw(t, "text"))
		}))
		want := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(part, 1, 12), func(parts [][]byte) []byte { return slices.Concat(parts...) }), 1, 30).Draw(t, "records")
		d := NewLists(1)
		d.records.whole = mostWhole - rapid.SampledFrom([]int{0, 1, 20, mostWhole}).Draw(t, "whole")
		var images [][]byte
		var mark ListsMark
		at := rapid.IntRange(0, len(want)).Draw(t, "first image")
		for i, record := range want {
			if i == at {
				images = append(images, nil)
				images[0], mark = d.AppendImage(nil, mark)
			}
			var g Growth
			if len(record) > 0 {
				d.CountRecord(&g, record)
			}
			g.Elements = 1
			_, before := d.Size()
			need := d.Need(g)
			mustElement(t, d, uuidOf(i+1), string(record))
			if _, after := d.Size(); after-before > need {
				t.Fatalf("grew by %d, Need said %d for %+v", after-before, need, g)
			}
		}
		image, _ := d.AppendImage(nil, mark)
		again := NewLists(2)
		for _, image := range append(images, image) {
			addImage(t, again, image)
		}
		old := NewLists(3)
		add, rest, err := old.OpenImage(wholeImage(d), WholeRecords, testList, testRecord)
		if err != nil || len(rest) > 0 {
			t.Fatalf("version 1: %d bytes are left, %v", len(rest), err)
		}
		add()
		for i, record := range want {
			for name, d := range map[string]*Lists{"made": d, "from images": again, "from version 1": old} {
				if got := d.Record(uint32(i + 1)); string(got) != string(record) {
					t.Fatalf("%s: %q became %q", name, record, got)
				}
			}
		}
	})
}

// read returns a record.
func (r *records) read(code uint32) []byte {
	v := r.view()
	return v.read(new([]byte), int(code)-1)
}

// wholeImage returns an image of version 1 of a dictionary's elements.
func wholeImage(d *Lists) []byte {
	w := fields.Writer{}
	w.Uint(0)
	w.Uint(uint64(d.Elements()))
	d.elements.image(&w, 0, d.Elements())
	last := uint32(0)
	for i := range d.Elements() {
		last = putRecordCode(&w, d.recordOf.at(i).Load(), last)
	}
	w.Uint(0) // none is late
	w.Uint(0)
	w.Uint(uint64(d.records.len()))
	for code := range d.records.len() {
		w.Uint(uint64(len(d.records.read(uint32(code + 1)))))
	}
	for code := range d.records.len() {
		w.Raw(d.records.read(uint32(code + 1)))
	}
	w.Uint(0) // no list
	w.Uint(0)
	return w.Data
}

// Locations of one program share their names: each takes little more than its address.
func TestRecords_Share(t *testing.T) {
	d := newSharing(1)
	r := rand.New(rand.NewPCG(1, 2))
	bytes := 0
	for i := range 20_000 {
		record := fmt.Appendf(nil, "\x02(%040x\x00", 7)
		record = binary.AppendUvarint(record, r.Uint64())
		record = fmt.Appendf(append(record, 1), "\x01@github.com/granarydb/granary/package%d.(*Type).Method%d\x00\x01/src/file%d.go\x00\x05\x00", i%7, i%500, i%7)
		record = append(record, "\x20/usr/local/bin/program\x80\x80\x80\x02\x80\x80\x80\x80\x01\x00\x0f"...)
		mustElement(t, d, uuidOf(i+1), string(record))
		bytes += len(record)
	}
	if _, size := d.Size(); size > 60*20_000 || bytes < 160*20_000 {
		t.Errorf("%d bytes of records take %d", bytes, size)
	}
}

// The first records are whole, and later ones have texts: also after an opening.
func TestRecords_Whole(t *testing.T) {
	record := func(i int) string {
		return fmt.Sprintf("%06d\x01%s", i, strings.Repeat("a name in many records ", 100))
	}
	d := NewLists(1)
	n := 2 * mostWhole / len(record(0))
	for i := range n {
		mustElement(t, d, uuidOf(i+1), record(i))
	}
	if _, size := d.Size(); size < mostWhole || size > mostWhole*11/10 || d.records.texts.Len() != 1 {
		t.Errorf("%d bytes, and %d texts, want %d and one", size, d.records.texts.Len(), mostWhole)
	}
	again := NewLists(2)
	image, _ := d.AppendImage(nil, ListsMark{})
	add, _, err := again.OpenImage(image, SharedTexts, testList, len(record(0)))
	if err != nil {
		t.Fatal(err)
	}
	add()
	mustElement(t, again, uuidOf(n+1), record(n))
	for i := range n + 1 {
		if got := string(again.Record(uint32(i + 1))); got != record(i) {
			t.Fatalf("record %d became %.20q of %d bytes", i, got, len(got))
		}
	}
	if again.records.texts.Len() != 1 || again.records.whole != d.records.whole {
		t.Errorf("%d texts and %d whole bytes after an opening, want 1 and %d", again.records.texts.Len(), again.records.whole, d.records.whole)
	}
}
