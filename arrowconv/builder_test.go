package arrowconv

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// samples is one vector of each type, with values that repeat, extremes and,
// where the type has one, the empty value. Some tests make rows null.
func samples() []encoding.Vector {
	return []encoding.Vector{
		encoding.Int64s(0, math.MinInt64, math.MaxInt64, -1, 7, 7, 7, 0, 5),
		encoding.Uint64s(0, math.MaxUint64, 1, 2, 2, 2, 3, 0, 5),
		encoding.Float64s(0, math.Inf(-1), math.SmallestNonzeroFloat64, -1.5, 2, 2, 2, 0, 5),
		encoding.Bools(true, false, true, true, false, false, true, true, true),
		encoding.Strings("b", "", "a", "b", "b", "日本", "a", "", strings.Repeat("x", 1000)),
		encoding.UUIDs(id(2), id(0), id(1), id(2), id(2), id(9), id(1), uuid.UUID{}, id(5)),
		encoding.UUIDLists([]uuid.UUID{id(1), id(2)}, nil, []uuid.UUID{id(2), id(1)}, []uuid.UUID{id(1), id(2)},
			[]uuid.UUID{id(1), id(2)}, []uuid.UUID{id(3)}, nil, []uuid.UUID{{}}, []uuid.UUID{id(1), id(1), id(1)}),
	}
}

// nullPatterns tells which of nine rows have a value.
var nullPatterns = map[string][]bool{
	"none":  nil,
	"first": {false, true, true, true, true, true, true, true, true},
	"last":  {true, true, true, true, true, true, true, true, false},
	"some":  {true, false, true, false, false, true, true, false, true},
	"all":   make([]bool, 9),
}

// TestRoundTrip: rows survive the way to Arrow and back, in each type, plain and coded, with
// and without nulls, in one or many pieces, sliced anywhere (A1, A2, A4).
func TestRoundTrip(t *testing.T) {
	for _, v := range samples() {
		for _, coded := range []bool{false, true} {
			if coded && v.Type.Fixed() {
				continue
			}
			for name, valid := range nullPatterns {
				t.Run(fmt.Sprintf("%v/coded=%v/nulls=%s", v.Type, coded, name), func(t *testing.T) {
					v.Valid = valid
					testRoundTrip(t, v, coded)
				})
			}
		}
	}
}

func testRoundTrip(t *testing.T, v encoding.Vector, coded bool) {
	b := NewRecordBuilder(checked(t), FormDictionary, []Field{{Name: "c", Type: v.Type, Coded: coded, Nullable: true}})
	defer b.Release()
	w := encode(t, spec(v.Type, coded), v)
	for _, pieces := range [][]int{{9}, {1, 8}, {3, 0, 3, 3}} { // and reuse of the builder
		lo := 0
		for _, n := range pieces {
			b.Words(0, w.from, w.words[lo:lo+n], w.valid[lo:lo+n])
			lo += n
		}
		if b.columns[0].len() != 9 {
			t.Fatalf("Len = %d, want 9", b.columns[0].len())
		}
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		want := rows(v)
		for lo := 0; lo <= 9; lo++ {
			for hi := lo; hi <= 9; hi++ {
				part := rec.NewSlice(int64(lo), int64(hi))
				diff(t, want[lo:hi], rows(mustBatch(t, v.Type, part)))
				part.Release()
			}
		}
		checkDictionary(t, rec.Column(0), want)
		rec.Release()
	}
}

// checkDictionary: values are used, each once, in the order of use (A1).
func checkDictionary(t *testing.T, a arrow.Array, rows []any) {
	t.Helper()
	coded, ok := a.(*array.Dictionary)
	if !ok {
		return
	}
	seen := map[string]bool{}
	for _, row := range rows {
		if row != nil {
			seen[fmt.Sprint(row)] = true
		}
	}
	if coded.Dictionary().Len() != len(seen) {
		t.Errorf("%d values in the dictionary, want %d", coded.Dictionary().Len(), len(seen))
	}
	next := 0
	for i := range coded.Len() {
		if coded.IsNull(i) {
			continue
		}
		switch index := coded.GetValueIndex(i); {
		case index > next:
			t.Errorf("row %d: index %d before %d", i, index, next)
		case index == next:
			next++
		}
	}
}

