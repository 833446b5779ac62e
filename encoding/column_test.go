package encoding

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding/dict"
)

var types = []Type{Int64, Uint64, Float64, Bool, String, UUID, UUIDList}

// row is one row of a column as a reader sees it. Value is the word of a fixed
// type, the bytes of a string or UUID, the elements of a list.
type row struct {
	Null  bool
	Value any
}

// specOf makes the spec of a column with dictionaries of its own.
func specOf(typ Type, e Encoding) Spec {
	spec := Spec{Type: typ, Encoding: e}
	switch {
	case typ == UUIDList:
		spec.Lists = dict.NewLists(1)
	case e.Coded():
		spec.Dict = dict.NewValues(1)
	}
	return spec
}

// rowsOf makes n rows of a type. Row i is null if null(i) is true.
func rowsOf(typ Type, n int, null func(i int) bool) []row {
	r := rand.New(rand.NewPCG(1, 1))
	rows := make([]row, n)
	for i := range rows {
		switch k := r.IntN(9); {
		case null(i):
			rows[i].Null = true
		case typ == Bool:
			rows[i].Value = FromBool(k < 4)
		case typ == Float64:
			rows[i].Value = FromFloat64([...]float64{0, math.Copysign(0, -1), -1.5, math.Inf(1), math.NaN(), 3, 4, 5, 6}[k])
		case typ.Fixed():
			rows[i].Value = FromInt64(int64(k) - 4)
		case typ == String:
			rows[i].Value = []byte(strings.Repeat("ab\x00", k)) // "" too
		case typ == UUID:
			rows[i].Value = bytes.Repeat([]byte{byte(k)}, 16)
		case typ == UUIDList:
			rows[i].Value = slices.Repeat([]uuid.UUID{{byte(k)}, {9}}, k/2) // empty too
		}
	}
	return rows
}

// build makes a column of rows.
func build(t *testing.T, spec Spec, rows []row) *Column {
	t.Helper()
	b := NewBuilder(spec, len(rows))
	for _, r := range rows {
		switch value := r.Value.(type) {
		case nil:
			b.Null()
		case uint64:
			b.Word(value)
		case []byte:
			if spec.Dict == nil {
				b.Bytes(value)
				continue
			}
			code, err := spec.Dict.Intern(value)
			if err != nil {
				t.Fatal(err)
			}
			b.Word(uint64(code))
		case []uuid.UUID:
			b.Word(uint64(internIDs(t, spec.Lists, value)))
		}
	}
	c := b.Build()
	return &c
}

// read reads a column back.
func read(c *Column) []row {
	rows := make([]row, c.Len())
	for i := range rows {
		word := c.Words().At(i)
		switch {
		case c.Null(i):
			rows[i] = row{Null: true}
		case c.Type().Fixed():
			rows[i].Value = word
		case c.Lists() != nil:
			rows[i].Value = c.Lists().UUIDs([]uuid.UUID{}, uint32(word))
		default:
			rows[i].Value = c.Bytes(word)
		}
	}
	return rows
}

// copyOf rebuilds a column from its decoded rows, as a rewrite does.
func copyOf(spec Spec, c *Column) *Column {
	b := NewBuilder(spec, c.Len())
	words, valid := c.Words().Append(nil, 0, c.Len()), c.AppendValid(nil, 0, c.Len())
	for i, word := range words {
		switch {
		case !valid[i]:
			b.Null()
		case spec.Dict == nil && !spec.Type.Fixed() && spec.Lists == nil:
			b.Bytes(c.Bytes(word))
		default:
			b.Word(word)
		}
	}
	column := b.Build()
	return &column
}

