package dict

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// A reader returns the records that ReadRecord returns, as locations with codes of texts, of one dictionary and of several.
// Records that came after it are read too.
func TestRecordReader(t *testing.T) {
	var dicts []*Lists
	for n := range 3 {
		d := NewLists(7)
		for i := range 20 {
			record := ""
			switch i % 5 {
			case 1:
				record = "a record that is no location"
			case 2, 3:
				record = locationText(uint64(i), line("a function", "", "/a/file", 1, 2, -3), line([]string{"another one", "an other", "one more"}[n], "one more", "", 0, int64(i), 0))
			case 4:
				record = locationText(uint64(i), line("a function", "a function", "", 0, 0, 1), "\x00"+line("", "", "", 0, 5, 0)[1:])
			}
			if _, err := d.InternElement(uuid.UUID{byte(n), byte(i)}, []byte(record)); err != nil {
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
		if locations := checkReader(t, view, elements); locations != elements*3/5 {
			t.Errorf("%d of %d records are locations", locations, elements)
		}
	}
	r := dicts[0].View().RecordReader()
	late := locationText(9, line("a late function", "", "", 0, 0, 0))
	if err := dicts[0].KeepRecord(uuid.UUID{0, 5}, []byte(late)); err != nil {
		t.Fatal(err)
	}
	if record, location := r.Read(6); string(record) != late || location != nil {
		t.Errorf("a late record is %q, with %v", record, location)
	}
	if record, binary := r.Binary(6); string(record) != late || binary != 0 {
		t.Errorf("the binary of a late record is %d of %q", binary, record)
	}
}

// checkReader reads all elements of a view, and returns how many are locations.
func checkReader(t *testing.T, view ListView, elements int) (locations int) {
	t.Helper()
	r := view.RecordReader()
	if r.Text(0) != nil {
		t.Error("code 0 has a text")
	}
	for element := uint32(1); element <= uint32(elements); element++ {
		want := view.Record(element)
		record, location := r.Read(element)
		if location != nil {
			record = recordOf(r, location)
			locations++
		}
		if string(record) != string(want) || (record == nil) != (want == nil) {
			t.Fatalf("element %d is %q, want %q", element, record, want)
		}
		code := uint32(0)
		if location != nil {
			code = location.Binary
		}
		if of, binary := r.Binary(element); binary != code || code == 0 && string(of) != string(want) {
			t.Fatalf("the binary of element %d is %d of %q, want %d of %q", element, binary, of, code, want)
		}
	}
	return locations
}

// recordOf returns the record of a location.
func recordOf(r *RecordReader, l *CodedLocation) (record []byte) {
	in := recordParser{rest: r.Text(l.Binary)}
	in.head()
	record = slices.Clone(r.Text(l.Binary)[:len(r.Text(l.Binary))-len(in.rest)])
	record = binary.AppendUvarint(binary.AppendUvarint(record, l.Address), uint64(len(l.Lines)))
	for i := range l.Lines {
		ln := &l.Lines[i]
		text := line(string(r.Text(ln.Function)), string(r.Text(ln.SystemName)), string(r.Text(ln.File)), ln.StartLine, ln.Line, ln.Column)
		if !ln.HasFunction {
			text = "\x00" + text[1:]
		}
		record = append(record, text...)
	}
	return append(record, in.rest...)
}
