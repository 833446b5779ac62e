package schema_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	diff "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// coded is batch with codes in place of its series and lists.
func coded() *schema.Batch {
	b := batch()
	for _, name := range []string{"job", "labels.pod", "labels.az"} {
		delete(b.Columns, name)
	}
	b.Series, b.Columns["stack"] = 7, encoding.ListCodes(3, 0)
	return b
}

// CheckInto is Check into memory that is given; a code stands for the series, and one
// a row for the lists. Which codes there are it cannot know.
func TestCheckInto(t *testing.T) {
	s := mustNew(t, definition())
	given := make([]schema.Concrete, 0, 10)
	got, err := s.CheckInto(given, new(schema.Order), coded())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range got {
		names = append(names, c.Name)
	}
	if d := diff.Diff([]string{"time", "stack", "nums.size"}, names); d != "" {
		t.Errorf("columns (-want +got):\n%s", d)
	}
	if &got[0] != &given[:1][0] {
		t.Error("the slice that was given has room, and was not used")
	}
	if again, err := s.CheckInto(got[:0], new(schema.Order), batch()); err != nil || len(again) != 6 {
		t.Errorf("again: %d columns, %v", len(again), err)
	}
}

// Columns that exclude each other are refused.
func TestCheckIntoRefuses(t *testing.T) {
	s := mustNew(t, definition())
	required := definition()
	for i := range required.Columns {
		required.Columns[i].Nullable = false
	}
	strict := mustNew(t, required)
	for _, tt := range []struct {
		name   string
		schema *schema.Schema
		change func(b *schema.Batch)
		text   string
	}{
		{"a column of the series", s, func(b *schema.Batch) { b.Columns["job"] = encoding.Strings("a") }, `"job" is given, and the code of a series`},
		{"a label", s, func(b *schema.Batch) { b.Columns["labels.x"] = encoding.Strings("a") }, `"labels.x" is given, and the code of a series`},
		{"lists and codes", s, func(b *schema.Batch) {
			b.Columns["stack"] = encoding.Vector{Type: encoding.UUIDList, Codes: []uint32{1, 2}, UUIDLists: [][]uuid.UUID{nil, nil}}
		}, `"stack" has lists and codes of lists`},
		{"lists and no codes, but room for them", s, func(b *schema.Batch) {
			b.Columns["stack"] = encoding.Vector{Type: encoding.UUIDList, Codes: []uint32{}, UUIDLists: [][]uuid.UUID{nil, nil}}
		}, `"stack" has lists and codes of lists`},
		{"codes beside strings", s, func(b *schema.Batch) {
			b.Columns["note"] = encoding.Vector{Type: encoding.String, Strings: []string{"\xff"}, Codes: []uint32{}}
		}, `"note"`},
		{"too few codes", s, func(b *schema.Batch) {
			b.Rows, b.Columns = 3, map[string]encoding.Vector{"time": encoding.Int64s(1), "stack": encoding.ListCodes(1, 2)}
		}, `"stack" has 2 values for 3 rows`},
		{"code 0 where null may not be", strict, func(b *schema.Batch) {
			for _, c := range strict.Columns() {
				if _, ok := b.Columns[c.Name]; !ok && !c.Dynamic && !strict.IsSeries(slices.IndexFunc(strict.Columns(), func(d schema.Column) bool { return d.Name == c.Name })) {
					b.Columns[c.Name] = someValue(c.Type)
				}
			}
		}, `"stack" row 1 is null and not nullable`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := coded()
			tt.change(b)
			columns, err := tt.schema.CheckInto(nil, new(schema.Order), b)
			if columns != nil || !errors.Is(err, schema.ErrBatch) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("CheckInto() = %d columns, %v; want none and %s", len(columns), err, tt.text)
			}
		})
	}
}

// someValue returns a vector of one value for all rows.
func someValue(of encoding.Type) encoding.Vector {
	v := encoding.Vector{Type: of}
	switch of {
	case encoding.Int64:
		v.Int64s = []int64{1}
	case encoding.Uint64:
		v.Uint64s = []uint64{1}
	case encoding.Float64:
		v.Float64s = []float64{1}
	case encoding.Bool:
		v.Bools = []bool{true}
	case encoding.String:
		v.Strings = []string{"a"}
	case encoding.UUID:
		v.UUIDs = []uuid.UUID{{1}}
	case encoding.UUIDList:
		v.UUIDLists = [][]uuid.UUID{{{1}}}
	}
	return v
}