// E1 for columns of every type in every encoding that fits, with nulls in all
// the places where a builder could lose count.
func TestColumnRoundTrip(t *testing.T) {
	nulls := map[string]func(i int) bool{
		"none":   func(int) bool { return false },
		"all":    func(int) bool { return true },
		"first":  func(i int) bool { return i == 0 },
		"last":   func(i int) bool { return i == 199 },
		"runs":   func(i int) bool { return i/50%2 == 1 },
		"thirds": func(i int) bool { return i%3 == 1 },
	}
	for _, typ := range types {
		for _, e := range encodings {
			if !e.Fits(typ) {
				continue
			}
			for name, null := range nulls {
				t.Run(fmt.Sprintf("%v/%v/nulls=%s", typ, e, name), func(t *testing.T) {
					for _, n := range []int{0, 1, 200} {
						spec := specOf(typ, e)
						checkColumn(t, spec, rowsOf(typ, n, null))
					}
				})
			}
		}
	}
}

func checkColumn(t *testing.T, spec Spec, want []row) {
	t.Helper()
	c := build(t, spec, want)
	if c.Type() != spec.Type || c.Dict() != spec.Dict || c.Lists() != spec.Lists || c.Len() != len(want) {
		t.Fatalf("column of %v, %d rows, dictionaries %p, %p; want %v, %d, %p, %p",
			c.Type(), c.Len(), c.Dict(), c.Lists(), spec.Type, len(want), spec.Dict, spec.Lists)
	}
	for name, got := range map[string][]row{"rows": read(c), "rows of a copy": read(copyOf(spec, c))} {
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(want, got))
		}
	}
	hasNull := slices.ContainsFunc(want, func(r row) bool { return r.Null })
	if wantNulls := hasNull && spec.Type.Fixed(); c.Nulls() != wantNulls {
		t.Errorf("Nulls() = %v, want %v", c.Nulls(), wantNulls)
	}
	for _, lo := range []int{0, len(want) / 3, len(want)} {
		wantValid := []bool{true}
		for _, r := range want[lo:] {
			wantValid = append(wantValid, !r.Null)
		}
		if got := c.AppendValid([]bool{true}, lo, len(want)); !slices.Equal(wantValid, got) {
			t.Errorf("AppendValid from %d (-want +got):\n%s", lo, cmp.Diff(wantValid, got))
		}
	}
	if spec.Type == UUID {
		checkRowsOf(t, c, want)
	}
}

// checkRowsOf asks a column for the rows of each of its ids, and of one that it has not.
func checkRowsOf(t *testing.T, c *Column, all []row) {
	t.Helper()
	want := map[uuid.UUID][]int32{{15: 0xfe, 14: 0xfe}: nil}
	for i, r := range all {
		if !r.Null {
			id := uuid.UUID(r.Value.([]byte))
			want[id] = append(want[id], int32(i))
		}
	}
	for id, rows := range want {
		got, ok := c.RowsOf([]int32{-1}, id)
		if !ok {
			rows = nil
		}
		if ok != (c.Dict() == nil) || !slices.Equal(got, append([]int32{-1}, rows...)) {
			t.Errorf("%v is in rows %v, %v; want %v", id, got[1:], ok, rows)
		}
	}
}

// TestColumn_RowsOf reads rows of columns with many nulls, with few and with none, and of a
// column whose values are not in row order.
func TestColumn_RowsOf(t *testing.T) {
	spec := Spec{Type: UUID, Encoding: Plain}
	rng := rand.New(rand.NewPCG(1, 1))
	layouts := map[layout]bool{}
	for _, share := range []float64{0, 0.001, 0.02, 0.3, 0.75, 0.999} {
		for _, n := range []int{1, 70, 5000} {
			var all []row
			for range n {
				if rng.Float64() < share {
					all = append(all, row{Null: true})
					continue
				}
				id := idOf(rng.IntN(n/10 + 1))
				all = append(all, row{Value: id[:]})
			}
			c := build(t, spec, all)
			layouts[c.Words().layout] = true
			checkRowsOf(t, c, all)
		}
	}
	if !layouts[layoutSparse] || len(layouts) < 2 {
		t.Errorf("columns of the layouts %v", layouts)
	}
	one, two := idOf(1), idOf(2)
	c := NewIDs(spec, []uint64{2, 1}, append(one[:], two[:]...))
	if rows, ok := c.RowsOf(nil, one); ok {
		t.Errorf("values that are not in the order of the rows: %v", rows)
	}
}

