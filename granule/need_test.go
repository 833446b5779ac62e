package granule

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/schema"
)

// TestNeed: Need bounds the growth of dictionaries and part, with and without looking values
// up, for any previous content.
func TestNeed(t *testing.T) {
	def := everything(0)
	s := mustSchema(t, def)
	rapid.Check(t, func(rt *rapid.T) {
		gen := NewGeneration(1)
		for range 3 {
			b := drawBatch(rt, def, rapid.IntRange(1, 40).Draw(rt, "rows"), true)
			columns, err := s.Check(b)
			if err != nil {
				rt.Fatal(err)
			}
			before := gen.Size()
			quick, exact := Need(s, gen, false, b, columns, nil, 1), Need(s, gen, true, b, columns, nil, 1)
			part := partOf(t, s, gen, b)
			if grew := gen.Size() - before + part.Size(); quick < grew || exact < grew {
				rt.Fatalf("%d rows grew by %d bytes, Need said %d, and %d looked up", b.Rows, grew, quick, exact)
			}
			if exact > quick {
				rt.Fatalf("Need of known values is %d, of unknown ones %d", exact, quick)
			}
		}
	})
}

// Known values need no room in dictionaries, although the quick estimate counts them.
func TestNeed_KnownStacks(t *testing.T) {
	s := mustSchema(t, schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"kind", "stack"},
	})
	const rows, depth = 500, 20
	stacks := make([][]uuid.UUID, rows)
	for i := range stacks {
		stacks[i] = make([]uuid.UUID, depth)
		for d := range stacks[i] {
			stacks[i][d] = uuid.UUID{byte(i), byte(i >> 8), byte(d)}
		}
	}
	records := map[uuid.UUID][]byte{stacks[0][0]: []byte("main.main")}
	b := &schema.Batch{Rows: rows, Records: records, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("cpu"), "stack": encoding.UUIDLists(stacks...), "value": encoding.Int64s(1),
	}}
	columns, err := s.Check(b)
	if err != nil {
		t.Fatal(err)
	}
	gen := NewGeneration(1)
	unknown := Need(s, gen, true, b, columns, nil, 1)
	partOf(t, s, gen, b)
	known, quick := Need(s, gen, true, b, columns, nil, 1), Need(s, gen, false, b, columns, nil, 1)
	if least := rows * depth * 16; unknown < least || quick < least || known > least {
		t.Errorf("Need is %d for unknown stacks, %d for known ones, %d without a look: %d is the elements alone", unknown, known, quick, least)
	}
}

// needs is what a needer counts.
type needs struct {
	Series, SeriesBytes, Each int
	Strings, StringBytes      int
	UUIDs                     int
	Lists                     dict.Growth
	Own                       int // bytes in the part
}

