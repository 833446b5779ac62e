package dict

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/internal/fields"
)

// RecordOrder has one element for each record, in the order of the records, and stops
// when it is told to.
func TestLists_RecordOrder(t *testing.T) {
	d := NewLists(1)
	var ids []uuid.UUID
	for i := range 200 {
		ids = append(ids, uuid.UUID{byte(i), 1})
	}
	if _, err := d.InternElements(nil, ids, nil); err != nil {
		t.Fatal(err)
	}
	for element := range d.RecordOrder() {
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
		for element := range d.RecordOrder() {
			if len(got) == most {
				break
			}
			if record := d.Record(element); record[0] != byte(len(got)) {
				t.Fatalf("record %d of element %d is %d", len(got), element, record)
			}
			got = append(got, element)
		}
		if !slices.Equal(got, want[:most]) {
			t.Fatalf("%d, want %d", got, want[:most])
		}
	}
}

// line returns a line of a location's record.
func line(function, system, file string, start, line, column int64) string {
	out := "\x01"
	for _, text := range []string{function, system, file} {
		out += string(binary.AppendUvarint(nil, uint64(len(text)))) + text
	}
	for _, n := range []int64{start, line, column} {
		out += string(binary.AppendVarint(nil, n))
	}
	return out
}

// locationText returns a location's record.
func locationText(address uint64, lines ...string) string {
	out := "\x02\x0aa build id\x00" + string(binary.AppendUvarint(nil, address)) + string(binary.AppendUvarint(nil, uint64(len(lines))))
	return out + strings.Join(lines, "") + "\x0c/usr/bin/app\x80\x80\x02\x80\x40\x00\x0f"
}

// recordHash returns the id that a record gives its element.
func recordHash(record []byte) uuid.UUID {
	l, ok := parseLocation(record, nil)
	if !ok {
		return RecordID(record)
	}
	return RecordID(record[:len(record)-len(l.tail)])
}

// Each record comes out as it went in, whatever its form is. Locations are kept as codes, and others whole.
func TestRecords(t *testing.T) {
	many := make([]string, mostLines+1)
	for i := range many {
		many[i] = line("a function's name", "", "/a/file.go", 1, int64(i), 0)
	}
	location := locationText(1<<40, line("a function's name", "a function's name", "/a/file.go", 12, 1<<40, -1), line("main.main", "_main.main", "/a/file.go", 0, 1, 0))
	tests := []struct {
		record   string
		location bool
	}{
		{"", false},
		{"short", false},
		{"\x0f", false},
		{"\x1fa longer text", false},
		{location, true},
		{locationText(0), true},
		{locationText(1<<64 - 1), true},
		{locationText(1<<56-1, many[:14]...), true},
		{locationText(1<<56, many[:15]...), true},
		{locationText(255, many[:mostLines]...), true},
		{locationText(255, many...), false},
		{locationText(5, line("a longer function", "", "", -1, 0, math.MinInt64)), false}, // 2*column has no room
		{locationText(5, line("a longer function", "", "", math.MinInt64, math.MaxInt64, math.MaxInt64/2)), true},
		{locationText(5, "\x00"+line("", "", "", 0, 7, 0)[1:]), true},
		{locationText(5, "\x02"+line("a longer function", "", "", 0, 7, 0)[1:]), false},
		{locationText(5, line("f", "g", "h", 0, 7, 0), line("f", "g", "h", 0, 7, 0), line("f", "g", "h", 0, 7, 0)), false}, // short texts
		{location + "\x00", false},
		{location[:len(location)-1], false},
		{strings.Replace(location, "\x02\x0a", "\x82\x00\x0a", 1), false}, // a number with a needless byte
		{strings.Replace(location, "\x02\x0a", "\x02\xff\xff\x7f", 1), false},
	}
	r := &NewLists(1).records
	for _, tt := range tests {
		code, identity, err := r.add([]byte(tt.record))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.read(code)); got != tt.record {
			t.Errorf("%.80q became %.80q", tt.record, got)
		}
		if RecordID(identity) != recordHash([]byte(tt.record)) {
			t.Errorf("%.80q has the identity %.80q", tt.record, identity)
		}
		if stored := r.stored(code); (stored[0] != wholeForm) != tt.location || tt.location && len(stored) > len(tt.record) {
			t.Errorf("%.80q is kept as % .20x of %d bytes", tt.record, stored, len(stored))
		}
	}
}

