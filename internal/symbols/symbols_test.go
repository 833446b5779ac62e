package symbols

import (
	"regexp"
	"slices"
	"testing"

	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding/dict"
	codec "github.com/granarydb/granary/profile/pprof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recordOf returns the record of a location whose lines have functions, all without ids.
func recordOf(l *pprof.Location) []byte {
	l.ID = 1
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "t"}}, Location: []*pprof.Location{l}, Mapping: []*pprof.Mapping{{ID: 1}}}
	for i := range l.Line {
		l.Line[i].Function.ID = uint64(i + 1)
		p.Function = append(p.Function, l.Line[i].Function)
	}
	if l.Mapping != nil {
		l.Mapping.ID = 2
		p.Mapping = append(p.Mapping, l.Mapping)
	}
	var f codec.Flat
	if err := codec.Flatten(p, codec.Limits{}.WithDefaults(), &f); err != nil {
		panic(err)
	}
	record, _ := f.AppendLocation(nil, 1)
	return record
}

func drawRecord(t *rapid.T) []byte {
	text := rapid.SampledFrom([]string{"", "a", "b.go", "\x00\xff", "/usr/lib/a.so"})
	l := &pprof.Location{Address: rapid.Uint64().Draw(t, "address")}
	if rapid.Bool().Draw(t, "has mapping") {
		l.Mapping = &pprof.Mapping{Start: rapid.Uint64().Draw(t, "start"), File: text.Draw(t, "file"), BuildID: text.Draw(t, "build id")}
	}
	for range rapid.IntRange(0, 4).Draw(t, "lines") {
		l.Line = append(l.Line, pprof.Line{Line: rapid.Int64().Draw(t, "line"), Function: &pprof.Function{Name: text.Draw(t, "name"), Filename: text.Draw(t, "file name")}})
	}
	return recordOf(l)
}

// The names found in a record are those of its frames, for any bytes.
func TestNamesOfRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := drawRecord(t)
		switch rapid.IntRange(0, 3).Draw(t, "damage") {
		case 1:
			record = record[:rapid.IntRange(0, len(record)).Draw(t, "bytes")]
		case 2:
			record[rapid.IntRange(0, len(record)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "with"))
		}
		if _, err := codec.ParseLocation(record); isRecord(record) != (err == nil && len(record) > 0) {
			t.Fatalf("isRecord is %t, the parser reports %v", isRecord(record), err)
		}
		var want, got []string
		s := New(dict.ListView{}, nil, nil, nil, nil)
		y := &Symbol{}
		_ = s.decoder.Decode(&y.LocationRecord, record)
		s.setFunctions(y, nil)
		for i := range y.Frames() {
			want = append(want, y.Name(i))
			if f := s.named[y.Functions[i]]; f.Name != want[i] || f.File != y.file(i) {
				t.Fatalf("function %d is %v", i, f)
			}
		}
		for _, name := range AppendNames([][]byte{[]byte("before")}, record, nil)[1:] {
			got = append(got, string(name))
		}
		if !slices.Equal(want, got) {
			t.Fatalf("frames %q, names %q", want, got)
		}
	})
}

// readerOf returns a reader of records, whose elements are numbered from 1 on.
func readerOf(t *testing.T, records ...[]byte) *dict.RecordReader {
	t.Helper()
	d := dict.NewLists(1)
	for i, record := range records {
		if _, err := d.InternElement(uuid.UUID{byte(i + 1)}, record); err != nil {
			t.Fatal(err)
		}
	}
	return d.View().RecordReader()
}

