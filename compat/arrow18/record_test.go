package arrow18

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	arrow14 "github.com/apache/arrow/go/v14/arrow"
	array14 "github.com/apache/arrow/go/v14/arrow/array"
	memory14 "github.com/apache/arrow/go/v14/arrow/memory"

	arrow18 "github.com/apache/arrow-go/v18/arrow"
	array18 "github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// random returns n values for an array of a type: few distinct ones, in runs, and nulls.
func random(rng *rand.Rand, t arrow14.DataType, n int) []any {
	out := make([]any, 0, n)
	for len(out) < n {
		v := randomValue(rng, t)
		for range min(n-len(out), 1+rng.IntN(7)) {
			out = append(out, v)
		}
	}
	return out
}

func randomValue(rng *rand.Rand, t arrow14.DataType) any {
	if rng.IntN(6) == 0 {
		return nil
	}
	small := rng.IntN(40)
	switch t := t.(type) {
	case *arrow14.NullType:
		return nil
	case *arrow14.BooleanType:
		return small%2 == 0
	case *arrow14.Int8Type, *arrow14.Int16Type, *arrow14.Int32Type, *arrow14.Int64Type, *arrow14.TimestampType:
		return int64(small) - 20
	case *arrow14.Uint8Type, *arrow14.Uint16Type, *arrow14.Uint32Type, *arrow14.Uint64Type:
		return uint64(small)
	case *arrow14.Float32Type, *arrow14.Float64Type:
		return []float64{float64(small) / 8, math.Inf(1), math.Copysign(0, -1)}[rng.IntN(3)]
	case *arrow14.StringType:
		return "pod-é"[:small%4]
	case *arrow14.BinaryType:
		return bin("\x00\xff\x01"[:small%4])
	case *arrow14.FixedSizeBinaryType:
		return bin(bytes.Repeat([]byte{byte(small)}, t.ByteWidth))
	case *arrow14.ListType:
		list := make([]any, 0, 3)
		for range small % 4 {
			v := randomValue(rng, t.Elem())
			if v == nil && !t.ElemField().Nullable {
				v = int64(small)
			}
			list = append(list, v)
		}
		return list
	case *arrow14.DictionaryType:
		return randomValue(rng, t.ValueType)
	case *arrow14.RunEndEncodedType:
		return randomValue(rng, t.Encoded())
	}
	panic(fmt.Sprintf("no values for %v", t))
}

// sameBuffers checks that all of the v18 data lies in the memory of the v14 data.
func sameBuffers(t *testing.T, want arrow14.ArrayData, got arrow18.ArrayData) (buffers int) {
	t.Helper()
	if len(want.Buffers()) != len(got.Buffers()) || len(want.Children()) != len(got.Children()) {
		t.Fatalf("%v: %d buffers, %d children, want %d, %d", want.DataType(),
			len(got.Buffers()), len(got.Children()), len(want.Buffers()), len(want.Children()))
	}
	for i, w := range want.Buffers() {
		g := got.Buffers()[i]
		if (w == nil) != (g == nil) {
			t.Errorf("%v: buffer %d: nil %t, want %t", want.DataType(), i, g == nil, w == nil)
		}
		if w == nil || g == nil {
			continue
		}
		if w.Len() != g.Len() || w.Len() > 0 && &w.Bytes()[0] != &g.Bytes()[0] {
			t.Errorf("%v: buffer %d is of other memory", want.DataType(), i)
		}
		buffers++
	}
	for i, w := range want.Children() {
		buffers += sameBuffers(t, w, got.Children()[i])
	}
	if d, ok := want.Dictionary().(*array14.Data); ok && d != nil {
		buffers += sameBuffers(t, d, got.Dictionary())
	}
	return buffers
}