// CheckSeries takes columns of the series and no others.
func TestCheckSeries(t *testing.T) {
	s := mustNew(t, definition())
	many := func(n int) map[string]encoding.Vector {
		columns := map[string]encoding.Vector{}
		for i := range n {
			columns[fmt.Sprint("labels.", i)] = encoding.Strings("v")
		}
		return columns
	}
	strict := definition()
	for i := range strict.Columns {
		strict.Columns[i].Nullable = false
	}
	for _, tt := range []struct {
		name    string
		schema  *schema.Schema
		columns map[string]encoding.Vector
		want    []string
		err     error
		text    string
	}{
		{"none", s, nil, []string{}, nil, ""},
		{"in key order of columns", s, map[string]encoding.Vector{
			"job": encoding.Strings("a"), "labels.b": encoding.Strings("x"), "labels.a": encoding.Strings(""),
		}, []string{"labels.a", "labels.b", "job"}, nil, ""},
		{"most", s, many(schema.MaxDynamic), nil, nil, ""},
		{"too many", s, many(schema.MaxDynamic + 1), nil, schema.ErrLimit, "1025 columns"},
		{"missing", mustNew(t, strict), map[string]encoding.Vector{"labels.b": encoding.Strings("x")}, nil, schema.ErrBatch, `"job" is missing`},
		{"of the suffix", s, map[string]encoding.Vector{"job": encoding.Strings("a"), "stack": encoding.ListCodes(1)}, nil, schema.ErrBatch, `"stack" is not one that leads`},
		{"unknown", s, map[string]encoding.Vector{"no": encoding.Strings("a")}, nil, schema.ErrBatch, `"no" is not one that leads`},
		{"family itself", s, map[string]encoding.Vector{"labels": encoding.Strings("a")}, nil, schema.ErrBatch, `"labels" is not one that leads`},
		{"other type", s, map[string]encoding.Vector{"job": encoding.Int64s(1)}, nil, schema.ErrBatch, `"job" is string, not int64`},
		{"not UTF-8", s, map[string]encoding.Vector{"job": encoding.Strings("\xff")}, nil, schema.ErrBatch, `"job" row 0: not valid UTF-8`},
		{"long", s, map[string]encoding.Vector{"job": encoding.Strings(strings.Repeat("x", schema.MaxString+1))}, nil, schema.ErrLimit, `"job" row 0: 65537 bytes`},
		{"bad name", s, map[string]encoding.Vector{"labels.\n": encoding.Strings("a")}, nil, schema.ErrBatch, `"labels.\n"`},
		{"two values", s, map[string]encoding.Vector{"job": encoding.Strings("a", "b")}, nil, schema.ErrBatch, `"job" has 2 values for 1 rows`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.schema.CheckSeries(&schema.Batch{Rows: 1, Columns: tt.columns})
			if tt.err != nil {
				if got != nil || !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.text) {
					t.Fatalf("CheckSeries() = %d columns, %v; want none, %v with %s", len(got), err, tt.err, tt.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			names := []string{}
			for _, c := range got {
				names = append(names, c.Name)
			}
			if len(names) != len(tt.columns) || tt.want != nil && !slices.Equal(names, tt.want) {
				t.Errorf("columns %v, want %v", names, tt.want)
			}
		})
	}
}

// CheckLists finds the column of lists, and holds them to the limit.
func TestCheckLists(t *testing.T) {
	s := mustNew(t, definition())
	lists := [][]uuid.UUID{{{1}}, nil, make([]uuid.UUID, schema.MaxList)}
	got, err := s.CheckLists(lists)
	if err != nil || len(got) != 1 || got[0].Name != "stack" || got[0].Column != 3 || got[0].Values.Len() != 3 {
		t.Errorf("CheckLists() = %v, %v", got, err)
	}
	if got, err := s.CheckLists(nil); err != nil || len(got) != 1 || got[0].Values.Len() != 0 {
		t.Errorf("CheckLists() of none = %v, %v", got, err)
	}
	_, err = s.CheckLists([][]uuid.UUID{nil, make([]uuid.UUID, schema.MaxList+1)})
	if !errors.Is(err, schema.ErrLimit) || !strings.Contains(err.Error(), `"stack" row 1: list of 16385`) {
		t.Errorf("CheckLists() of a long list: %v", err)
	}
	plain := mustNew(t, schema.Definition{Columns: []schema.Column{{Name: "n", Type: encoding.Int64, Encoding: encoding.Plain}}})
	if _, err := plain.CheckLists(lists); !errors.Is(err, schema.ErrBatch) {
		t.Errorf("CheckLists() without a column of lists: %v", err)
	}
}

// eachLabel collects the labels that EachLabel yields.
func eachLabel(s *schema.Schema, key []byte) []schema.SeriesValue {
	var labels []schema.SeriesValue
	s.EachLabel(key, func(column int, name []byte) {
		labels = append(labels, schema.SeriesValue{Column: column, Name: string(name)})
	})
	return labels
}

// EachLabel yields the same names as ReadTuple for any tuple.
func TestEachLabel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, sortingKey := drawTable(t)
		want := labelsOf(s, drawRows(t, s, sortingKey)[0])
		key := s.AppendTuple(nil, want)
		for i := range want {
			want[i].Value = ""
		}
		if d := diff.Diff(want, eachLabel(s, key)); d != "" {
			t.Fatalf("labels of %x (-want +got):\n%s", key, d)
		}
	})
	long := "labels." + strings.Repeat("x", schema.MaxName-len("labels."))
	s := mustNew(t, definition())
	key := s.AppendTuple(nil, []schema.SeriesValue{{Column: 1, Name: long, Value: "\x00\x00"}, {Column: 1, Name: long + "y", Value: ""}})
	if got := eachLabel(s, key); len(got) != 2 || got[0].Name != long || got[1].Name != long+"y" {
		t.Errorf("labels %v", got)
	}
}

