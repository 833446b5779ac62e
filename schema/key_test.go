package schema_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// row is the values of one row by concrete name; absent values are null. A list is its
// dictionary code, a uint32.
type row map[string]any

var (
	someNames   = []string{"a", "aa", "a.a", "ab", "b", " ", "~", "é", "\U0010ffff"}
	someStrings = []string{"", "\x00", "\x00\x00", "\x00\x01", "\x01", "a", "a\x00", "a\x00\x00", "a\x00b", "a\x01", "aa", "b", "é", "\U0010ffff"}
	someInts    = []int64{math.MinInt64, math.MinInt64 + 1, -1000, -1, 0, 1, 255, 256, math.MaxInt64}
	someFloats  = []float64{math.Inf(-1), -math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, math.MaxFloat64, math.Inf(1)}
)

// drawValue draws a value of a type from few, so that rows share many.
func drawValue(t *rapid.T, c schema.Column) any {
	switch c.Type {
	case encoding.Int64:
		return rapid.OneOf(rapid.SampledFrom(someInts), rapid.Int64()).Draw(t, c.Name)
	case encoding.Uint64:
		return rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64()).Draw(t, c.Name)
	case encoding.Float64:
		return rapid.OneOf(rapid.SampledFrom(someFloats), rapid.Float64()).Draw(t, c.Name)
	case encoding.Bool:
		return rapid.Bool().Draw(t, c.Name)
	case encoding.UUID:
		id := uuid.UUID{15: rapid.SampledFrom([]byte{0, 1, 255}).Draw(t, c.Name)}
		id[rapid.IntRange(0, 15).Draw(t, c.Name)]++
		return id
	case encoding.UUIDList:
		return rapid.Uint32Range(1, 300).Draw(t, c.Name)
	}
	values := someStrings
	if c.Dynamic {
		values = values[1:] // S4: the empty string is no value
	}
	return rapid.SampledFrom(values).Draw(t, c.Name)
}

// drawInto gives a column of a row a new value, or for a family one of its
// concrete columns, or takes it away.
func drawInto(t *rapid.T, r row, c schema.Column) {
	name := c.Name
	if c.Dynamic {
		name += "." + rapid.SampledFrom(someNames).Draw(t, "name")
	}
	if (c.Nullable || c.Dynamic) && rapid.IntRange(0, 2).Draw(t, "null") == 0 {
		delete(r, name)
		return
	}
	r[name] = drawValue(t, c)
}

// drawTable draws a table: definition's columns, sorted by some of them.
func drawTable(t *rapid.T) (*schema.Schema, []string) {
	def := definition()
	var names []string
	for _, c := range def.Columns {
		names = append(names, c.Name)
	}
	def.SortingKey = rapid.Permutation(names).Draw(t, "key")[:rapid.IntRange(0, len(names)).Draw(t, "columns")]
	if rapid.Bool().Draw(t, "no bucket") {
		def.Bucket = schema.Bucket{}
	}
	s, err := schema.New(def)
	if err != nil {
		t.Fatal(err)
	}
	return s, def.SortingKey
}

// drawRows draws rows each of which differs from an earlier one in one to
// three columns of the sorting key.
func drawRows(t *rapid.T, s *schema.Schema, sortingKey []string) []row {
	first := row{}
	for _, c := range s.Columns() {
		drawInto(t, first, c)
	}
	rows := []row{first}
	for len(rows) < 8 {
		r := maps.Clone(rapid.SampledFrom(rows).Draw(t, "like"))
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			name := rapid.SampledFrom(append([]string{"time"}, sortingKey...)).Draw(t, "column")
			drawInto(t, r, columnNamed(s, name))
		}
		rows = append(rows, r)
	}
	return rows
}

func columnNamed(s *schema.Schema, name string) schema.Column {
	i := slices.IndexFunc(s.Columns(), func(c schema.Column) bool { return c.Name == name })
	return s.Columns()[i]
}