// viaIPC writes a record as a v18 stream, after a part of it, and checks that it is read back
// equal.
func viaIPC(t *testing.T, rec arrow18.RecordBatch) {
	t.Helper()
	if slices.ContainsFunc(rec.Schema().Fields(), func(f arrow18.Field) bool { return beyondIPC(f.Type) }) {
		return
	}
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(rec.Schema()))
	part := rec.NewSlice(rec.NumRows()/2, rec.NumRows())
	defer part.Release()
	for _, r := range []arrow18.RecordBatch{part, rec} {
		if err := w.Write(r); err != nil {
			t.Fatalf("IPC: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(&stream)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for _, want := range []arrow18.RecordBatch{part, rec} {
		if !r.Next() {
			t.Fatalf("IPC ended early: %v", r.Err())
		}
		if !array18.RecordEqual(want, r.RecordBatch()) {
			t.Errorf("IPC: got %v, want %v", r.RecordBatch(), want)
		}
	}
	if !r.Schema().Equal(rec.Schema()) {
		t.Errorf("IPC: schema %v, want %v", r.Schema(), rec.Schema())
	}
}

// beyondIPC reports whether a type has a dictionary of runs, which v18.8.0 writes but cannot
// read ("slice bounds out of range"), or a dictionary of a dictionary, which the format cannot
// express.
func beyondIPC(t arrow18.DataType) bool {
	if d, ok := t.(*arrow18.DictionaryType); ok {
		return strings.Contains(d.ValueType.String(), "run_end_encoded") || d.ValueType.ID() == arrow18.DICTIONARY
	}
	n, ok := t.(arrow18.NestedType)
	return ok && slices.ContainsFunc(n.Fields(), func(f arrow18.Field) bool { return beyondIPC(f.Type) })
}

// checkBridge bridges a record, checks every property of the result, and releases both sides.
// want are the values by column.
func checkBridge(t *testing.T, rec arrow14.Record, want [][]any, v14First bool) {
	t.Helper()
	got, err := Record(rec)
	if err != nil {
		rec.Release()
		t.Fatal(err)
	}
	for i, values := range want {
		sameBuffers(t, rec.Column(i).Data(), got.Column(i).Data())
		diff(t, "v14", values, rows14(rec.Column(i)))
	}
	if v14First {
		rec.Release()
	} else {
		defer rec.Release()
	}
	defer got.Release()
	if got.NumRows() != int64(len(want[0])) {
		t.Errorf("%d rows, want %d", got.NumRows(), len(want[0]))
	}
	if err := array18.ValidateRecordFull(got); err != nil {
		t.Error(err)
	}
	for i, values := range want {
		column := got.Column(i)
		diff(t, fmt.Sprint("v18: ", column.DataType()), values, rows18(column))
		if !arrow18.TypeEqual(column.DataType(), got.Schema().Field(i).Type, arrow18.CheckMetadata()) {
			t.Errorf("column of %v in a field of %v", column.DataType(), got.Schema().Field(i).Type)
		}
	}
	viaIPC(t, got)
}

// TestRecord bridges arrays of all types, whole and sliced.
func TestRecord(t *testing.T) {
	const n = 400
	spans := [][2]int64{{0, n}, {0, 0}, {n, n}, {1, n}, {0, n - 1}, {137, 311}, {200, 201}}
	for i, typ := range bridged() {
		t.Run(typ.String(), func(t *testing.T) {
			values := random(rand.New(rand.NewPCG(uint64(i), 1)), typ, n)
			for _, span := range spans {
				for _, v14First := range []bool{true, false} {
					mem := checked(t)
					whole := recordOf(build(mem, typ, values))
					rec := whole.NewSlice(span[0], span[1])
					whole.Release()
					checkBridge(t, rec, [][]any{values[span[0]:span[1]]}, v14First)
					if mem.CurrentAlloc() != 0 {
						t.Fatalf("%v: %d bytes are left", span, mem.CurrentAlloc())
					}
				}
			}
		})
	}
}

// Arrays that never had a row may have no buffers at all.
func TestRecordOfNothing(t *testing.T) {
	for _, typ := range bridged() {
		mem := checked(t)
		checkBridge(t, recordOf(build(mem, typ, nil)), [][]any{{}}, true)
	}
	empty := array14.NewRecord(arrow14.NewSchema(nil, nil), nil, 3)
	defer empty.Release()
	got, err := Record(empty)
	if err != nil || got.NumRows() != 3 || got.NumCols() != 0 {
		t.Errorf("a record without columns: %v, %v", got, err)
	}
}

// Empty text and lists may have no offset, in a buffer of no byte.
func TestRecordWithoutOffsets(t *testing.T) {
	noInts := data(arrow14.PrimitiveTypes.Int64, 0, 0, []int{-1, 0})
	for _, d := range []*array14.Data{
		data(arrow14.BinaryTypes.String, 0, 0, []int{-1, 0, 0}),
		data(arrow14.ListOf(arrow14.PrimitiveTypes.Int64), 0, 0, []int{-1, 0}, noInts),
	} {
		checkBridge(t, recordOf(array14.MakeFromData(d)), [][]any{{}}, true)
	}
}

// Run ends, values and dictionaries may be slices of their own.
func TestRecordOfSlicedChildren(t *testing.T) {
	mem := checked(t)
	slice := func(typ arrow14.DataType, lo, hi int64, values ...any) arrow14.Array {
		whole := build(mem, typ, values)
		defer whole.Release()
		return array14.NewSlice(whole, lo, hi)
	}
	for _, typ := range []arrow14.DataType{arrow14.PrimitiveTypes.Int16, arrow14.PrimitiveTypes.Int32, arrow14.PrimitiveTypes.Int64} {
		ends := slice(typ, 1, 3, int64(9), int64(2), int64(4), int64(1))
		runs := slice(arrow14.BinaryTypes.String, 2, 4, "a", "b", "c", nil)
		column := array14.NewRunEndEncodedArray(ends, runs, 4, 0)
		ends.Release()
		runs.Release()
		checkBridge(t, recordOf(column), [][]any{{"c", "c", nil, nil}}, true)
	}
	indexes := slice(arrow14.PrimitiveTypes.Uint32, 1, 4, uint64(0), uint64(1), nil, uint64(0))
	dict := slice(uuidList14, 1, 3, []any{}, []any{bin("0123456789abcdef")}, []any{nil})
	column := array14.NewDictionaryArray(dict14(uuidList14), indexes, dict)
	indexes.Release()
	dict.Release()
	checkBridge(t, recordOf(column), [][]any{{[]any{nil}, nil, []any{bin("0123456789abcdef")}}}, false)
}

// A slice of a slice, all types in one record, and slices made on the v18 side.
func TestRecordOfManyColumns(t *testing.T) {
	mem := checked(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var columns []arrow14.Array
	var want [][]any
	for _, typ := range bridged() {
		if strings.HasPrefix(typ.String(), "dictionary<values=run_end") {
			continue // see beyondIPC
		}
		values := random(rng, typ, 300)
		columns = append(columns, build(mem, typ, values))
		want = append(want, values[60:240])
	}
	whole := recordOf(columns...)
	half := whole.NewSlice(10, 290)
	whole.Release()
	checkBridge(t, func() arrow14.Record { defer half.Release(); return half.NewSlice(50, 230) }(), want, true)
}

// A slice made on the v18 side of a slice made on the v14 side, both in the middle of runs,
// outlives all others.
func TestSliceOfBridged(t *testing.T) {
	mem := checked(t)
	values := random(rand.New(rand.NewPCG(9, 9)), uuidList14, 300)
	whole := recordOf(build(mem, runs14(dict14(uuidList14)), values))
	rec := whole.NewSlice(55, 255)
	whole.Release()
	got, err := Record(rec)
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	part := got.NewSlice(33, 99)
	got.Release()
	defer part.Release()
	diff(t, "slice", values[88:154], rows18(part.Column(0)))
}

// The references of a record are dropped with its last array, not before.
func TestRecordHoldsWhatItNeeds(t *testing.T) {
	mem := checked(t)
	rec := recordOf(build(mem, runs14(dict14(uuidList14)), random(rand.New(rand.NewPCG(3, 4)), uuidList14, 100)))
	size := mem.CurrentAlloc()
	got, err := Record(rec)
	if err != nil {
		t.Fatal(err)
	}
	if mem.CurrentAlloc() != size {
		t.Errorf("bridging took %d bytes of the allocator", mem.CurrentAlloc()-size)
	}
	rec.Release()
	lists := got.Column(0).(*array18.RunEndEncoded).Values().(*array18.Dictionary).Dictionary()
	lists.Retain()
	want := rows18(lists)
	got.Release()
	if left := mem.CurrentAlloc(); left == 0 || left >= size {
		t.Errorf("%d of %d bytes are held by the dictionary", left, size)
	}
	diff(t, "the dictionary alone", want, rows18(lists))
	lists.Release()
}

// Invariant B5: eight goroutines bridge, read, slice and release one record.
func TestRecordAtOnce(t *testing.T) {
	mem := checked(t)
	var columns []arrow14.Array
	var want [][]any
	for i, typ := range bridged() {
		values := random(rand.New(rand.NewPCG(5, uint64(i))), typ, 64)
		whole := build(mem, typ, values)
		columns = append(columns, array14.NewSlice(whole, 3, 61)) // their nulls are not counted
		whole.Release()
		want = append(want, values[3:61])
	}
	rec := recordOf(columns...)
	shared, err := Record(rec)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 30 {
				atOnce(t, rec, shared, want, int64((g+i)%len(want)))
			}
		})
	}
	wg.Wait()
	rec.Release()
	shared.Release()
}

