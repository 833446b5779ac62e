package profile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding/dict"
	codec "github.com/granarydb/granary/profile/pprof"
)

// P1: columns and decoders have each part of a location, of its record and of an element, which a dictionary keeps as codes or whole.
// P5: a record cut at any byte is refused, and leaves the columns as they are.
func TestLocationColumns(t *testing.T) {
	d := dict.NewLists(1)
	decoder, kept := codec.NewRecordDecoder(), map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		var records, elements codec.LocationColumns
		for i := range rapid.IntRange(1, 5).Draw(t, "locations") {
			of := drawLocation(t)
			record, _ := locationRecord(nil, of, of.Mapping)
			if n := rapid.IntRange(0, len(record)-1).Draw(t, "cut"); n > 0 {
				if _, err := records.AppendRecord(record[:n]); !errors.Is(err, ErrLocation) {
					t.Fatalf("%d of %d bytes: error is %v", n, len(record), err)
				}
			}
			if _, err := records.AppendRecord(append(bytes.Clone(record), 0)); !errors.Is(err, ErrLocation) {
				t.Fatalf("a byte too many: error is %v", err)
			}
			at, err := records.AppendRecord(record)
			if err != nil || at != i {
				t.Fatalf("location %d is %d, %v", i, at, err)
			}
			checkColumns(t, &records, at, record)
			element, err := d.InternElement(uuid.NewSHA1(uuid.UUID{}, record), record)
			if err != nil {
				t.Fatal(err)
			}
			reader := d.View().RecordReader()
			_, coded := reader.Read(element)
			kept[coded != nil]++
			checkElement(t, &elements, decoder, reader, element, record)
		}
		if at, err := records.AppendRecord(nil); err != nil || records.Addresses[at] != 0 || records.LineEnds[at] != records.LineEnds[at+1] {
			t.Fatalf("an empty record: %v", err)
		}
		for _, c := range []*codec.LocationColumns{&records, &elements} {
			if sorted := slices.Sorted(slices.Values(c.Texts)); len(slices.Compact(sorted)) != len(c.Texts) {
				t.Fatalf("a text is there twice: %q", c.Texts)
			}
		}
	})
	if kept[true] == 0 || kept[false] == 0 {
		t.Errorf("%d locations are kept as codes, and %d whole", kept[true], kept[false])
	}
}