// A null of a fixed type reads as the word 0, in any context.
func TestNullWordIsZero(t *testing.T) {
	b := NewBuilder(Spec{Type: Int64, Encoding: Delta}, 3)
	b.Word(FromInt64(-5))
	b.Null()
	b.Word(FromInt64(-4))
	c := b.Build()
	if diff := cmp.Diff([]uint64{FromInt64(-5), 0, FromInt64(-4)}, c.Words().Append(nil, 0, 3)); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

// An empty value is one: it is not nil, even where no value has a byte.
func TestEmptyValueIsNotNull(t *testing.T) {
	for _, e := range []Encoding{Plain, Dictionary} {
		spec := specOf(String, e)
		c := build(t, spec, []row{{Value: []byte{}}, {Null: true}, {Value: []byte{}}})
		for i, wantNull := range []bool{false, true, false} {
			if value := c.Bytes(c.Words().At(i)); c.Null(i) != wantNull || (value == nil) != wantNull || len(value) != 0 {
				t.Errorf("%v: row %d: Null() = %v, Bytes() = %#v; want null %v", e, i, c.Null(i), value, wantNull)
			}
		}
	}
}

// E2: a builder does not retain the slice given to Bytes, and appending to a result of
// Column.Bytes does not write into the next value.
func TestColumnSharesNothing(t *testing.T) {
	b := NewBuilder(Spec{Type: String, Encoding: Plain}, 2)
	value := []byte("first")
	b.Bytes(value)
	copy(value, "XXXXX")
	b.Bytes([]byte("second"))
	c := b.Build()
	_ = append(c.Bytes(c.Words().At(0)), "YYYYYY"...)
	for i, want := range []string{"first", "second"} {
		if got := string(c.Bytes(c.Words().At(i))); got != want {
			t.Errorf("row %d = %q, want %q", i, got, want)
		}
	}
}

func TestColumnSize(t *testing.T) {
	for _, typ := range types {
		for _, e := range encodings {
			if !e.Fits(typ) || e.Coded() {
				continue // dictionaries are not counted
			}
			for name, null := range map[string]func(int) bool{
				"no nulls": func(int) bool { return false },
				"nulls":    func(i int) bool { return i%7 == 0 },
			} {
				c := build(t, Spec{Type: typ, Encoding: e}, rowsOf(typ, 200, null))
				want := sliceBytes(reflect.ValueOf(*c))
				// Bytes that the allocator rounds up do not count.
				if got := c.Size(); got < want || got > want+40 {
					t.Errorf("%v, %v, %s: Size() = %d, want %d", typ, e, name, got, want)
				}
			}
		}
	}
}

// A plain column of distinct values pays for their bytes and their ends; their
// ordinals cost next to nothing.
func TestPlainOrdinalsCostLittle(t *testing.T) {
	c := build(t, specOf(UUID, Plain), rowsOf(UUID, 10*blockLen, func(int) bool { return false }))
	if got, most := c.Words().Size(), 500; got > most {
		t.Errorf("ordinals take %d bytes, want at most %d", got, most)
	}
}

func TestWordConversions(t *testing.T) {
	for _, v := range []int64{0, -1, 1, math.MinInt64, math.MaxInt64} {
		if got := ToInt64(FromInt64(v)); got != v {
			t.Errorf("ToInt64(FromInt64(%d)) = %d", v, got)
		}
	}
	for _, v := range []float64{0, math.Copysign(0, -1), math.Inf(-1), math.NaN(), math.SmallestNonzeroFloat64} {
		if got := ToFloat64(FromFloat64(v)); math.Float64bits(got) != math.Float64bits(v) {
			t.Errorf("ToFloat64(FromFloat64(%v)) = %v", v, got)
		}
	}
	if FromBool(true) != 1 || FromBool(false) != 0 {
		t.Errorf("FromBool: true is %d, false is %d", FromBool(true), FromBool(false))
	}
}

// The golden file is the table of types and encodings.
func TestFitsGolden(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "%-12s", "")
	for _, e := range encodings {
		fmt.Fprintf(&out, "%-15v", e)
	}
	for _, typ := range types {
		fmt.Fprintf(&out, "\n%-12v", typ)
		for _, e := range encodings {
			fmt.Fprintf(&out, "%-15v", e.Fits(typ))
		}
	}
	checkGolden(t, "fits.txt", trimLines(out.String()))
}