func atOnce(t *testing.T, rec arrow14.Record, shared arrow18.RecordBatch, want [][]any, from int64) {
	own, err := Record(rec)
	if err != nil {
		t.Error(err)
		return
	}
	defer own.Release()
	for _, r := range []arrow18.RecordBatch{own, shared} {
		r.Retain()
		part := r.NewSlice(from, 58)
		column := r.Column(int(from))
		column.Retain()
		diff(t, "values", want[from][from:], rows18(part.Column(int(from))))
		diff(t, "values", want[from], rows18(column))
		if n := column.NullN(); n < 0 { // counted when bridged: reading it writes nothing
			t.Errorf("%d nulls", n)
		}
		part.Release()
		r.Release()
		column.Release()
	}
}

// Reading a bridged record writes nothing. The readers neither retain nor compare, since that
// would synchronize them, which hides races.
func TestReadAtOnce(t *testing.T) {
	mem := checked(t)
	var columns []arrow14.Array
	var want [][]any
	for i, typ := range bridged() {
		values := random(rand.New(rand.NewPCG(6, uint64(i))), typ, 40)
		whole := build(mem, typ, values)
		columns = append(columns, array14.NewSlice(whole, 3, 40))
		whole.Release()
		want = append(want, values[3:])
	}
	rec := recordOf(columns...)
	got, err := Record(rec)
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	var wg sync.WaitGroup
	read := make([][][]any, 8)
	nulls := make([]int, 8)
	for g := range read {
		wg.Go(func() {
			for _, c := range got.Columns() {
				read[g] = append(read[g], rows18(c))
				nulls[g] += c.NullN()
			}
		})
	}
	wg.Wait()
	for g := range read {
		diff(t, "values", want, read[g])
		if nulls[g] == 0 || nulls[g] != nulls[0] {
			t.Errorf("%d nulls, %d nulls", nulls[g], nulls[0])
		}
	}
	got.Release()
}