// TestWordsValid: the meaning of nil and of explicit presence.
func TestWordsValid(t *testing.T) {
	v := encoding.Strings("a", "b", "a")
	v.Valid = []bool{true, false, true}
	for _, coded := range []bool{false, true} {
		w := encode(t, spec(encoding.String, coded), v)
		b := NewRecordBuilder(checked(t), FormDictionary, []Field{{Name: "c", Type: encoding.String, Coded: coded, Nullable: true}})
		b.Words(0, w.from, w.words, nil)
		b.Words(0, w.from, w.words, []bool{false, true, true}) // a null word is null all the same
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		diff(t, []any{"a", nil, "a", nil, nil, "a"}, rows(mustBatch(t, encoding.String, rec)))
		rec.Release()
		b.Release()
		b.Release()
	}
	w := encode(t, spec(encoding.Int64, false), encoding.Int64s(0, 1))
	b := NewRecordBuilder(nil, FormDictionary, []Field{{Name: "c", Type: encoding.Int64}})
	b.Words(0, w.from, w.words, nil)
	rec, err := b.Record()
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []any{int64(0), int64(1)}, rows(mustBatch(t, encoding.Int64, rec)))
	if rec.Column(0).Data().Buffers()[0] != nil {
		t.Error("a bitmap without nulls")
	}
}

// TestUnify: values of words, repeats, plain columns and other dictionaries
// are one value in the record's dictionary (A1).
func TestUnify(t *testing.T) {
	one, two, plain := spec(encoding.String, true), spec(encoding.String, true), spec(encoding.String, false)
	add := func(b *RecordBuilder, s encoding.Spec, values ...string) {
		w := encode(t, s, encoding.Strings(values...))
		b.Words(0, w.from, w.words, nil)
	}
	cases := []struct {
		name string
		fill func(*RecordBuilder)
		want []any
		dict string
	}{
		{
			"repeat first", func(b *RecordBuilder) { b.Repeat(0, "a", 2); add(b, one, "b", "a"); b.Repeat(0, "b", 1) },
			[]any{"a", "a", "b", "a", "b"},
			`["a" "b"]`,
		},
		{
			"words first", func(b *RecordBuilder) {
				add(b, one, "a", "b")
				b.Repeat(0, "b", 1)
				b.Repeat(0, "c", 1)
				add(b, one, "c", "a")
			},
			[]any{"a", "b", "b", "c", "c", "a"},
			`["a" "b" "c"]`,
		},
		{
			"two dictionaries", func(b *RecordBuilder) { add(b, one, "a", "b"); add(b, two, "c", "b"); add(b, one, "c", "b") },
			[]any{"a", "b", "c", "b", "c", "b"},
			`["a" "b" "c"]`,
		},
		{
			"plain", func(b *RecordBuilder) { add(b, one, "a"); add(b, plain, "b", "a"); add(b, one, "b") },
			[]any{"a", "b", "a", "b"},
			`["a" "b"]`,
		},
		{
			"nulls between", func(b *RecordBuilder) { b.Nulls(0, 2); b.Repeat(0, "", 1); b.Nulls(0, 1); b.Repeat(0, "x", 0) },
			[]any{nil, nil, "", nil},
			`[""]`,
		},
	}
	b := NewRecordBuilder(checked(t), FormDictionary, []Field{{Name: "c", Type: encoding.String, Coded: true, Nullable: true}})
	defer b.Release()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.fill(b)
			rec, err := b.Record()
			if err != nil {
				t.Fatal(err)
			}
			defer rec.Release()
			diff(t, c.want, rows(mustBatch(t, encoding.String, rec)))
			diff(t, c.dict, fmt.Sprint(rec.Column(0).(*array.Dictionary).Dictionary()))
		})
	}
}

// TestUnifyLists: lists of two dictionaries are unified too.
func TestUnifyLists(t *testing.T) {
	v := encoding.UUIDLists([]uuid.UUID{id(1), id(2)}, nil, []uuid.UUID{id(2)})
	b := NewRecordBuilder(checked(t), FormDictionary, []Field{{Name: "c", Type: encoding.UUIDList}})
	defer b.Release()
	for range 2 {
		w := encode(t, spec(encoding.UUIDList, true), v)
		b.Words(0, w.from, w.words, nil)
	}
	rec, err := b.Record()
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	diff(t, append(rows(v), rows(v)...), rows(mustBatch(t, encoding.UUIDList, rec)))
	checkDictionary(t, rec.Column(0), rows(v))
}

