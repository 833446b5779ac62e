package arrowconv

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/encoding"
)

var allForms = []Form{FormDictionary, FormNative, FormPlain}

// rowsOf reads an array as the Arrow format describes it, an index at a time: nil for
// null, lists of names as []string, others as rows gives them.
func rowsOf(a arrow.Array) []any {
	out := make([]any, a.Len())
	for i := range out {
		out[i] = rowOf(a, i)
	}
	return out
}

func rowOf(a arrow.Array, i int) any {
	if r, ok := a.(*array.RunEndEncoded); ok {
		row := int32(i + a.Data().Offset()) // in the whole array, whose runs the children are
		run := slices.IndexFunc(r.RunEndsArr().(*array.Int32).Int32Values(), func(end int32) bool { return end > row })
		return rowOf(r.Values(), run)
	}
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return rowOf(a.Dictionary(), a.GetValueIndex(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Uint64:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.Boolean:
		return a.Value(i)
	case *array.String:
		return string([]byte(a.Value(i)))
	case *array.FixedSizeBinary:
		return uuid.UUID(a.Value(i))
	case *array.List:
		return listOf(a, i)
	}
	panic(fmt.Sprintf("array of %v", a.DataType()))
}

func listOf(a *array.List, i int) any {
	ids, names := []uuid.UUID{}, []string{}
	lo, hi := a.ValueOffsets(i)
	for k := lo; k < hi; k++ {
		switch element := rowOf(a.ListValues(), int(k)).(type) {
		case uuid.UUID:
			ids = append(ids, element)
		case string:
			names = append(names, element)
		}
	}
	if _, ok := a.ListValues().(*array.String); ok {
		return names
	}
	return ids
}

// checkArray checks the invariants of an array other than its rows (A1, A6).
func checkArray(t *testing.T, a arrow.Array, shared bool) {
	t.Helper()
	if r, ok := a.(*array.RunEndEncoded); ok {
		if r.NullN() != 0 || r.Data().Buffers()[0] != nil {
			t.Errorf("run-end encoded array with nulls of its own: %d", r.NullN())
		}
		values, ends, before := rowsOf(r.Values()), r.RunEndsArr().(*array.Int32).Int32Values(), int32(0)
		for i, end := range ends {
			if end <= before {
				t.Errorf("run %d ends at row %d, that before at %d", i, end, before)
			}
			if i > 0 && sameRowOf(values[i], values[i-1]) {
				t.Errorf("runs %d and %d have the same value %v", i-1, i, values[i])
			}
			before = end
		}
		if int(before) != r.Len() || len(values) != len(ends) {
			t.Errorf("%d runs and %d values for %d rows, the last ends at %d", len(ends), len(values), r.Len(), before)
		}
		checkArray(t, r.Values(), shared)
		return
	}
	if _, ok := a.(*array.Dictionary); ok && !shared {
		checkDictionary(t, a, rowsOf(a))
	}
}

func sameRowOf(a, b any) bool {
	x, isFloat := a.(float64)
	if y, ok := b.(float64); ok && isFloat {
		return math.Float64bits(x) == math.Float64bits(y)
	}
	return fmt.Sprint(a) == fmt.Sprint(b) && (a == nil) == (b == nil)
}

// equal compares rows. It is quicker than diff, which is for rows that differ.
func equal(t *testing.T, want, got []any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		diff(t, want, got)
		t.Errorf("rows differ")
	}
}

// checkRows compares the rows of a record's only column, whole and in slices, with the wanted
// ones.
func checkRows(t *testing.T, want []any, rec arrow.Record) {
	t.Helper()
	equal(t, want, rowsOf(rec.Column(0)))
	for lo := 0; lo <= len(want); lo += 1 + len(want)/7 {
		for hi := lo; hi <= len(want); hi += 1 + len(want)/5 {
			part := rec.NewSlice(int64(lo), int64(hi))
			equal(t, want[lo:hi], rowsOf(part.Column(0)))
			part.Release()
		}
	}
}

