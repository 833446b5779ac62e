package schema_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// batch is two good rows of definition's table.
func batch() *schema.Batch {
	return &schema.Batch{
		Rows: 2,
		Columns: map[string]encoding.Vector{
			"time":       encoding.Int64s(1, 2),
			"job":        encoding.Strings("api"),
			"labels.pod": encoding.Strings("a", ""),
			"labels.az":  encoding.Strings("x", "y"),
			"nums.size":  {Type: encoding.Int64, Int64s: []int64{7, 0}, Valid: []bool{true, false}},
			"stack":      encoding.UUIDLists([]uuid.UUID{{1}}, nil),
		},
	}
}

// Columns come in schema order, those of a family by name, and share the
// batch's slices.
func TestCheck(t *testing.T) {
	s := mustNew(t, definition())
	b := batch()
	got, err := s.Check(b)
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.Concrete{
		{Column: 0, Name: "time", Values: b.Columns["time"]},
		{Column: 1, Name: "labels.az", Values: b.Columns["labels.az"]},
		{Column: 1, Name: "labels.pod", Values: b.Columns["labels.pod"]},
		{Column: 2, Name: "job", Values: b.Columns["job"]},
		{Column: 3, Name: "stack", Values: b.Columns["stack"]},
		{Column: 7, Name: "nums.size", Values: b.Columns["nums.size"]},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Check() (-want +got):\n%s", diff)
	}
	if &got[0].Values.Int64s[0] != &b.Columns["time"].Int64s[0] {
		t.Error("Check() copies values")
	}
}

// Batches at a limit pass (S3).
func TestCheckAccepts(t *testing.T) {
	tests := []struct {
		name   string
		change func(b *schema.Batch)
	}{
		{"no rows", func(b *schema.Batch) {
			*b = schema.Batch{Columns: map[string]encoding.Vector{"time": encoding.Int64s()}}
		}},
		{"no rows, one value", func(b *schema.Batch) {
			*b = schema.Batch{Columns: map[string]encoding.Vector{"time": encoding.Int64s(1)}}
		}},
		{"most rows", func(b *schema.Batch) {
			*b = schema.Batch{Rows: schema.MaxRows, Columns: map[string]encoding.Vector{"time": encoding.Int64s(1)}}
		}},
		{"longest string", func(b *schema.Batch) {
			b.Columns["note"] = encoding.Strings(strings.Repeat("x", schema.MaxString))
		}},
		{"NUL in a string", func(b *schema.Batch) { b.Columns["job"] = encoding.Strings("a\x00b") }},
		{"longest list", func(b *schema.Batch) {
			b.Columns["stack"] = encoding.UUIDLists(make([]uuid.UUID, schema.MaxList))
		}},
		{"longest name", func(b *schema.Batch) {
			b.Columns["labels."+strings.Repeat("x", schema.MaxName-len("labels."))] = encoding.Strings("v")
		}},
		{"most dynamic columns", func(b *schema.Batch) {
			for i := 3; i < schema.MaxDynamic; i++ { // the batch has 3
				b.Columns[fmt.Sprint("labels.", i)] = encoding.Strings("v")
			}
		}},
		{"bad elements of null rows", func(b *schema.Batch) {
			null := []bool{false, true}
			b.Columns["note"] = encoding.Vector{Type: encoding.String, Valid: null, Strings: []string{"\xff" + strings.Repeat("x", schema.MaxString), ""}}
			b.Columns["stack"] = encoding.Vector{Type: encoding.UUIDList, Valid: null, UUIDLists: [][]uuid.UUID{make([]uuid.UUID, schema.MaxList+1), nil}}
		}},
		{"slices of another type", func(b *schema.Batch) {
			b.Columns["count"] = encoding.Vector{Type: encoding.Uint64, Uint64s: []uint64{1}, Valid: []bool{true}, Strings: []string{"\xff", "\xff"}}
		}},
	}
	s := mustNew(t, definition())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := batch()
			tt.change(b)
			if got, err := s.Check(b); err != nil || len(got) != len(b.Columns) {
				t.Errorf("Check() = %d columns, %v; want %d", len(got), err, len(b.Columns))
			}
		})
	}
}