// The texts of earlier releases are the same in every one (E7).
func TestCut(t *testing.T) {
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
	r := &NewLists(1).records
	r.whole = mostWhole
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
		if err := r.addTexts([]byte(tt.record)); err != nil {
			t.Fatal(err)
		}
		code := uint32(r.len())
		if got := string(r.read(code)); got != tt.record {
			t.Errorf("%.50q became %.50q", tt.record, got)
		}
		if stored := r.stored(code); (stored[0] == textsForm) != (len(texts) > 0) {
			t.Errorf("%.50q is kept as % .20x", tt.record, stored)
		}
	}
}

// drawRecord draws any bytes, or a location, which can have a byte that is another.
func drawRecord(t *rapid.T) []byte {
	text := rapid.SampledFrom([]string{"", "f", "main.main", "github.com/a/b.(*C).Method", "/usr/lib/libc.so.6", "ünïcode function name"})
	part := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 12), rapid.Custom(func(t *rapid.T) []byte { return []byte(text.Draw(t, "text")) }))
	if rapid.IntRange(0, 3).Draw(t, "form") == 0 {
		return slices.Concat(rapid.SliceOfN(part, 1, 12).Draw(t, "parts")...)
	}
	lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		return line(text.Draw(t, "function"), text.Draw(t, "system name"), text.Draw(t, "file"), rapid.Int64().Draw(t, "start"), rapid.Int64().Draw(t, "line"), rapid.Int64Range(-9, 9).Draw(t, "column"))
	}), 0, 7).Draw(t, "lines")
	record := []byte(locationText(rapid.Uint64().Draw(t, "address"), lines...))
	if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
		record[rapid.IntRange(0, len(record)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
	}
	return record
}

// Records of any bytes come out as they went in, also out of images of each version, and Need is a bound on their growth.
func TestRecords_Any(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(drawRecord), 1, 30).Draw(t, "records")
		whole := mostWhole - rapid.SampledFrom([]int{0, 1, 20, mostWhole}).Draw(t, "whole")
		d := NewLists(1)
		var ids []uuid.UUID // some are hashes
		for i, record := range want {
			if ids = append(ids, uuidOf(i+1)); rapid.Bool().Draw(t, "hashed") && !slices.Contains(ids, recordHash(record)) {
				ids[i] = recordHash(record)
			}
		}
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
			mustElement(t, d, ids[i], string(record))
			if _, after := d.Size(); after-before > need {
				t.Fatalf("grew by %d, Need said %d for %+v", after-before, need, g)
			}
		}
		image, _ := d.AppendImage(nil, mark)
		again := NewLists(2)
		for _, image := range append(images, image) {
			addImage(t, again, image)
		}
		same := map[string]*Lists{"made": d, "from images": again}
		for version, image := range map[Version][]byte{WholeRecords: oldImage(d, (*records).wholeImage), SharedTexts: oldImage(d, (*records).sharedImage)} {
			old := NewLists(3)
			old.records.whole = whole
			add, rest, err := old.OpenImage(image, version, testList, testRecord)
			if err != nil || len(rest) > 0 {
				t.Fatalf("version %d: %d bytes are left, %v", version, len(rest), err)
			}
			add()
			newer, _ := old.AppendImage(nil, ListsMark{})
			same[fmt.Sprint("from version ", version)], same[fmt.Sprint("from an image of version ", version)] = old, NewLists(4)
			addImage(t, same[fmt.Sprint("from an image of version ", version)], newer)
		}
		for i, record := range want {
			for name, d := range same {
				if got := d.Record(uint32(i + 1)); string(got) != string(record) || d.Element(uint32(i+1)) != ids[i] || d.FindElement(ids[i]) != uint32(i+1) {
					t.Fatalf("%s: %q became %q, and its id %v is %v", name, record, got, ids[i], d.Element(uint32(i+1)))
				}
			}
		}
	})
}

// Need is a bound on the growth by many records at once, of any lengths of texts, also if no record is looked at.
func TestRecords_Need(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := NewLists(1)
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			n, length, lines := rapid.IntRange(1, 150).Draw(t, "records"), rapid.IntRange(4, 60).Draw(t, "length"), rapid.IntRange(0, 9).Draw(t, "lines")
			fresh := rapid.Bool().Draw(t, "new texts")
			counted, guessed, bytes := Growth{Elements: n}, Growth{Elements: n}, 0
			var records []string
			for i := range n {
				text := func(k int) string {
					if !fresh {
						i = 0
					}
					return fmt.Sprintf("%0*d", length, 1000*(d.Elements()+i)+k)
				}
				var of []string
				for k := range lines {
					of = append(of, line(text(3*k), text(3*k+1), text(3*k+2), math.MinInt64, math.MaxInt64, int64(k)))
				}
				records = append(records, locationText(math.MaxUint64-uint64(i), of...))
				d.CountRecord(&counted, []byte(records[i]))
				bytes += len(records[i])
			}
			guessed.AddRecords(n, bytes)
			lists, before := d.Size()
			exact, most := d.Need(counted), d.Need(guessed)
			first := d.Elements()
			for i, record := range records {
				mustElement(t, d, uuidOf(first+i+1), record)
			}
			listsAfter, after := d.Size()
			if grew := listsAfter - lists + after - before; grew > exact || grew > most {
				t.Fatalf("grew by %d, Need said %d for %+v, and %d unseen", grew, exact, counted, most)
			}
		}
	})
}

