package dict

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
)

// A reader returns the same records as ReadRecord, with the texts that they share, of one dictionary and of several.
// Records that came after it are read too.
func TestRecordReader(t *testing.T) {
	var dicts []*Lists
	for n := range 3 {
		d := newSharing(7)
		for i := range 20 {
			var record []byte
			if i%5 > 0 {
				record = fmt.Appendf(nil, "\x01a function %d\x02/a/file\x00\x03", i%5+n)
			}
			if _, err := d.InternElement(uuid.UUID{byte(n), byte(i)}, record); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.InternLists(nil, [][]uuid.UUID{{{byte(n), 1}, {byte(n), 2}}}); err != nil {
			t.Fatal(err)
		}
		dicts = append(dicts, d)
	}
	union := NewUnion(dicts...)
	for n := range dicts {
		union.Add(n, 1)
	}
	for elements, view := range map[int]ListView{20: dicts[0].View(), 60: union.View()} {
		if shared := checkReader(t, view, elements); shared == 0 {
			t.Error("no text is shared")
		}
	}
	r := dicts[0].View().RecordReader()
	if err := dicts[0].KeepRecord(uuid.UUID{0, 5}, []byte("\x01a late record\x02")); err != nil {
		t.Fatal(err)
	}
	if record, texts := r.Read(6); string(record) != "\x01a late record\x02" || texts != nil {
		t.Errorf("a late record is %q, with %v", record, texts)
	}
}

// checkReader reads all elements of a view, and returns how often a text came again.
func checkReader(t *testing.T, view ListView, elements int) (shared int) {
	t.Helper()
	r := view.RecordReader()
	known := map[uint32]string{}
	for element := uint32(1); element <= uint32(elements); element++ {
		want := view.Record(element)
		record, texts := r.Read(element)
		if string(record) != string(want) || (record == nil) != (want == nil) {
			t.Fatalf("element %d is %q, want %q", element, record, want)
		}
		last := uint32(0)
		for _, text := range texts {
			of := string(record[text.Start:text.End])
			if text.Start < last || known[text.Code] != "" && known[text.Code] != of {
				t.Fatalf("element %d: code %d is %q at %d, and was %q", element, text.Code, of, text.Start, known[text.Code])
			}
			if known[text.Code] == of {
				shared++
			}
			last, known[text.Code] = text.End, of
		}
		if want != nil && len(texts) == 0 {
			t.Fatalf("no text of element %d is shared", element)
		}
	}
	return shared
}