// checkElement reads an element twice with one reader, and compares it with its record.
func checkElement(t *rapid.T, c *codec.LocationColumns, decoder *codec.RecordDecoder, reader *dict.RecordReader, element uint32, record []byte) {
	want := codec.LocationRecord{}
	if err := codec.NewRecordDecoder().Decode(&want, record); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var l codec.LocationRecord
		if found, err := decoder.DecodeElement(&l, reader, element); !found || err != nil {
			t.Fatalf("found is %t, %v", found, err)
		}
		for i := range l.Lines {
			want.Lines[i].Number = l.Lines[i].Number // another decoder's
		}
		if diff := cmp.Diff(want, l, cmpopts.IgnoreUnexported(pprof.Mapping{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
		file, build, err := c.Binary(reader, element)
		if err != nil {
			t.Fatal(err)
		}
		at, err := c.Append(reader, element)
		if err != nil || file != c.Files[at] || build != c.BuildIDs[at] {
			t.Fatalf("the binary is %d, %d, of location %d, %v", file, build, at, err)
		}
		checkColumns(t, c, at, record)
	}
}

// Columns of two dictionaries with the same codes have the texts of both, and know those of one reader again.
func TestLocationColumns_Readers(t *testing.T) {
	var c codec.LocationColumns
	var readers []*dict.RecordReader
	var records [][]byte
	for _, name := range []string{"first", "second"} {
		l := pprof.Location{
			Address: 5000, Mapping: &pprof.Mapping{File: "/the/" + name + "/binary", BuildID: "id of the " + name, Start: 4096, Limit: 8192},
			Line: []pprof.Line{{Function: &pprof.Function{Name: "a function of the " + name, SystemName: "a system name of the " + name, Filename: "/the/" + name + "/file"}}},
		}
		record, _ := locationRecord(nil, &l, l.Mapping)
		d := dict.NewLists(1)
		if _, err := d.InternElement(uuid.UUID{1}, record); err != nil {
			t.Fatal(err)
		}
		readers, records = append(readers, d.View().RecordReader()), append(records, record)
	}
	for _, k := range []int{0, 1, 1, 0, 0} {
		var of codec.LocationColumns
		if _, err := of.AppendRecord(records[k]); err != nil {
			t.Fatal(err)
		}
		file, build, err := c.Binary(readers[k], 1)
		at, appendErr := c.Append(readers[k], 1)
		if err != nil || appendErr != nil || c.Texts[file] != of.Texts[of.Files[0]] || c.Texts[build] != of.Texts[of.BuildIDs[0]] || file != c.Files[at] {
			t.Errorf("of reader %d: %q, %q of location %d, %v, %v", k, c.Texts[file], c.Texts[build], at, err, appendErr)
		}
		ln := c.LineEnds[at]
		got := []string{c.Texts[c.Functions[ln]], c.Texts[c.SystemNames[ln]], c.Texts[c.SourceFiles[ln]]}
		if want := []string{of.Texts[of.Functions[0]], of.Texts[of.SystemNames[0]], of.Texts[of.SourceFiles[0]]}; !slices.Equal(got, want) {
			t.Errorf("of reader %d: %q, want %q", k, got, want)
		}
	}
}

// Elements that are no locations are refused, and leave the columns as they are. An element without a record has no symbols.
func TestLocationColumns_Refused(t *testing.T) {
	record := dict.NewLists(1)
	if _, err := record.InternElements(nil, []uuid.UUID{{1}, {2}}, [][]byte{[]byte("no location"), nil}); err != nil {
		t.Fatal(err)
	}
	// An image of a location whose binary is described by the text abc.
	image := slices.Concat([]byte{0, 1, 2}, make([]byte, 16), []byte{0}, []byte("\x00\x01\x03abc"), []byte{0, 1, 0, 1}, []byte{0, 0})
	damaged := dict.NewLists(1)
	add, rest, err := damaged.OpenImage(image, dict.LocationCodes, 100, 100)
	if err != nil || len(rest) > 0 {
		t.Fatalf("%d bytes are left, %v", len(rest), err)
	}
	add()
	var c codec.LocationColumns
	for name, of := range map[string]*dict.Lists{"no location": record, "damaged binary": damaged} {
		reader := of.View().RecordReader()
		if _, err := c.Append(reader, 1); !errors.Is(err, ErrLocation) {
			t.Errorf("%s: %v, want %v", name, err, ErrLocation)
		}
		if found, err := codec.NewRecordDecoder().DecodeElement(&codec.LocationRecord{}, reader, 1); !found || !errors.Is(err, ErrLocation) {
			t.Errorf("%s: decoding it says %t, %v, want %v", name, found, err, ErrLocation)
		}
		if _, _, err := c.Binary(reader, 1); !errors.Is(err, ErrLocation) {
			t.Errorf("%s: %v for its binary, want %v", name, err, ErrLocation)
		}
	}
	if at, err := c.Append(record.View().RecordReader(), 2); at != 0 || err != nil || len(c.Addresses) != 1 || len(c.Lines) != 0 {
		t.Errorf("an element without a record is location %d of %d with %d lines, %v", at, len(c.Addresses), len(c.Lines), err)
	}
}

// TestLocationColumns_Expect: columns that are told how many locations come are the same ones, and memory is taken for no more than
// maxBytes.
func TestLocationColumns_Expect(t *testing.T) {
	const n, maxBytes = 5000, 1 << 20
	record := func(i int) []byte {
		l := pprof.Location{Address: uint64(i)}
		for k := range i % 7 {
			l.Line = append(l.Line, pprof.Line{Function: &pprof.Function{Name: fmt.Sprint("f", i%100)}, Line: int64(k)})
		}
		record, _ := locationRecord(nil, &l, nil)
		return record
	}
	var plain, told, bound codec.LocationColumns
	told.Expect(-1, 0)
	told.Expect(n, 0)
	bound.Expect(1<<40, maxBytes)
	if got := 8*cap(bound.Addresses) + 4*(cap(bound.Files)+cap(bound.BuildIDs)+cap(bound.LineEnds)); got > maxBytes {
		t.Errorf("%d bytes for locations, at most %d", got, maxBytes)
	}
	for i := range n {
		for _, c := range []*codec.LocationColumns{&plain, &told, &bound} {
			if _, err := c.AppendRecord(record(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]*codec.LocationColumns{"told": &told, "bound": &bound} {
		if !slices.Equal(c.Addresses, plain.Addresses) || !slices.Equal(c.LineEnds, plain.LineEnds) || !slices.Equal(c.Functions, plain.Functions) || !slices.Equal(c.Lines, plain.Lines) || !slices.Equal(c.Texts, plain.Texts) {
			t.Errorf("%s: the columns differ", name)
		}
	}
	if got, most := cap(told.Lines), len(told.Lines)+len(told.Lines)/10; got > most {
		t.Errorf("room for %d lines of %d, at most %d", got, len(told.Lines), most)
	}
	if got := (3*4+2*8)*cap(bound.Lines) + 20*cap(bound.Addresses); got > 2*maxBytes {
		t.Errorf("%d bytes, and %d locations: at most %d", got, n, 2*maxBytes)
	}
}

// checkColumns compares a location in columns with its record.
func checkColumns(t *rapid.T, c *codec.LocationColumns, at int, record []byte) {
	want, err := codec.ParseLocation(record)
	if err != nil {
		t.Fatal(err)
	}
	location, err := DecodeLocation(record)
	if err != nil {
		t.Fatal(err)
	}
	if c.Addresses[at] != location.Address || c.Texts[c.Files[at]] != location.Mapping || c.Texts[c.BuildIDs[at]] != location.BuildID {
		t.Fatalf("%x in %q of %q, want %+v", c.Addresses[at], c.Texts[c.Files[at]], c.Texts[c.BuildIDs[at]], location)
	}
	from, to := int(c.LineEnds[at]), int(c.LineEnds[at+1])
	if to-from != len(want.Lines) {
		t.Fatalf("%d lines, want %d", to-from, len(want.Lines))
	}
	for i, ln := range want.Lines {
		k := from + i
		got := codec.RecordLine{
			NoFunction: ln.NoFunction, Function: c.Texts[c.Functions[k]], SystemName: c.Texts[c.SystemNames[k]], Shown: ln.Shown,
			File: c.Texts[c.SourceFiles[k]], StartLine: c.StartLines[k], Line: c.Lines[k], Column: ln.Column,
		}
		if got != ln {
			t.Fatalf("line %d is %+v, want %+v", i, got, ln)
		}
	}
}