// A buffer that is resized against the rules moves to memory of its own: the v14 side stays
// unchanged and gets its reference back once.
func TestResizedBuffer(t *testing.T) {
	for _, v14First := range []bool{true, false} {
		mem := checked(t)
		rec := recordOf(build(mem, arrow14.PrimitiveTypes.Int64, []any{int64(1), int64(2)}))
		size := mem.CurrentAlloc()
		got, err := Record(rec)
		if err != nil {
			t.Fatal(err)
		}
		b := got.Column(0).Data().Buffers()[1]
		b.Resize(1 << 10)
		if b.Bytes()[0] != 1 || b.Bytes()[8] != 2 {
			t.Error("the bytes did not move")
		}
		b.Bytes()[0] = 77
		diff(t, "v14", []any{int64(1), int64(2)}, rows14(rec.Column(0)))
		if v14First {
			rec.Release()
			if mem.CurrentAlloc() >= size {
				t.Error("the reference was not given back")
			}
			got.Release()
			continue
		}
		got.Release()
		if mem.CurrentAlloc() != size {
			t.Error("the reference was given back twice")
		}
		rec.Release()
	}
}

// Invariant B4: the number of allocations depends on the types alone.
func TestAllocations(t *testing.T) {
	for _, typ := range append(bridged(), arrow14.DataType(nil)) {
		allocs := map[int]float64{}
		for _, n := range []int{100, 100_000} {
			types := []arrow14.DataType{typ}
			if typ == nil { // many columns
				types = []arrow14.DataType{arrow14.PrimitiveTypes.Int64, runs14(dict14(arrow14.BinaryTypes.String)), dict14(uuidList14)}
			}
			var columns []arrow14.Array
			for _, typ := range types {
				if r, ok := typ.(*arrow14.RunEndEncodedType); ok && r.RunEnds().ID() == arrow14.INT16 {
					n = min(n, 30_000)
				}
				values := slices.Repeat(random(rand.New(rand.NewPCG(7, 8)), typ, 100), n/100)
				columns = append(columns, build(memory14.DefaultAllocator, typ, values))
			}
			rec := recordOf(columns...)
			allocs[n] = testing.AllocsPerRun(20, func() {
				got, err := Record(rec)
				if err != nil {
					t.Fatal(err)
				}
				got.Release()
			})
			rec.Release()
		}
		for n, a := range allocs {
			if a != allocs[100] || a > 150 {
				t.Errorf("%v: %v allocations for %d rows, %v for 100", typ, a, n, allocs[100])
			}
		}
	}
}