// concrete returns the names that rows have of a column, in name order.
func concrete(c schema.Column, rows ...row) []string {
	if !c.Dynamic {
		return []string{c.Name}
	}
	var names []string
	for _, r := range rows {
		for name := range r {
			if strings.HasPrefix(name, c.Name+".") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// keyOf makes the key of a row as doc.go draws it.
func keyOf(s *schema.Schema, r row) []byte {
	time, _ := r["time"].(int64)
	key := s.AppendBucket(nil, s.BucketStart(time))
	key = s.AppendTuple(key, labelsOf(s, r))
	for _, i := range s.Suffix() {
		c := s.Columns()[i]
		for _, name := range concrete(c, r) {
			switch v, ok := r[name]; {
			case !ok:
				key = schema.AppendNull(key)
			case c.Dynamic:
				key = appendValue(schema.AppendName(key, name), v)
			default:
				key = appendValue(schema.AppendPresent(key), v)
			}
		}
		if c.Dynamic {
			key = schema.AppendNull(key)
		}
	}
	return key
}

// labelsOf returns the labels of a row, in the order of Series.
func labelsOf(s *schema.Schema, r row) []schema.SeriesValue {
	var labels []schema.SeriesValue
	for _, i := range s.Series() {
		for _, name := range concrete(s.Columns()[i], r) {
			if v, ok := r[name]; ok {
				labels = append(labels, schema.SeriesValue{Column: i, Name: name, Value: v.(string)})
			}
		}
	}
	return labels
}

func appendValue(key []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		return schema.AppendWord(key, encoding.Int64, encoding.FromInt64(v))
	case uint64:
		return schema.AppendWord(key, encoding.Uint64, v)
	case float64:
		return schema.AppendWord(key, encoding.Float64, encoding.FromFloat64(v))
	case bool:
		return schema.AppendWord(key, encoding.Bool, encoding.FromBool(v))
	case uint32:
		return schema.AppendWord(key, encoding.UUIDList, uint64(v))
	case uuid.UUID:
		return schema.AppendBytes(key, v[:])
	case string:
		return schema.AppendBytes(key, []byte(v))
	}
	panic(fmt.Sprintf("value of type %T", v))
}

// compareRows is the order of rows without keys: by bucket, then column by
// column, a family by all the names that either row has.
func compareRows(s *schema.Schema, sortingKey []string, a, b row) int {
	if s.BucketColumn() >= 0 {
		if c := cmp.Compare(s.BucketStart(a["time"].(int64)), s.BucketStart(b["time"].(int64))); c != 0 {
			return c
		}
	}
	for _, column := range sortingKey {
		for _, name := range concrete(columnNamed(s, column), a, b) {
			if c := compareValues(a[name], b[name]); c != 0 {
				return c
			}
		}
	}
	return 0
}

func compareValues(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(present(a), present(b))
	}
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case uint64:
		return cmp.Compare(a, b.(uint64))
	case float64:
		// The two zeros are equal numbers but different values.
		return cmp.Or(cmp.Compare(a, b.(float64)), cmp.Compare(math.Copysign(1, a), math.Copysign(1, b.(float64))))
	case bool:
		return cmp.Compare(encoding.FromBool(a), encoding.FromBool(b.(bool)))
	case uint32:
		return cmp.Compare(a, b.(uint32))
	case uuid.UUID:
		return strings.Compare(a.String(), b.(uuid.UUID).String()) // hexadecimal
	case string:
		return strings.Compare(a, b.(string))
	}
	panic(fmt.Sprintf("value of type %T", a))
}

func present(v any) int {
	if v == nil {
		return 0
	}
	return 1
}

