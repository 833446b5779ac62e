package profile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	pprof "github.com/google/pprof/profile"
	"pgregory.net/rapid"

	codec "github.com/granarydb/granary/profile/pprof"
)

// drawShared draws texts within a record, with a code for each distinct text.
func drawShared(t *rapid.T, record []byte, codes map[string]uint32) (texts []codec.RecordText) {
	for at := 0; at < len(record); {
		start := rapid.IntRange(at, len(record)).Draw(t, "start")
		end := rapid.IntRange(start, len(record)).Draw(t, "end")
		if start < end {
			text := string(record[start:end])
			if codes[text] == 0 {
				codes[text] = uint32(len(codes) + 1)
			}
			texts = append(texts, codec.RecordText{Start: uint32(start), End: uint32(end), Code: codes[text]})
		}
		at = end + 1
	}
	return texts
}

// P1: columns have each part of a location, whichever texts the records share. P5: a record cut at any byte is refused,
// and leaves the columns as they are.
func TestLocationColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c codec.LocationColumns
		codes := map[string]uint32{}
		for i := range rapid.IntRange(1, 5).Draw(t, "locations") {
			of := drawLocation(t)
			record, _ := locationRecord(nil, of, of.Mapping)
			if n := rapid.IntRange(0, len(record)-1).Draw(t, "cut"); n > 0 {
				if _, err := c.Append(record[:n], nil); !errors.Is(err, ErrLocation) {
					t.Fatalf("%d of %d bytes: error is %v", n, len(record), err)
				}
				if _, _, err := c.Binary(record[:n], nil); !errors.Is(err, ErrLocation) {
					t.Fatalf("the binary of %d of %d bytes: error is %v", n, len(record), err)
				}
			}
			if _, err := c.Append(append(bytes.Clone(record), 0), nil); !errors.Is(err, ErrLocation) {
				t.Fatalf("a byte too many: error is %v", err)
			}
			texts := drawShared(t, record, codes)
			at, err := c.Append(record, texts)
			if err != nil || at != i {
				t.Fatalf("location %d is %d, %v", i, at, err)
			}
			checkColumns(t, &c, at, record)
			file, build, err := c.Binary(record, texts)
			if err != nil || file != c.Files[at] || build != c.BuildIDs[at] {
				t.Fatalf("the binary is %d, %d, %v", file, build, err)
			}
		}
		if at, err := c.Append(nil, nil); err != nil || c.Addresses[at] != 0 || c.LineEnds[at] != c.LineEnds[at+1] {
			t.Fatalf("an empty record: %v", err)
		}
		if sorted := slices.Sorted(slices.Values(c.Texts)); len(slices.Compact(sorted)) != len(c.Texts) {
			t.Fatalf("a text is there twice: %q", c.Texts)
		}
	})
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
			if _, err := c.Append(record(i), nil); err != nil {
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