// TestLargeCodes: the table from store codes to local ones works across pages.
func TestLargeCodes(t *testing.T) {
	s := spec(encoding.String, true)
	var all []string
	for i := range 5 * pageLen {
		all = append(all, fmt.Sprint(i))
	}
	w := encode(t, s, encoding.Strings(all...))
	b := NewRecordBuilder(checked(t), FormDictionary, []Field{{Name: "c", Type: encoding.String, Coded: true}})
	defer b.Release()
	for range 2 {
		var want []any
		for i := len(all) - 1; i >= 0; i -= 7 {
			b.Words(0, w.from, []uint64{w.words[i], w.words[i]}, nil)
			want = append(want, all[i], all[i])
		}
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		diff(t, want, rows(mustBatch(t, encoding.String, rec)))
		checkDictionary(t, rec.Column(0), want)
		rec.Release()
	}
}

// TestRepeatAndNulls: in each type and form.
func TestRepeatAndNulls(t *testing.T) {
	for _, v := range samples() {
		for _, coded := range []bool{false, true} {
			w := encode(t, spec(v.Type, coded && !v.Type.Fixed()), v)
			b := NewRecordBuilder(checked(t), FormDictionary, []Field{{Name: "c", Type: v.Type, Coded: coded, Nullable: true}})
			b.Nulls(0, 11)
			b.Words(0, w.from, w.words, nil)
			b.Nulls(0, 1)
			want := append(append(make([]any, 11), rows(v)...), nil)
			if v.Type == encoding.String {
				b.Repeat(0, "again", 2)
				want = append(want, "again", "again")
			}
			rec, err := b.Record()
			if err != nil {
				t.Fatal(err)
			}
			diff(t, want, rows(mustBatch(t, v.Type, rec)))
			if rec.Column(0).NullN() != 12 {
				t.Errorf("%v: %d nulls, want 12", v.Type, rec.Column(0).NullN())
			}
			rec.Release()
			b.Release()
		}
	}
}

// TestSchema: the Arrow types of FormDictionary.
func TestSchema(t *testing.T) {
	var fields []Field
	for typ := encoding.Int64; typ.Known(); typ++ {
		fields = append(fields, Field{Name: fmt.Sprintf("%v", typ), Type: typ})
		fields = append(fields, Field{Name: fmt.Sprintf("%v coded", typ), Type: typ, Coded: true, Nullable: true})
	}
	got := ""
	for _, f := range NewSchema(FormDictionary, fields).Fields() {
		got += fmt.Sprintf("%s: %v %v\n", f.Name, f.Type, f.Nullable)
	}
	diff(t, `int64: int64 false
int64 coded: int64 true
uint64: uint64 false
uint64 coded: uint64 true
float64: float64 false
float64 coded: float64 true
bool: bool false
bool coded: bool true
string: utf8 false
string coded: dictionary<values=utf8, indices=uint32, ordered=false> true
uuid: fixed_size_binary[16] false
uuid coded: dictionary<values=fixed_size_binary[16], indices=uint32, ordered=false> true
uuid list: dictionary<values=list<item: fixed_size_binary[16], nullable>, indices=uint32, ordered=false> false
uuid list coded: dictionary<values=list<item: fixed_size_binary[16], nullable>, indices=uint32, ordered=false> true
`, got)
	defer func() {
		if recover() == nil {
			t.Error("no panic for a field without a type")
		}
	}()
	NewSchema(FormDictionary, []Field{{Name: "c"}})
}

// TestEmpty: records without rows, or without columns.
func TestEmpty(t *testing.T) {
	for _, v := range samples() {
		b := NewRecordBuilder(checked(t), FormDictionary, []Field{{Name: "c", Type: v.Type}, {Name: "labels.x", Type: encoding.String, Coded: true}})
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		diff(t, []any{}, rows(mustBatch(t, v.Type, rec)))
		rec.Release()
		b.Release()
	}
	rec, err := NewRecordBuilder(nil, FormDictionary, nil).Record()
	if err != nil || rec.NumRows() != 0 || rec.NumCols() != 0 {
		t.Errorf("record without columns: %v, %v", rec, err)
	}
}