// S3: errors of Check name the column and the row.
func TestCheckRefuses(t *testing.T) {
	set := func(name string, v encoding.Vector) func(b *schema.Batch) {
		return func(b *schema.Batch) { b.Columns[name] = v }
	}
	tests := []struct {
		name   string
		change func(b *schema.Batch)
		want   error
		text   string
	}{
		{"negative rows", func(b *schema.Batch) { b.Rows = -1 }, schema.ErrLimit, "-1 rows"},
		{"too many rows", func(b *schema.Batch) { b.Rows = schema.MaxRows + 1 }, schema.ErrLimit, "4194305 rows"},
		{"unknown column", set("no", encoding.Strings("a")), schema.ErrBatch, `"no"`},
		{"family itself", set("labels", encoding.Strings("a")), schema.ErrBatch, `"labels"`},
		{"family without a name", set("labels.", encoding.Strings("a")), schema.ErrBatch, `"labels." has no name after the point`},
		{"other type", set("job", encoding.Int64s(1, 2)), schema.ErrBatch, `"job" is string, not int64`},
		{"other type of a family", set("labels.pod", encoding.Bools(true)), schema.ErrBatch, `"labels.pod" is string, not bool`},
		{"no type", set("job", encoding.Vector{}), schema.ErrBatch, `"job" is string, not type(0)`},
		{"no values", set("job", encoding.Strings()), schema.ErrBatch, `"job" has 0 values for 2 rows`},
		{"too many values", set("job", encoding.Strings("a", "b", "c")), schema.ErrBatch, `"job" has 3 values for 2 rows`},
		{"too few flags", set("job", encoding.Vector{Type: encoding.String, Strings: []string{"a", "b"}, Valid: []bool{true}}), schema.ErrBatch, `"job" has 2 values and 1 valid flags`},
		{"control character in a name", set("labels.a\x00", encoding.Strings("a")), schema.ErrBatch, `"labels.a\x00"`},
		{"name not UTF-8", set("labels.\xff", encoding.Strings("a")), schema.ErrBatch, `"labels.\xff"`},
		{"long name", set("labels."+strings.Repeat("x", schema.MaxName), encoding.Strings("a")), schema.ErrBatch, `"labels.` + strings.Repeat("x", 93) + `": want at most`},
		{"null", set("time", encoding.Vector{Type: encoding.Int64, Int64s: []int64{1, 2}, Valid: []bool{true, false}}), schema.ErrBatch, `"time" row 1 is null`},
		{"missing", func(b *schema.Batch) { delete(b.Columns, "time") }, schema.ErrBatch, `"time" is missing`},
		{"long string", set("note", encoding.Strings("", strings.Repeat("x", schema.MaxString+1))), schema.ErrLimit, `"note" row 1: 65537 bytes`},
		{"string not UTF-8", set("labels.pod", encoding.Strings("a", "\xff")), schema.ErrBatch, `"labels.pod" row 1: not valid UTF-8`},
		{"long record", func(b *schema.Batch) {
			b.Records = map[uuid.UUID][]byte{{7}: make([]byte, schema.MaxRecord+1)}
		}, schema.ErrLimit, "07000000-0000-0000-0000-000000000000: 1048577 bytes"},
		{"long flat list", set("stack", encoding.Vector{Type: encoding.UUIDList, UUIDs: make([]uuid.UUID, schema.MaxList+1), Offsets: []int32{0, 0, schema.MaxList + 1}}), schema.ErrLimit, `"stack" row 1: list of 16385`},
		{"offset before the first", set("stack", encoding.Vector{Type: encoding.UUIDList, UUIDs: nil, Offsets: []int32{-1, 0, 0}}), schema.ErrBatch, `"stack": offset 0 is -1, want 0 to 0`},
		{"falling offset", set("stack", encoding.Vector{Type: encoding.UUIDList, UUIDs: make([]uuid.UUID, 2), Offsets: []int32{0, 2, 1}}), schema.ErrBatch, `"stack": offset 2 is 1, want 2 to 2`},
		{"offset beyond the end", set("stack", encoding.Vector{Type: encoding.UUIDList, UUIDs: make([]uuid.UUID, 2), Offsets: []int32{0, 2, 3}}), schema.ErrBatch, `"stack": offset 2 is 3, want 2 to 2`},
		{"flat and not", set("stack", encoding.Vector{Type: encoding.UUIDList, UUIDLists: make([][]uuid.UUID, 2), Offsets: []int32{0, 0, 0}}), schema.ErrBatch, `"stack" has offsets of lists, and other values`},
		{"long list", set("stack", encoding.UUIDLists(nil, make([]uuid.UUID, schema.MaxList+1))), schema.ErrLimit, `"stack" row 1: list of 16385`},
		{"too many dynamic columns", func(b *schema.Batch) {
			for i := 2; i < schema.MaxDynamic; i++ {
				b.Columns[fmt.Sprint("labels.", i)] = encoding.Strings("v")
			}
		}, schema.ErrLimit, "1025 dynamic columns"},
	}
	s := mustNew(t, definition())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := batch()
			tt.change(b)
			columns, err := s.Check(b)
			if columns != nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Check() = %d columns, %v; want none, %v with %s", len(columns), err, tt.want, tt.text)
			}
		})
	}
}

// S4 and the value that stands for all rows.
func TestConcreteNull(t *testing.T) {
	tests := []struct {
		name    string
		values  encoding.Vector
		dynamic bool
		want    []bool
	}{
		{"valid flags", encoding.Vector{Type: encoding.Int64, Int64s: []int64{1, 2}, Valid: []bool{false, true}}, false, []bool{true, false}},
		{"one value", encoding.Strings("a"), true, []bool{false, false}},
		{"one null", encoding.Vector{Type: encoding.Bool, Bools: []bool{true}, Valid: []bool{false}}, false, []bool{true, true}},
		{"empty strings", encoding.Strings("", "a"), false, []bool{false, false}},
		{"empty labels", encoding.Strings("", "a"), true, []bool{true, false}},
		{"one empty label", encoding.Strings(""), true, []bool{true, true}},
		{"dynamic zeros", encoding.Int64s(0, 0), true, []bool{false, false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := schema.Concrete{Values: tt.values}
			got := []bool{c.Null(0, tt.dynamic), c.Null(1, tt.dynamic)}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Null() (-want +got):\n%s", diff)
			}
			if want := min(1, tt.values.Len()-1); c.At(1) != want {
				t.Errorf("At(1) = %d, want %d", c.At(1), want)
			}
		})
	}
}

// The order of a batch's map does not show.
func TestCheckIsStable(t *testing.T) {
	s := mustNew(t, definition())
	b := batch()
	for i := range 50 {
		b.Columns[fmt.Sprint("labels.", i)] = encoding.Strings("v")
	}
	first, err := s.Check(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Check(&schema.Batch{Rows: b.Rows, Columns: maps.Clone(b.Columns)})
	if err != nil || !slices.EqualFunc(first, again, func(a, b schema.Concrete) bool { return a.Name == b.Name }) {
		t.Errorf("Check() gives two orders, %v", err)
	}
}