// A dictionary keeps no memory of its callers.
func TestRecords_KeepNothing(t *testing.T) {
	d := NewLists(1)
	for lines := 16; lines > 0; lines-- {
		var of []string
		for range lines {
			of = append(of, line("a function", "", "", 0, 0, 0))
		}
		mustElement(t, d, uuidOf(lines), locationText(1, of...))
		for _, ln := range d.records.work.lines[:cap(d.records.work.lines)] {
			if ln.function != nil {
				t.Fatalf("after %d lines the line %q is kept", lines, ln.function)
			}
		}
	}
}

// read returns a record.
func (r *records) read(code uint32) []byte {
	v := r.view()
	return v.read(new([]byte), int(code)-1)
}

// oldImage returns an image of an earlier version of a dictionary's elements, with the image of its records.
func oldImage(d *Lists, image func(*records, *fields.Writer)) []byte {
	w := &fields.Writer{}
	w.Uint(0)
	w.Uint(uint64(d.Elements()))
	for i := range d.Elements() {
		id := d.Element(uint32(i + 1))
		w.Raw(id[:])
	}
	last := uint32(0)
	for i := range d.Elements() {
		code := d.recordOf.at(i).Load()
		if code == 0 {
			w.Uint(0)
			continue
		}
		w.Uint(1 + fields.Zigzag(uint64(code)-uint64(last)-1))
		last = code
	}
	w.Uint(0) // none is late
	image(&d.records, w)
	w.Uint(0) // no list
	w.Uint(0)
	return w.Data
}

// wholeImage writes records in version WholeRecords.
func (r *records) wholeImage(w *fields.Writer) {
	w.Uint(0)
	w.Uint(uint64(r.len()))
	for code := range r.len() {
		w.Uint(uint64(len(r.read(uint32(code + 1)))))
	}
	for code := range r.len() {
		w.Raw(r.read(uint32(code + 1)))
	}
}

// sharedImage writes records in version SharedTexts, each with its texts.
func (r *records) sharedImage(w *fields.Writer) {
	old := records{texts: NewValues(1), whole: mostWhole}
	for code := range r.len() {
		_ = old.addTexts(r.read(uint32(code + 1))) // there are codes
	}
	w.Data = old.texts.AppendImageTo(w.Data, 0, old.texts.Len())
	w.Uint(0)
	w.Uint(uint64(old.len()))
	for code := range old.len() {
		stored := old.stored(uint32(code + 1))
		w.Raw(stored[1:])
		if stored[0] == wholeForm {
			w.Uint(0) // no text
		}
	}
}

// Locations of one program share their names: each takes little more than its address.
func TestRecords_Share(t *testing.T) {
	d := NewLists(1)
	r := rand.New(rand.NewPCG(1, 2))
	bytes := 0
	for i := range 20_000 {
		function := fmt.Sprintf("github.com/granarydb/granary/package%d.(*Type).Method%d", i%7, i%500)
		record := locationText(r.Uint64(), line(function, function, fmt.Sprintf("/usr/local/src/file%d.go", i%7), int64(i%500), int64(i%5), 0))
		mustElement(t, d, uuidOf(i+1), record)
		bytes += len(record)
	}
	if _, size := d.Size(); size > 50*20_000 || bytes < 160*20_000 {
		t.Errorf("%d bytes of records take %d", bytes, size)
	}
}

// The first records of an image of version WholeRecords are whole, and later ones have texts, as in the releases whose images
// follow it (E7).
func TestRecords_Whole(t *testing.T) {
	record := func(i int) []byte {
		return fmt.Appendf(nil, "%06d\x01%s", i, strings.Repeat("a name in many records ", 100))
	}
	r := &NewLists(1).records
	n := 2 * mostWhole / len(record(0))
	for i := range n {
		if err := r.addTexts(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if size := r.size(); size < mostWhole || size > mostWhole*11/10 || r.texts.Len() != 1 {
		t.Errorf("%d bytes, and %d texts, want %d and one", size, r.texts.Len(), mostWhole)
	}
	for i := range n {
		if got := r.read(uint32(i + 1)); string(got) != string(record(i)) {
			t.Fatalf("record %d became %.20q of %d bytes", i, got, len(got))
		}
	}
}