// A pattern is tried once for each name that contains the common prefix of its matches: for records with few bytes, and for
// locations that share their names.
func TestPatternOnceAName(t *testing.T) {
	for pattern, want := range map[string]int{"b|c": 2, "b": 1, "^(a name of )?b$": 2, "bx": 0} {
		for _, front := range []string{"", "a name of "} {
			m := newFunctionMatcher(regexp.MustCompile(pattern), nil, nil)
			names := []string{"a", "b", "a", "b"}
			var records [][]byte
			for i, name := range names {
				records = append(records, recordOf(&pprof.Location{Address: uint64(i), Line: []pprof.Line{{Function: &pprof.Function{Name: front + name}}}}))
			}
			from := readerOf(t, records...)
			if _, l := from.Read(1); (l != nil) != (front != "") {
				t.Errorf("with %q the first location is %v", front, l)
			}
			for i, name := range names {
				if m.matches(from, uint32(i+1)) != (name == "b" && pattern != "bx") {
					t.Errorf("%s: %s%s", pattern, front, name)
				}
			}
			if len(m.known) != want {
				t.Errorf("%s: tried %d names, want %d", pattern, len(m.known), want)
			}
		}
	}
}

// Conditions on frames tell locations of two dictionaries apart whose codes are the same, and know those of a dictionary again.
func TestHasFrame_Readers(t *testing.T) {
	location := func(function, system, file, binary string) []byte {
		return recordOf(&pprof.Location{
			Address: 5000, Mapping: &pprof.Mapping{File: binary, Start: 4096, Limit: 8192},
			Line: []pprof.Line{{Function: &pprof.Function{Name: function, SystemName: system, Filename: file}}},
		})
	}
	first := readerOf(t, location("a first function", "a first system name", "/the/first/file", "/the/first/binary"), location("another function", "", "/the/first/file", "/the/first/binary"))
	second := readerOf(t, location("a second function", "a second system name", "/the/second/file", "/the/second/binary"), location("another function", "", "/the/second/file", "/the/second/binary"))
	is := regexp.MustCompile
	for name, has := range map[string]Holds{
		"function": HasFrame(Condition{Function: is("first|another")}, nil, nil), "file": HasFrame(Condition{File: is("first")}, nil, nil),
		"binary": HasFrame(Condition{Binary: is("first")}, nil, nil), "shown": HasShown(is("second"), nil, nil, nil),
	} {
		for range 2 {
			for element := uint32(1); element <= 2; element++ {
				inSecond := name == "function" && element == 2
				if !has(first, element) || has(second, element) != inSecond || !has(first, element) {
					t.Errorf("%s of location %d: want it in the first, and %t for the second", name, element, inSecond)
				}
			}
		}
	}
}

// A condition on names holds for the same locations whether they are kept as codes or whole, also without names, lines or records,
// and by a namer.
func TestHasName(t *testing.T) {
	app := &pprof.Mapping{File: "/usr/local/bin/application", Start: 4096, Limit: 8192}
	named := func(names ...string) (l *pprof.Location) {
		l = &pprof.Location{Address: 5000, Mapping: app}
		for _, name := range names {
			l.Line = append(l.Line, pprof.Line{Function: &pprof.Function{Name: name}})
		}
		return l
	}
	locations := []*pprof.Location{named("a function", "another function"), named("a function", ""), named(), named("_ZN3foo3barEv")}
	var records [][]byte
	for _, l := range locations {
		records = append(records, recordOf(l))
	}
	records = append(records, nil, []byte("no location"))
	namer := func(*pprof.Mapping, uint64) []codec.RecordLine { return []codec.RecordLine{{Function: "by a namer"}} }
	first, second := readerOf(t, records...), readerOf(t, append([][]byte{recordOf(named("the first here"))}, records...)...)
	for name, want := range map[string][2]int{
		"another function": {1}, "a function": {1 | 2}, "[application]": {2 | 4, 2}, "foo::bar": {8}, "<unknown>": {16 | 32}, "by a namer": {0, 4}, "a func": {},
	} {
		if want[1] == 0 {
			want[1] = want[0]
		}
		for k, namer := range []codec.Namer{nil, namer} {
			has := HasName(name, namer)
			for i := range records {
				holds := want[k]>>i&1 == 1
				if has(first, uint32(i+1)) != holds || has(second, uint32(i+2)) != holds || has(first, uint32(i+1)) != holds {
					t.Errorf("location %d has %q: want %t", i, name, holds)
				}
			}
		}
	}
}