// encodings are all that a schema can ask for.
var encodings = []encoding.Encoding{encoding.Plain, encoding.Dictionary, encoding.RLE, encoding.DictionaryRLE, encoding.Delta}

// TestForms: rows of each type and encoding come out in each form, with and without runs,
// in one or many pieces, of one dictionary or two (A1, A2, A6).
func TestForms(t *testing.T) {
	tried := 0
	for _, form := range allForms {
		for _, v := range samples() {
			for _, e := range encodings {
				if !e.Fits(v.Type) {
					continue
				}
				for name, valid := range nullPatterns {
					for _, runs := range []bool{false, true} {
						tried++
						v.Valid = valid
						f := Field{Name: "c", Type: v.Type, Coded: e.Coded(), Runs: runs, Nullable: true}
						t.Run(fmt.Sprintf("%v/%v/%v/nulls=%s/runs=%v", form, v.Type, e, name, runs), func(t *testing.T) {
							testForm(t, form, f, e, v)
						})
					}
				}
			}
		}
	}
	if tried < 300 {
		t.Errorf("only %d cases", tried)
	}
}

func testForm(t *testing.T, form Form, f Field, e encoding.Encoding, v encoding.Vector) {
	first, second := specOf(v.Type, e), specOf(v.Type, e)
	b := NewRecordBuilder(checked(t), form, []Field{f})
	defer b.Release()
	w, other := encode(t, first, v), encode(t, second, v)
	for _, pieces := range [][]int{{9}, {1, 8}, {3, 0, 3, 3}} { // and reuse of the builder
		lo := 0
		for i, n := range pieces {
			from := w
			if i == 2 { // not the same codes
				from = other
			}
			b.Words(0, from.from, from.words[lo:lo+n], from.valid[lo:lo+n])
			lo += n
		}
		if b.columns[0].len() != 9 {
			t.Fatalf("Len = %d, want 9", b.columns[0].len())
		}
		rec, err := b.Record()
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.Column(0).DataType(); !arrow.TypeEqual(got, NewSchema(form, []Field{f}).Field(0).Type) {
			t.Errorf("an array of %v", got)
		}
		checkRows(t, rows(v), rec)
		checkArray(t, rec.Column(0), false)
		rec.Release()
	}
}

// specOf returns the spec of columns of a type, with new dictionaries.
func specOf(typ encoding.Type, e encoding.Encoding) encoding.Spec {
	s := spec(typ, e.Coded())
	s.Encoding = e
	return s
}

// TestSchemaOfForms: the Arrow types that the package comment lists.
func TestSchemaOfForms(t *testing.T) {
	names := func(dst []string, _ uuid.UUID, _ []byte) []string { return dst }
	var fields []Field
	for typ := encoding.Int64; typ.Known(); typ++ {
		fields = append(fields, Field{Name: typ.String(), Type: typ, Runs: true})
		if !typ.Fixed() {
			fields = append(fields, Field{Name: typ.String() + " coded", Type: typ, Coded: true, Runs: true})
		}
	}
	fields = append(fields, Field{Name: "names", Type: encoding.UUIDList, Names: names, Shared: true})
	fields = append(fields, Field{Name: "times", Type: encoding.Int64, Runs: true, Time: true})
	got := ""
	for _, form := range []Form{FormNative, FormPlain} {
		for _, f := range NewSchema(form, fields).Fields() {
			got += fmt.Sprintf("%v %s: %v\n", form, f.Name, f.Type)
		}
	}
	diff(t, `native int64: run_end_encoded<run_ends: int32, values: int64>
native uint64: run_end_encoded<run_ends: int32, values: uint64>
native float64: run_end_encoded<run_ends: int32, values: float64>
native bool: run_end_encoded<run_ends: int32, values: bool>
native string: run_end_encoded<run_ends: int32, values: utf8>
native string coded: run_end_encoded<run_ends: int32, values: dictionary<values=utf8, indices=uint32, ordered=false>>
native uuid: run_end_encoded<run_ends: int32, values: fixed_size_binary[16]>
native uuid coded: run_end_encoded<run_ends: int32, values: dictionary<values=fixed_size_binary[16], indices=uint32, ordered=false>>
native uuid list: run_end_encoded<run_ends: int32, values: dictionary<values=list<item: fixed_size_binary[16], nullable>, indices=uint32, ordered=false>>
native uuid list coded: run_end_encoded<run_ends: int32, values: dictionary<values=list<item: fixed_size_binary[16], nullable>, indices=uint32, ordered=false>>
native names: dictionary<values=list<item: utf8, nullable>, indices=uint32, ordered=false>
native times: run_end_encoded<run_ends: int32, values: timestamp[ns]>
plain int64: int64
plain uint64: uint64
plain float64: float64
plain bool: bool
plain string: utf8
plain string coded: utf8
plain uuid: fixed_size_binary[16]
plain uuid coded: fixed_size_binary[16]
plain uuid list: list<item: fixed_size_binary[16], nullable>
plain uuid list coded: list<item: fixed_size_binary[16], nullable>
plain names: list<item: utf8, nullable>
plain times: timestamp[ns]
`, got)
	if Form(3).Known() || Form(3).String() != "unknown form 3" {
		t.Errorf("%v is known: %v", Form(3), Form(3).Known())
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for an unknown form")
		}
	}()
	NewSchema(3, nil)
}