// checkOrder compares rows and their keys in pairs, and looks for prefixes.
func checkOrder(t *rapid.T, s *schema.Schema, sortingKey []string, rows []row) {
	for _, a := range rows {
		for _, b := range rows {
			x, y := keyOf(s, a), keyOf(s, b)
			if got, want := bytes.Compare(x, y), compareRows(s, sortingKey, a, b); got != want {
				t.Fatalf("S1: sorted by %q, keys compare as %d, rows as %d\n%v\n%v\n%x\n%x", sortingKey, got, want, a, b, x, y)
			}
			if len(x) != len(y) && bytes.HasPrefix(x, y) {
				t.Fatalf("S2: sorted by %q, one key opens the other:\n%v\n%v\n%x\n%x", sortingKey, a, b, x, y)
			}
		}
	}
}

// S1 and S2 for tables of any sorting key.
func TestKeyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, sortingKey := drawTable(t)
		checkOrder(t, s, sortingKey, drawRows(t, s, sortingKey))
	})
}

// S1 and S2 for tables that are sorted by one column: rows that differ sort by its type.
func TestKeyOrderOfColumn(t *testing.T) {
	for _, c := range definition().Columns {
		t.Run(c.Name, func(t *testing.T) {
			def := definition()
			def.Bucket = schema.Bucket{}
			def.SortingKey = []string{c.Name}
			s := mustNew(t, def)
			rapid.Check(t, func(t *rapid.T) {
				checkOrder(t, s, def.SortingKey, drawRows(t, s, def.SortingKey))
			})
		})
	}
}

// S1 spelled out: rows of one family in their order. Each line must sort after
// the one above, whichever columns the table has by then.
func TestKeyOrderOfLabels(t *testing.T) {
	s := mustNew(t, definition())
	rows := []row{
		{},
		{"labels.b": "1"},
		{"labels.b": "1", "labels.c": "1"},
		{"labels.b": "2"},
		{"labels.ab": "1"},
		{"labels.a": "1"},
		{"labels.a": "1", "labels.b": "1"},
		{"labels.a": "1", "labels.ab": "0"},
		{"labels.a": "1\x00"},
		{"labels.a": "1a"},
		{"labels.a": "2"},
		{"job": ""},
		{"job": "a"},
		{"job": "a", "labels.b": "1"},
	}
	for i := range rows[1:] {
		x, y := keyOf(s, rows[i]), keyOf(s, rows[i+1])
		if bytes.Compare(x, y) >= 0 {
			t.Errorf("%v does not sort before %v:\n%x\n%x", rows[i], rows[i+1], x, y)
		}
	}
}

// The layout of doc.go, byte by byte.
func TestAppendTuple(t *testing.T) {
	s := mustNew(t, definition()) // series: job, labels
	tests := []struct {
		name   string
		labels []schema.SeriesValue
		want   string
	}{
		{"nothing", nil, "\x00\x00"},
		{"fixed", []schema.SeriesValue{{Column: 2, Name: "job", Value: "a\x00b"}}, "\x01a\x00\xffb\x00\x00\x00"},
		{"empty", []schema.SeriesValue{{Column: 2, Name: "job"}}, "\x01\x00\x00\x00"},
		{
			"dynamic",
			[]schema.SeriesValue{{Column: 1, Name: "l.a", Value: "v"}, {Column: 1, Name: "l.b", Value: "w"}},
			"\x00\x01\x93\xd1\x9e\xffv\x00\x00\x01\x93\xd1\x9d\xffw\x00\x00\x00",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.AppendTuple([]byte("before"), tt.labels)
			if want := "before" + tt.want; string(got) != want {
				t.Errorf("AppendTuple() = %q, want %q", got, want)
			}
			labels, err := s.ReadTuple([]byte(tt.want))
			if err != nil || diff.Diff(tt.labels, labels) != "" {
				t.Errorf("ReadTuple(): %v (-want +got):\n%s", err, diff.Diff(tt.labels, labels))
			}
		})
	}
}

