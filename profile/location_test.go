package profile

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	codec "github.com/granarydb/granary/profile/pprof"
)

// back returns the pprof location of a record, as a query does.
func back(l *codec.LocationRecord) *pprof.Location {
	out := &pprof.Location{Address: l.Address, IsFolded: l.Folded, Mapping: l.Mapping}
	for _, ln := range l.Lines {
		line := pprof.Line{Line: ln.Line, Column: ln.Column}
		if !ln.NoFunction {
			line.Function = &pprof.Function{Name: ln.Function, SystemName: ln.SystemName, Filename: ln.File, StartLine: ln.StartLine}
		}
		out.Line = append(out.Line, line)
	}
	return out
}

var ignorePrivate = cmpopts.IgnoreUnexported(pprof.Location{}, pprof.Mapping{}, pprof.Function{}, pprof.Line{})

// equalMended reports whether strings are equal once they are UTF-8.
func equalMended(a, b string) bool {
	return strings.ToValidUTF8(a, "\ufffd") == strings.ToValidUTF8(b, "\ufffd")
}

func drawLocation(t *rapid.T) *pprof.Location {
	text := rapid.SampledFrom([]string{"", "a", "b.go", "\x00\xff", "/usr/lib/a.so"})
	number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 3))
	l := &pprof.Location{Address: rapid.Uint64().Draw(t, "address"), IsFolded: rapid.Bool().Draw(t, "folded")}
	if rapid.Bool().Draw(t, "has mapping") {
		has := rapid.SliceOfN(rapid.Bool(), 4, 4).Draw(t, "has")
		l.Mapping = &pprof.Mapping{
			Start: rapid.Uint64().Draw(t, "start"), Limit: rapid.Uint64().Draw(t, "limit"), Offset: rapid.Uint64().Draw(t, "offset"),
			File: text.Draw(t, "file"), BuildID: text.Draw(t, "build id"),
			HasFunctions: has[0], HasFilenames: has[1], HasLineNumbers: has[2], HasInlineFrames: has[3],
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "lines") {
		ln := pprof.Line{Line: number.Draw(t, "line"), Column: number.Draw(t, "column")}
		if rapid.Bool().Draw(t, "has function") {
			ln.Function = &pprof.Function{
				Name: text.Draw(t, "name"), SystemName: text.Draw(t, "system name"),
				Filename: text.Draw(t, "file name"), StartLine: number.Draw(t, "start line"),
			}
		}
		l.Line = append(l.Line, ln)
	}
	return l
}

// P1: a record contains the whole location. P5: a record cut at any byte is refused.
func TestLocationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawLocation(t)
		record, id := locationRecord([]byte("before"), want, want.Mapping)
		record = bytes.TrimPrefix(record, []byte("before"))
		got, err := codec.ParseLocation(record)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, back(got), ignorePrivate, cmp.Comparer(equalMended)); diff != "" {
			t.Fatal(diff)
		}
		back := back(got)
		again, sameID := locationRecord(nil, back, back.Mapping)
		if !bytes.Equal(again, record) || sameID != id {
			t.Fatal("the record of the same location is another")
		}
		for n := 1; n < len(record); n++ {
			if _, err := codec.ParseLocation(record[:n]); !errors.Is(err, ErrLocation) {
				t.Fatalf("%d of %d bytes: error is %v", n, len(record), err)
			}
		}
		if _, err := codec.ParseLocation(append(record, 0)); !errors.Is(err, ErrLocation) {
			t.Fatalf("a byte too many: error is %v", err)
		}
	})
}

// Stores of earlier versions have names that are no UTF-8.
func TestRecordDecoder_NotUTF8(t *testing.T) {
	l := &pprof.Location{
		Mapping: &pprof.Mapping{File: "/bin/cafe", BuildID: "cafe"},
		Line:    []pprof.Line{{Function: &pprof.Function{Name: "cafe::run", SystemName: "cafe.run", Filename: "cafe.rb"}}},
	}
	record, _ := locationRecord(nil, l, l.Mapping)
	record = bytes.ReplaceAll(record, []byte("cafe"), []byte("caf\xe9"))
	want := []string{"/bin/caf\ufffd", "caf\ufffd", "caf\ufffd::run", "caf\ufffd::run", "caf\ufffd.run", "caf\ufffd.rb"}
	for name, d := range map[string]*codec.RecordDecoder{"alone": {}, "of many": codec.NewRecordDecoder()} {
		for range 2 {
			var got codec.LocationRecord
			if err := d.Decode(&got, record); err != nil {
				t.Fatal(err)
			}
			f := got.Lines[0]
			if diff := cmp.Diff(want, []string{got.Mapping.File, got.Mapping.BuildID, f.Function, f.Shown, f.SystemName, f.File}); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", name, diff)
			}
		}
	}
}