// TestMisuse: mistakes are reported by Record, and then forgotten (A2).
func TestMisuse(t *testing.T) {
	ints := encode(t, spec(encoding.Int64, false), encoding.Int64s(1, 2))
	short := encode(t, encoding.Spec{Type: encoding.UUID, Encoding: encoding.Plain}, encoding.UUIDs(id(1)))
	bad := encoding.NewBuilder(encoding.Spec{Type: encoding.UUID, Encoding: encoding.Plain}, 1)
	bad.Bytes([]byte("short"))
	badUUID := bad.Build()
	cases := []struct {
		name, want string
		fill       func(b *RecordBuilder)
	}{
		{"uneven", `field "s" has 1 rows, field "i" 2`, func(b *RecordBuilder) {
			b.Words(0, ints.from, ints.words, nil)
			b.Repeat(1, "x", 1)
		}},
		{"type", `field "s": rows of type int64, want string`, func(b *RecordBuilder) { b.Words(1, ints.from, ints.words, nil) }},
		{"valid", `field "i": 2 words and 1 valid flags`, func(b *RecordBuilder) { b.Words(0, ints.from, ints.words, []bool{true}) }},
		{"repeat type", `field "i": a string repeated in rows of type int64`, func(b *RecordBuilder) { b.Repeat(0, "x", 1) }},
		{"repeat count", `field "s": -1 rows`, func(b *RecordBuilder) { b.Repeat(1, "x", -1) }},
		{"null count", `field "s": -1 rows`, func(b *RecordBuilder) { b.Nulls(1, -1) }},
		{"first error", `field "s": -1 rows`, func(b *RecordBuilder) {
			b.Nulls(1, -1)
			b.Nulls(0, -2)
			b.Repeat(0, "", 1)
			b.Words(1, ints.from, nil, nil)
		}},
		{"not nullable", `field "i" has 3 nulls and is not nullable`, func(b *RecordBuilder) {
			for i := range b.columns {
				b.Nulls(i, 3)
			}
		}},
		{"uuid length", `field "u": uuid of 5 bytes`, func(b *RecordBuilder) { b.Words(2, &badUUID, []uint64{1}, nil) }},
		{"coded uuid length", `field "d": uuid of 5 bytes`, func(b *RecordBuilder) {
			b.Words(3, short.from, short.words, nil)
			b.Words(3, &badUUID, []uint64{1}, nil)
		}},
	}
	b := NewRecordBuilder(checked(t), FormDictionary, []Field{
		{Name: "i", Type: encoding.Int64},
		{Name: "s", Type: encoding.String, Nullable: true},
		{Name: "u", Type: encoding.UUID, Nullable: true},
		{Name: "d", Type: encoding.UUID, Coded: true, Nullable: true},
	})
	defer b.Release()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.fill(b)
			rec, err := b.Record()
			if rec != nil || !errors.Is(err, ErrBuild) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("Record: %v, %v; want %q", rec, err, c.want)
			}
			if rec, err = b.Record(); err != nil || rec.NumRows() != 0 {
				t.Errorf("the next Record: %v, %v", rec, err)
			} else {
				rec.Release()
			}
		})
	}
}

// TestTooLarge: 32-bit offsets never overflow.
func TestTooLarge(t *testing.T) {
	for _, coded := range []bool{false, true} {
		for _, fill := range []func(b *RecordBuilder, w words){
			func(b *RecordBuilder, w words) { b.Words(0, w.from, w.words, nil) },
			func(b *RecordBuilder, _ words) { b.Repeat(0, "abc", 1); b.Repeat(0, "def", 2) },
			func(b *RecordBuilder, w words) { b.Nulls(0, 1); b.Words(0, w.from, w.words, nil); b.Repeat(0, "h", 1) },
		} {
			b := NewRecordBuilder(checked(t), FormDictionary, []Field{{Name: "c", Type: encoding.String, Coded: coded, Nullable: true}})
			b.columns[0].cells.values.limit = 5
			if coded {
				b.columns[0].cells.dict.values.limit = 5
			}
			fill(b, encode(t, spec(encoding.String, coded), encoding.Strings("abcde", "f")))
			if _, err := b.Record(); !errors.Is(err, errLarge) || !errors.Is(err, ErrBuild) {
				t.Errorf("coded %v: %v", coded, err)
			}
			b.Release()
		}
	}
	b := NewRecordBuilder(checked(t), FormDictionary, []Field{{Name: "c", Type: encoding.UUIDList}})
	defer b.Release()
	b.columns[0].cells.dict.values.limit = 2
	w := encode(t, spec(encoding.UUIDList, true), encoding.UUIDLists([]uuid.UUID{id(1), id(2)}, []uuid.UUID{id(3)}))
	b.Words(0, w.from, w.words, nil)
	if _, err := b.Record(); !errors.Is(err, errLarge) {
		t.Errorf("lists: %v", err)
	}
}

// TestSchemaOfBuilder: records carry the schema that NewSchema gives.
func TestSchemaOfBuilder(t *testing.T) {
	fields := []Field{{Name: "a", Type: encoding.Bool}, {Name: "b", Type: encoding.UUIDList}}
	if b := NewRecordBuilder(nil, FormDictionary, fields); !b.schema.Equal(NewSchema(FormDictionary, fields)) {
		t.Error("schemas differ")
	}
}