// Each value that the dictionaries lack counts once if it is looked up, and otherwise in each row, unless its
// predecessor is the same.
func TestNeed_Counts(t *testing.T) {
	s := mustSchema(t, schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE, Nullable: true},
			{Name: "labels", Type: encoding.String, Encoding: encoding.DictionaryRLE, Dynamic: true},
			{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary, Nullable: true},
			{Name: "name", Type: encoding.String, Encoding: encoding.Dictionary, Nullable: true},
			{Name: "span", Type: encoding.UUID, Encoding: encoding.Dictionary, Nullable: true},
			{Name: "note", Type: encoding.String, Encoding: encoding.Plain, Nullable: true},
			{Name: "trace", Type: encoding.UUID, Encoding: encoding.Plain, Nullable: true},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain, Nullable: true},
		},
		SortingKey: []string{"kind", "labels", "stack"},
	})
	gen := NewGeneration(1)
	partOf(t, s, gen, &schema.Batch{Rows: 2, Records: map[uuid.UUID][]byte{{2}: []byte("b")}, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("known"), "name": encoding.Strings("known"), "span": encoding.UUIDs(uuid.UUID{1}),
		"stack": encoding.UUIDLists([]uuid.UUID{{1}, {2}}, []uuid.UUID{{2}, {1}}),
	}})
	three := []uuid.UUID{{1}, {3}, {3}}
	id := func(n byte) uuid.UUID { return uuid.UUID{n} }
	tests := []struct {
		name       string
		column     string
		values     encoding.Vector
		records    map[uuid.UUID][]byte
		rows       []int32
		quick, one needs // one: looked up
	}{
		{"a label of all rows", "kind", encoding.Strings("cpu"), nil, nil, needs{Each: 2*3 + 2*4 + 4}, needs{Each: 2*3 + 2*4 + 4}},
		{
			"a label of each row", "labels.pod", encoding.Strings("a", "bb", "bb"), nil, nil,
			needs{Series: 3, SeriesBytes: 2*5 + 3*(2*10+4)},
			needs{Series: 3, SeriesBytes: 2*5 + 3*(2*10+4)},
		},
		{
			"a label of no row", "labels.pod", encoding.Strings("a", "bb", "bb"), nil,
			[]int32{},
			needs{Series: 1},
			needs{Series: 1},
		},
		{"a string", "name", encoding.Strings("four"), nil, nil, needs{Strings: 1, StringBytes: 4}, needs{Strings: 1, StringBytes: 4}},
		{"a known string", "name", encoding.Strings("known"), nil, nil, needs{Strings: 1, StringBytes: 5}, needs{}},
		{"equal strings", "name", encoding.Strings("a", "a", "bb"), nil, nil, needs{Strings: 2, StringBytes: 3}, needs{Strings: 2, StringBytes: 3}},
		{"a string again", "name", encoding.Strings("a", "bb", "a"), nil, nil, needs{Strings: 3, StringBytes: 4}, needs{Strings: 2, StringBytes: 3}},
		{"strings of some rows", "name", encoding.Strings("a", "bb", "a"), nil, []int32{0, 2}, needs{Strings: 1, StringBytes: 1}, needs{Strings: 1, StringBytes: 1}},
		{"ids", "span", encoding.UUIDs(id(2), id(1), id(2)), nil, nil, needs{UUIDs: 3}, needs{UUIDs: 1}},
		{"the bytes of an id as a string", "name", encoding.Strings(string(make([]byte, 16))), nil, nil, needs{Strings: 1, StringBytes: 16}, needs{Strings: 1, StringBytes: 16}},
		{"plain strings", "note", encoding.Strings("a", "bb", "a"), nil, nil, needs{Own: 8}, needs{Own: 8}},
		{"a plain string of all rows", "note", encoding.Strings("four"), nil, nil, needs{Own: 24}, needs{Own: 24}},
		{"plain ids", "trace", encoding.UUIDs(id(1)), nil, nil, needs{Own: 3 * 34}, needs{Own: 3 * 34}},
		{"words", "value", encoding.Int64s(1, 2, 3), nil, nil, needs{}, needs{}},
		{
			"a list", "stack", encoding.UUIDLists(three), nil, nil,
			needs{Lists: dict.Growth{Lists: 1, Members: 3, Elements: 3, Longest: 3}},
			needs{Lists: dict.Growth{Lists: 1, Members: 3, Elements: 1, Longest: 3}},
		},
		{
			"known lists", "stack", encoding.UUIDLists([]uuid.UUID{{1}, {2}}, []uuid.UUID{{2}, {1}}, []uuid.UUID{{2}, {1}}), nil, nil,
			needs{Lists: dict.Growth{Lists: 3, Members: 6, Elements: 6, Longest: 2}},
			needs{Lists: dict.Growth{Longest: 2}},
		},
		{
			"the same list, and an equal one", "stack", encoding.UUIDLists(three, three, []uuid.UUID{{1}, {3}, {3}}), nil, nil,
			needs{Lists: dict.Growth{Lists: 2, Members: 6, Elements: 6, Longest: 3}},
			needs{Lists: dict.Growth{Lists: 1, Members: 3, Elements: 1, Longest: 3}},
		},
		{
			"two empty lists", "stack", encoding.UUIDLists([]uuid.UUID{}, nil, []uuid.UUID{}), nil, nil,
			needs{Lists: dict.Growth{Lists: 1}},
			needs{Lists: dict.Growth{Lists: 1}},
		},
		{
			"records of a new element, of one without a record, and of one with", "stack", encoding.UUIDLists([]uuid.UUID{{1}, {2}, {3}}, []uuid.UUID{{3}, {2}, {1}}, nil),
			map[uuid.UUID][]byte{id(1): []byte("r"), id(2): []byte("r"), id(3): []byte("rr")},
			nil,
			needs{Lists: dict.Growth{Lists: 3, Members: 6, Elements: 6, Longest: 3, Records: 3, OwnBytes: 4, TextBytes: 4}},
			needs{Lists: dict.Growth{Lists: 3, Members: 6, Elements: 1, Longest: 3, Records: 2, OwnBytes: 3}},
		},
	}
	for _, tt := range tests {
		for _, lookUp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/look up %t", tt.name, lookUp), func(t *testing.T) {
				b := &schema.Batch{Rows: 3, Records: tt.records, Columns: map[string]encoding.Vector{tt.column: tt.values}}
				columns, err := s.Check(b)
				if err != nil {
					t.Fatal(err)
				}
				n, want := newNeeder(s, gen, lookUp, b, tt.rows), tt.quick
				if lookUp {
					want = tt.one
				}
				if want.Series == 0 {
					want.Series = 1
				}
				own := 0
				if c := &columns[0]; s.IsSeries(c.Column) {
					n.tuple(c)
				} else {
					own = n.column(c)
				}
				got := needs{n.series.values, n.series.bytes, n.series.each, n.strings.values, n.strings.bytes, n.uuids, n.lists, own}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A full dictionary takes no more strings: the part stores them.
func TestNeed_Full(t *testing.T) {
	s := mustSchema(t, schema.Definition{
		Columns: []schema.Column{
			{Name: "name", Type: encoding.String, Encoding: encoding.Dictionary},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"value"},
	})
	gen := NewGeneration(1)
	if _, err := gen.Strings.Intern([]byte("first")); err != nil {
		t.Fatal(err)
	}
	gen.MostStrings = 1
	b := &schema.Batch{Rows: 2, Columns: map[string]encoding.Vector{"name": encoding.Strings("a", "bb"), "value": encoding.Int64s(1)}}
	columns, err := s.Check(b)
	if err != nil {
		t.Fatal(err)
	}
	if n := newNeeder(s, gen, true, b, nil); n.column(&columns[0]) != 2*3 || n.strings.values != 0 {
		t.Errorf("%d new strings", n.strings.values)
	}
}

// Need adds up what rows, parts, columns and new values take.
func TestNeed_Sum(t *testing.T) {
	s := mustSchema(t, schema.Definition{
		Columns: []schema.Column{
			{Name: "kind", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "host", Type: encoding.String, Encoding: encoding.DictionaryRLE},
			{Name: "name", Type: encoding.String, Encoding: encoding.Dictionary},
			{Name: "span", Type: encoding.UUID, Encoding: encoding.Dictionary},
			{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain},
		},
		SortingKey: []string{"kind", "host", "value"},
	})
	const rows, long = 5, 1 << 16
	gen := NewGeneration(1)
	b := &schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
		"kind": encoding.Strings("cpu"), "host": encoding.Strings("a", "b", "c", "d", "e"), "value": encoding.Int64s(1),
		"name": encoding.Strings(strings.Repeat("n", long)), "span": encoding.UUIDs(uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}, uuid.UUID{4}, uuid.UUID{5}),
	}}
	columns, err := s.Check(b)
	if err != nil {
		t.Fatal(err)
	}
	const names = (2*4 + 4) * rows // of host and its value, with marks
	const series, columnsOfRows = names + 2*rows + rows*(2*3+2*4+4), 3
	for parts := 1; parts <= 3; parts++ {
		want := rows*(needRow+columnsOfRows*needWord) + parts*(1+columnsOfRows)*needPart +
			gen.Series.Need(rows, series) + gen.Strings.Need(1, long) + gen.UUIDs.Need(rows, 16*rows) + gen.Lists.Need(dict.Growth{})
		if got := Need(s, gen, true, b, columns, nil, parts); got != want {
			t.Errorf("%d parts need %d bytes, want %d", parts, got, want)
		}
	}
}