// A decoder of many records gives each the location that it has alone, whatever came before and comes after, and
// equal mappings in a row once.
func TestRecordDecoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records [][]byte
		for range rapid.IntRange(1, 4).Draw(t, "locations") {
			l := drawLocation(t)
			record, _ := locationRecord(nil, l, l.Mapping)
			records = append(records, record)
		}
		records = append(records, nil, []byte{1})
		decoder := codec.NewRecordDecoder()
		var all []codec.LocationRecord
		var alone []*codec.LocationRecord
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(records)-1), 1, 300).Draw(t, "order") {
			var got codec.LocationRecord
			err := decoder.Decode(&got, records[i])
			want, wantErr := codec.ParseLocation(records[i])
			if (err == nil) != (wantErr == nil) || err != nil && !errors.Is(err, ErrLocation) {
				t.Fatalf("error %v, alone %v", err, wantErr)
			}
			if err != nil {
				continue
			}
			if n := len(all); n > 0 && got.Mapping != nil && all[n-1].Mapping != nil && *got.Mapping == *all[n-1].Mapping && got.Mapping != all[n-1].Mapping {
				t.Fatal("two mappings in a row are equal")
			}
			all, alone = append(all, got), append(alone, want)
		}
		for i := range all {
			if diff := cmp.Diff(back(alone[i]), back(&all[i]), ignorePrivate); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// P3: the id depends on the code at a location, not on its address in a process.
func TestLocationID(t *testing.T) {
	base := func() *pprof.Location {
		return &pprof.Location{
			ID: 1, Address: 0x401234,
			Mapping: &pprof.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/bin/app", BuildID: "b1"},
			Line: []pprof.Line{
				{Function: &pprof.Function{ID: 1, Name: "f", SystemName: "_f", Filename: "f.go", StartLine: 3}, Line: 5, Column: 7},
				{Function: &pprof.Function{ID: 2, Name: "g"}, Line: 9},
			},
		}
	}
	_, id := locationRecord(nil, base(), nil)
	for _, tc := range []struct {
		name   string
		same   bool
		change func(l *pprof.Location)
	}{
		{"itself", true, func(*pprof.Location) {}},
		{"other ids in the profile", true, func(l *pprof.Location) { l.ID, l.Mapping.ID, l.Line[0].Function.ID = 7, 8, 9 }},
		{"loaded elsewhere (ASLR)", true, func(l *pprof.Location) {
			l.Address += 0x7f0000000000
			l.Mapping.Start += 0x7f0000000000
			l.Mapping.Limit += 0x7f0000000000
		}},
		{"loaded elsewhere, below", true, func(l *pprof.Location) { l.Address -= 0x400000; l.Mapping.Start = 0 }},
		{"mapped from an earlier offset", true, func(l *pprof.Location) { l.Mapping.Start -= 0x1000; l.Mapping.Offset = 0 }},
		{"another path of the same build", true, func(l *pprof.Location) { l.Mapping.File = "/proc/1/root/bin/app" }},
		{"symbolised by someone else", true, func(l *pprof.Location) { l.Mapping.HasFunctions = true }},
		{"address", false, func(l *pprof.Location) { l.Address++ }},
		{"offset", false, func(l *pprof.Location) { l.Mapping.Offset += 0x1000 }},
		{"build id", false, func(l *pprof.Location) { l.Mapping.BuildID = "b2" }},
		{"no build id", false, func(l *pprof.Location) { l.Mapping.BuildID = "" }},
		{"build id as a file", false, func(l *pprof.Location) { l.Mapping.BuildID, l.Mapping.File = "", "b1" }},
		{"no mapping", false, func(l *pprof.Location) { l.Mapping = nil }},
		{"folded", false, func(l *pprof.Location) { l.IsFolded = true }},
		{"line", false, func(l *pprof.Location) { l.Line[0].Line++ }},
		{"column", false, func(l *pprof.Location) { l.Line[0].Column++ }},
		{"function", false, func(l *pprof.Location) { l.Line[0].Function.Name = "h" }},
		{"system name", false, func(l *pprof.Location) { l.Line[0].Function.SystemName = "_h" }},
		{"file", false, func(l *pprof.Location) { l.Line[0].Function.Filename = "h.go" }},
		{"start line", false, func(l *pprof.Location) { l.Line[0].Function.StartLine++ }},
		{"no function", false, func(l *pprof.Location) { l.Line[1].Function = nil }},
		{"order of lines", false, func(l *pprof.Location) { l.Line[0], l.Line[1] = l.Line[1], l.Line[0] }},
		{"fewer lines", false, func(l *pprof.Location) { l.Line = l.Line[:1] }},
		{"no lines", false, func(l *pprof.Location) { l.Line = nil }},
	} {
		l := base()
		tc.change(l)
		if _, got := locationRecord(nil, l, nil); (got == id) != tc.same {
			t.Errorf("%s: same id: %t, want %t", tc.name, got == id, tc.same)
		}
	}
	// Adjacent strings are hashed separately.
	a, b := base(), base()
	a.Line[0].Function.Name, a.Line[0].Function.SystemName = "fg", "h"
	b.Line[0].Function.Name, b.Line[0].Function.SystemName = "f", "gh"
	_, idA := locationRecord(nil, a, nil)
	if _, idB := locationRecord(nil, b, nil); idA == idB {
		t.Error("two functions have one id")
	}
}

// P3: the id is a UUID of version 8 and of the standard variant. It is the same in every
// version of this program, since stores and queries exchange it.
func TestLocationIDForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, id := locationRecord(nil, drawLocation(t), nil)
		if id.Version() != 8 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%v: version %v, variant %v", id, id.Version(), id.Variant())
		}
	})
	_, id := locationRecord(nil, &pprof.Location{Address: 0x10, Line: []pprof.Line{{Function: &pprof.Function{Name: "main.main", Filename: "main.go"}, Line: 3}}}, nil)
	if want := "5292ad96-f4e2-8c27-8e24-1d7dbdc12e80"; id.String() != want {
		t.Errorf("id is %v, want %v", id, want)
	}
}