// FuzzEachLabel reads garbage. EachLabel agrees with ReadTuple on valid tuples; otherwise it
// yields the labels before the damage, and ends.
func FuzzEachLabel(f *testing.F) {
	s := mustNew(f, definition())
	for _, r := range []row{{}, {"job": "a\x00"}, {"labels.a": "", "labels.b": "x"}, {"job": "", "labels.é": "\x00\x00"}} {
		tuple := s.AppendTuple(nil, labelsOf(s, r))
		f.Add(tuple)
		f.Add(tuple[:len(tuple)-1])
		f.Add(append(slices.Clip(tuple), 0))
		f.Add(append([]byte{1}, tuple...))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		got := eachLabel(s, key)
		if len(got) > len(key) {
			t.Errorf("%d labels of %d bytes", len(got), len(key))
		}
		want, err := s.ReadTuple(key)
		for column, name := range map[int]string{2: "job", 1: "labels.a"} {
			value, ok := s.TupleValue(key, column, name)
			i := slices.IndexFunc(want, func(l schema.SeriesValue) bool { return l.Name == name })
			if err == nil && (ok != (i >= 0) || ok && string(value) != want[i].Value) {
				t.Errorf("%s of %x is %q, %t; labels are %v", name, key, value, ok, want)
			}
		}
		if err != nil {
			return
		}
		for i := range want {
			want[i].Value = ""
		}
		if d := diff.Diff(want, got); d != "" {
			t.Errorf("labels of %x (-want +got):\n%s", key, d)
		}
	})
}

// OrderedWord orders words as AppendWord orders keys, which is how values are ordered.
func TestOrderedWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.SampledFrom([]encoding.Type{encoding.Int64, encoding.Uint64, encoding.Float64, encoding.Bool, encoding.UUIDList}).Draw(t, "type")
		draw := func(name string) (any, uint64) {
			switch of {
			case encoding.Int64:
				v := rapid.Int64().Draw(t, name)
				return v, encoding.FromInt64(v)
			case encoding.Uint64:
				v := rapid.Uint64().Draw(t, name)
				return v, v
			case encoding.Float64:
				v := rapid.Float64().Draw(t, name)
				return v, encoding.FromFloat64(v)
			case encoding.Bool:
				v := rapid.Bool().Draw(t, name)
				return v, encoding.FromBool(v)
			}
			v := rapid.Uint32().Draw(t, name)
			return v, uint64(v)
		}
		a, x := draw("a")
		b, y := draw("b")
		ordered := func(x uint64) any { return schema.OrderedWord(of, x) }
		if got, want := compareValues(ordered(x), ordered(y)), compareValues(a, b); got != want {
			t.Fatalf("words of %v and %v compare as %d, want %d", a, b, got, want)
		}
	})
}