// TestNotNullable: a field that is not nullable has no null in any form, and the error gives
// the number of nulls (A2).
func TestNotNullable(t *testing.T) {
	for _, form := range allForms {
		for typ := encoding.Int64; typ.Known(); typ++ {
			b := NewRecordBuilder(checked(t), form, []Field{{Name: "c", Type: typ, Runs: true, Coded: true}})
			b.Nulls(0, 3)
			b.Nulls(0, 2)
			if _, err := b.Record(); !errors.Is(err, ErrBuild) || !strings.Contains(fmt.Sprint(err), "5 nulls") {
				t.Errorf("%v, %v: %v", form, typ, err)
			}
			if rec, err := b.Record(); err != nil || rec.NumRows() != 0 {
				t.Errorf("%v, %v: the next record: %v, %v", form, typ, rec, err)
			} else {
				rec.Release()
			}
			b.Release()
		}
	}
}

// feeder appends rows to a builder by all its methods, and records them.
type feeder struct {
	out   *RecordBuilder
	field Field
	specs []encoding.Spec
	want  []any
}

// few values of each type, the empty and the extreme among them.
func fewValues(typ encoding.Type) encoding.Vector {
	for _, v := range samples() {
		if v.Type == typ {
			return v
		}
	}
	panic("no sample")
}

// draw makes a vector of some of the few values.
func drawVector(t *rapid.T, typ encoding.Type, most int) encoding.Vector {
	from, v := fewValues(typ), encoding.Vector{Type: typ}
	n := rapid.IntRange(0, most).Draw(t, "rows")
	nulls := rapid.Bool().Draw(t, "nulls")
	for range n {
		i := rapid.IntRange(0, 8).Draw(t, "value")
		appendRow(&v, &from, i)
		if nulls {
			v.Valid = append(v.Valid, rapid.IntRange(0, 3).Draw(t, "valid") > 0)
		}
	}
	return v
}

func appendRow(to, from *encoding.Vector, i int) {
	switch to.Type {
	case encoding.Int64:
		to.Int64s = append(to.Int64s, from.Int64s[i])
	case encoding.Uint64:
		to.Uint64s = append(to.Uint64s, from.Uint64s[i])
	case encoding.Float64:
		to.Float64s = append(to.Float64s, from.Float64s[i])
	case encoding.Bool:
		to.Bools = append(to.Bools, from.Bools[i])
	case encoding.String:
		to.Strings = append(to.Strings, from.Strings[i])
	case encoding.UUID:
		to.UUIDs = append(to.UUIDs, from.UUIDs[i])
	case encoding.UUIDList:
		to.UUIDLists = append(to.UUIDLists, from.UUIDLists[i])
	}
}