// P5: a malformed record causes an error, never a panic.
func TestParseLocationMalformed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		record []byte
	}{
		{"one byte", []byte{1}},
		{"string beyond the end", []byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}},
		{"number of eleven bytes", bytes.Repeat([]byte{0xff}, 11)},
		{"2^63 lines", append([]byte{0, 0, 0, 0}, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1)},
	} {
		if l, err := codec.ParseLocation(tc.record); !errors.Is(err, ErrLocation) || l != nil {
			t.Errorf("%s: %v, %v", tc.name, l, err)
		}
	}
	if l, err := codec.ParseLocation(nil); err != nil || l.Unnamed() != "<unknown>" || len(l.Lines) != 0 {
		t.Errorf("no record: %v, %v", l, err)
	}
}

// FuzzParseLocation checks P5, and that a record stands for one location only.
func FuzzParseLocation(f *testing.F) {
	for _, l := range []*pprof.Location{
		{},
		{Address: 1 << 60, IsFolded: true, Mapping: &pprof.Mapping{Start: 1, Limit: 9, File: "a", BuildID: "b", HasFunctions: true}},
		{Line: []pprof.Line{{Function: &pprof.Function{Name: "f", Filename: "f.go"}, Line: 2, Column: 1}, {Line: -1}}},
	} {
		record, _ := locationRecord(nil, l, nil)
		f.Add(record)
	}
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, record []byte) {
		got, err := codec.ParseLocation(record)
		if err != nil {
			if !errors.Is(err, ErrLocation) {
				t.Fatalf("error %v", err)
			}
			return
		}
		again, _ := locationRecord(nil, back(got), nil)
		second, err := codec.ParseLocation(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(back(got), back(second), ignorePrivate); diff != "" {
			t.Fatal(diff)
		}
	})
}