// Columns of a header must be fixed and never null.
func TestHeader(t *testing.T) {
	columns := []schema.Column{
		{Name: "label", Type: encoding.String, Encoding: encoding.Dictionary},
		{Name: "duration", Type: encoding.Uint64, Encoding: encoding.RLE},
		{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta},
		{Name: "ratio", Type: encoding.Float64, Encoding: encoding.Plain},
		{Name: "flag", Type: encoding.Bool, Encoding: encoding.RLE},
		{Name: "id", Type: encoding.UUID, Encoding: encoding.Plain},
		{Name: "stack", Type: encoding.UUIDList, Encoding: encoding.Dictionary},
		{Name: "bonus", Type: encoding.Int64, Encoding: encoding.Plain, Nullable: true},
		{Name: "nums", Type: encoding.Int64, Encoding: encoding.RLE, Dynamic: true},
	}
	for _, tt := range []struct {
		header []string
		want   []int
		text   string // of the error
	}{
		{nil, nil, ""},
		{[]string{"time"}, []int{2}, ""},
		{[]string{"flag", "time", "ratio", "duration"}, []int{1, 2, 3, 4}, ""},
		{[]string{"time", "time"}, nil, `"time" is unknown or named twice`},
		{[]string{"nope"}, nil, `"nope" is unknown or named twice`},
		{[]string{"label"}, nil, `"label": want a fixed int64, uint64, float64 or bool column`},
		{[]string{"time", "id"}, nil, `"id": want a fixed`},
		{[]string{"stack"}, nil, `"stack": want a fixed`},
		{[]string{"bonus"}, nil, `"bonus": want a fixed`},
		{[]string{"nums"}, nil, `"nums": want a fixed`},
		{[]string{"nums.n"}, nil, `"nums.n" is unknown`},
	} {
		s, err := schema.New(schema.Definition{Columns: columns, Header: tt.header})
		if tt.text != "" {
			if s != nil || !errors.Is(err, schema.ErrSchema) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("header %q: %v, want %s", tt.header, err, tt.text)
			}
			continue
		}
		if err != nil || !slices.Equal(s.Header(), tt.want) {
			t.Errorf("header %q: %v, %v; want %v", tt.header, s.Header(), err, tt.want)
		}
	}
}

// The name of a fixed column is the schema's: that of a batch may be a piece of a whole
// profile, which parts would keep alive.
func TestCheck_NamesOfFixedColumns(t *testing.T) {
	s := mustNew(t, schema.Definition{Columns: []schema.Column{{Name: "value", Type: encoding.Int64, Encoding: encoding.Plain}}})
	large := strings.Repeat("x", 1000) + "value"
	columns, err := s.Check(&schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{large[1000:]: encoding.Int64s(1)}})
	if err != nil {
		t.Fatal(err)
	}
	if unsafe.StringData(columns[0].Name) != unsafe.StringData(s.Columns()[0].Name) {
		t.Error("the name is the batch's")
	}
}

// TupleValue gives of any tuple the values that ReadTuple gives, and no others.
func TestTupleValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, sortingKey := drawTable(t)
		labels := labelsOf(s, drawRows(t, s, sortingKey)[0])
		key := s.AppendTuple(nil, labels)
		for _, l := range labels {
			if got, ok := s.TupleValue(key, l.Column, l.Name); !ok || string(got) != l.Value {
				t.Fatalf("%q of %x is %q, %t; want %q", l.Name, key, got, ok, l.Value)
			}
		}
		for column, c := range s.Columns() {
			name := c.Name
			if c.Dynamic {
				name += "." + rapid.StringMatching(`[a-c]{0,2}`).Draw(t, "name")
			}
			has := slices.ContainsFunc(labels, func(l schema.SeriesValue) bool { return l.Name == name })
			if got, ok := s.TupleValue(key, column, name); ok != has {
				t.Fatalf("%q of %x is %q, %t; the tuple has it: %t", name, key, got, ok, has)
			}
		}
	})
}