// feed gives the builder some rows in one way.
func (f *feeder) feed(t *testing.T, rt *rapid.T) {
	typ := f.field.Type
	s := f.specs[rapid.IntRange(0, len(f.specs)-1).Draw(rt, "dictionary")]
	n := rapid.SampledFrom([]int{0, 1, 2, 7, 8, 9, 100}).Draw(rt, "times")
	switch way := rapid.SampledFrom([]string{"words", "words", "constant", "repeat", "nulls", "vector", "lists"}).Draw(rt, "way"); way {
	case "words":
		v := drawVector(rt, typ, 20)
		w := encode(t, s, v)
		f.out.Words(0, w.from, w.words, w.valid)
		f.want = append(f.want, rows(v)...)
	case "constant":
		v := drawVector(rt, typ, 1)
		if v.Len() == 0 || typ.Fixed() && v.Null(0) {
			return
		}
		w := encode(t, s, v)
		f.out.Constant(0, w.from, w.words[0], n)
		f.add(rows(v)[0], n)
	case "repeat":
		if typ == encoding.String {
			text := rapid.SampledFrom([]string{"", "a", "again"}).Draw(rt, "text")
			f.out.Repeat(0, text, n)
			f.add(text, n)
		}
	case "nulls":
		f.out.Nulls(0, n)
		f.add(nil, n)
	case "vector":
		if typ != encoding.UUIDList {
			v := drawVector(rt, typ, 20)
			f.out.Vector(0, &v)
			f.want = append(f.want, rows(v)...)
		}
	case "lists":
		if typ == encoding.UUIDList {
			v := drawVector(rt, typ, 20)
			codes := []uint32{}
			for _, word := range encode(t, s, v).words {
				codes = append(codes, uint32(word))
			}
			f.out.Lists(0, s.Lists.View(), codes)
			f.want = append(f.want, rows(v)...)
		}
	}
}

func (f *feeder) add(row any, n int) {
	for range n {
		f.want = append(f.want, row)
	}
}

// TestFormsModel gives builders of each type and form random rows in random ways, of
// several dictionaries and in several records, and compares (A1, A2, A6, A7).
func TestFormsModel(t *testing.T) {
	for typ := encoding.Int64; typ.Known(); typ++ {
		t.Run(typ.String(), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				coded, shared := rapid.Bool().Draw(rt, "coded"), rapid.Bool().Draw(rt, "shared")
				f := feeder{field: Field{
					Name: "c", Type: typ, Coded: coded, Runs: rapid.Bool().Draw(rt, "runs"), Nullable: true,
					Shared: shared, Many: rapid.Bool().Draw(rt, "many"),
				}}
				for range 3 {
					f.specs = append(f.specs, spec(typ, coded && !typ.Fixed()))
				}
				if !typ.Fixed() && typ != encoding.UUIDList {
					f.specs = append(f.specs, spec(typ, false))
				}
				f.out = NewRecordBuilder(checked(t), rapid.SampledFrom(allForms).Draw(rt, "form"), []Field{f.field})
				defer f.out.Release()
				var kept []arrow.Record
				var wants [][]any
				defer func() {
					for _, rec := range kept {
						rec.Release()
					}
				}()
				for range rapid.IntRange(1, 4).Draw(rt, "records") {
					f.want = []any{}
					for range rapid.IntRange(0, 6).Draw(rt, "feeds") {
						f.feed(t, rt)
					}
					if f.out.columns[0].len() != len(f.want) {
						rt.Fatalf("Len %d, want %d", f.out.columns[0].len(), len(f.want))
					}
					keep := rapid.Bool().Draw(rt, "keep")
					rec, err := f.out.Record()
					if err != nil {
						rt.Fatal(err)
					}
					if keep {
						kept, wants = append(kept, rec), append(wants, f.want)
						continue
					}
					checkRows(t, f.want, rec)
					checkArray(t, rec.Column(0), shared && typ == encoding.UUIDList)
					rec.Release()
				}
				for i, rec := range kept { // later rows did not touch them
					checkRows(t, wants[i], rec)
				}
				if t.Failed() {
					rt.Fatal("rows differ")
				}
			})
		})
	}
}