// ReadTuple is the inverse of AppendTuple.
func TestTupleRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, sortingKey := drawTable(t)
		want := labelsOf(s, drawRows(t, s, sortingKey)[0])
		got, err := s.ReadTuple(s.AppendTuple(nil, want))
		if err != nil {
			t.Fatal(err)
		}
		if d := diff.Diff(want, got); d != "" {
			t.Fatalf("labels (-want +got):\n%s", d)
		}
		if err := s.CheckTuple(s.AppendTuple(nil, want)); err != nil && !slices.ContainsFunc(want, func(l schema.SeriesValue) bool { return s.Columns()[l.Column].Dynamic && l.Value == "" }) {
			t.Fatalf("CheckTuple of %v: %v", want, err)
		}
	})
}

// CheckTuple refuses labels that no checked batch has.
func TestCheckTupleRefuses(t *testing.T) {
	s := mustNew(t, definition())
	job, labels := 2, 1
	for name, tuple := range map[string][]schema.SeriesValue{
		"a name of another family":      {{Column: labels, Name: "job", Value: "b"}},
		"a name without a label":        {{Column: labels, Name: "labels.", Value: "b"}},
		"a name with a control":         {{Column: labels, Name: "labels.\n", Value: "b"}},
		"a long name":                   {{Column: labels, Name: "labels." + strings.Repeat("a", schema.MaxName), Value: "b"}},
		"a name that is not UTF-8":      {{Column: labels, Name: "labels.\xf0", Value: "b"}},
		"names that do not rise":        {{Column: labels, Name: "labels.b", Value: "b"}, {Column: labels, Name: "labels.a", Value: "b"}},
		"a name twice":                  {{Column: labels, Name: "labels.b", Value: "b"}, {Column: labels, Name: "labels.b", Value: "b"}},
		"an empty label (S4)":           {{Column: labels, Name: "labels.a"}},
		"a value that is not UTF-8":     {{Column: job, Name: "job", Value: "\xff"}},
		"a value beyond its limit (S3)": {{Column: job, Name: "job", Value: strings.Repeat("a", schema.MaxString+1)}},
	} {
		if err := s.CheckTuple(s.AppendTuple(nil, tuple)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := s.CheckTuple(nil); err == nil {
		t.Error("nothing is a tuple")
	}
}

func TestReadTupleRefuses(t *testing.T) {
	s := mustNew(t, definition())
	for name, key := range map[string]string{
		"nothing":              "",
		"one column missing":   "\x00",
		"bytes after it":       "\x00\x00\x00",
		"unknown tag":          "\x02a\x00\x00\x00",
		"value without an end": "\x01a",
		"value cut in its end": "\x01a\x00",
		"unknown escape":       "\x01a\x00\x07\x00\x00\x00",
		"name without an end":  "\x00\x01\x9e",
		"name without a value": "\x00\x01\x9e\xff",
		"family without end":   "\x00\x01\x9e\xffv\x00\x00",
	} {
		if labels, err := s.ReadTuple([]byte(key)); err == nil || labels != nil {
			t.Errorf("%s: ReadTuple(%q) = %v, %v; want an error", name, key, labels, err)
		}
	}
}

// FuzzReadTuple reads garbage. AppendTuple writes accepted tuples back to the same bytes:
// there is one tuple for one series.
func FuzzReadTuple(f *testing.F) {
	s := mustNew(f, definition())
	f.Add([]byte{})
	for _, r := range []row{{}, {"job": "a\x00"}, {"labels.a": "", "labels.b": "x"}, {"job": "", "labels.é": "\x00\x00"}} {
		tuple := s.AppendTuple(nil, labelsOf(s, r))
		f.Add(tuple)
		f.Add(tuple[:len(tuple)-1])
		f.Add(append(tuple, 0))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		labels, err := s.ReadTuple(key)
		if err != nil {
			return
		}
		if again := s.AppendTuple(nil, labels); !bytes.Equal(again, key) {
			t.Errorf("ReadTuple(%x) = %v, which is %x", key, labels, again)
		}
	})
}