func TestUnknownTypesAndEncodings(t *testing.T) {
	for _, tt := range []struct {
		value fmt.Stringer
		known bool
		want  string
	}{
		{Type(0), Type(0).Known(), "type(0)"},
		{Type(8), Type(8).Known(), "type(8)"},
		{Encoding(0), Encoding(0).Known(), "encoding(0)"},
		{Encoding(6), Encoding(6).Known(), "encoding(6)"},
	} {
		if got := tt.value.String(); got != tt.want || tt.known {
			t.Errorf("%T: String() = %q, Known() = %v; want %q, false", tt.value, got, tt.known, tt.want)
		}
	}
	if Plain.Fits(Type(0)) || Encoding(0).Fits(Int64) {
		t.Error("what is unknown fits")
	}
}

func TestVector(t *testing.T) {
	tests := []struct {
		vector Vector
		typ    Type
		want   int
	}{
		{Int64s(1, 2, 3), Int64, 3},
		{Uint64s(1, 2), Uint64, 2},
		{Float64s(1), Float64, 1},
		{Bools(true, false), Bool, 2},
		{Strings("", "a", "b", "c"), String, 4},
		{UUIDs(uuid.UUID{1}), UUID, 1},
		{UUIDLists(nil, []uuid.UUID{{1}}), UUIDList, 2},
		{Vector{Int64s: []int64{1}}, 0, 0},
		{Vector{Type: String, Int64s: []int64{1}}, String, 0},
	}
	for _, tt := range tests {
		if got := tt.vector.Len(); got != tt.want || tt.vector.Type != tt.typ {
			t.Errorf("%v: %d rows; want %v, %d", tt.vector.Type, got, tt.typ, tt.want)
		}
		if tt.want > 0 && tt.vector.Null(0) {
			t.Errorf("%v: row 0 is null without Valid", tt.typ)
		}
	}
	v := Vector{Type: Bool, Bools: []bool{true, true}, Valid: []bool{true, false}}
	if v.Null(0) || !v.Null(1) {
		t.Errorf("Null() = %v, %v; want false, true", v.Null(0), v.Null(1))
	}
}

// A lookup table in blocks is decoded once for a column, not for each piece of the rows.
func TestColumn_AppendValid_Lookup(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	table, ordinals := make([]uint64, 4096), make([]uint64, 1<<15)
	for i := range table {
		table[i] = r.Uint64N(50)
		if i%500 == 0 {
			table[i] = 1 << 20 // an exception
		}
	}
	for i := range ordinals {
		ordinals[i] = r.Uint64N(uint64(len(table)))
	}
	words, by := Encode(Plain, table), Encode(Plain, ordinals)
	if words.layout != layoutBlocks {
		t.Fatalf("the table is in %v", words.layout)
	}
	c := NewColumn(Spec{Type: String, Encoding: Dictionary}, Lookup(words, &by), nil)
	dst := make([]bool, 0, len(ordinals))
	if n := testing.AllocsPerRun(5, func() { dst = c.AppendValid(dst[:0], 3, len(ordinals)) }); n > 5 {
		t.Errorf("AppendValid allocates %v times", n)
	}
	for i, valid := range dst {
		if want := table[ordinals[3+i]] != 0; valid != want {
			t.Fatalf("row %d: valid %v, want %v", 3+i, valid, want)
		}
	}
}

func idOf(i int) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[8:], uint64(i))
	return id
}

// internIDs interns a list and its elements.
func internIDs(t testing.TB, d *dict.Lists, ids []uuid.UUID) uint32 {
	t.Helper()
	elements, err := d.InternElements(nil, ids, nil)
	if err != nil {
		t.Fatal(err)
	}
	code, err := d.InternList(elements)
	if err != nil {
		t.Fatal(err)
	}
	return code
}
