package arrow18

import (
	"fmt"
	"reflect"
	"sort"
	"testing"

	arrow14 "github.com/apache/arrow/go/v14/arrow"
	array14 "github.com/apache/arrow/go/v14/arrow/array"
	memory14 "github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	arrow18 "github.com/apache/arrow-go/v18/arrow"
	array18 "github.com/apache/arrow-go/v18/arrow/array"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// checked returns an allocator that fails the test if memory is left in it.
func checked(t testing.TB) *memory14.CheckedAllocator {
	mem := memory14.NewCheckedAllocator(memory14.NewGoAllocator())
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

// bin is binary data, a type of its own so that cmp distinguishes it from strings.
type bin string

// build makes a v14 array of Go values, nil for null: bool, int64 (also for timestamps),
// uint64, float64, string, bin, and []any for lists. Equal neighbors form a run, and
// dictionaries are in order of first use.
func build(mem memory14.Allocator, t arrow14.DataType, values []any) arrow14.Array {
	switch t := t.(type) {
	case *arrow14.ListType:
		return buildLists(mem, t, values)
	case *arrow14.DictionaryType:
		return buildDictionary(mem, t, values)
	case *arrow14.RunEndEncodedType:
		return buildRuns(mem, t, values)
	}
	b := array14.NewBuilder(mem, t)
	defer b.Release()
	for _, v := range values {
		if v == nil {
			b.AppendNull()
			continue
		}
		appendValue(b, v)
	}
	return b.NewArray()
}

func appendValue(b array14.Builder, v any) {
	switch b := b.(type) {
	case *array14.BooleanBuilder:
		b.Append(v.(bool))
	case *array14.Int8Builder:
		b.Append(int8(v.(int64)))
	case *array14.Int16Builder:
		b.Append(int16(v.(int64)))
	case *array14.Int32Builder:
		b.Append(int32(v.(int64)))
	case *array14.Int64Builder:
		b.Append(v.(int64))
	case *array14.TimestampBuilder:
		b.Append(arrow14.Timestamp(v.(int64)))
	case *array14.Uint8Builder:
		b.Append(uint8(v.(uint64)))
	case *array14.Uint16Builder:
		b.Append(uint16(v.(uint64)))
	case *array14.Uint32Builder:
		b.Append(uint32(v.(uint64)))
	case *array14.Uint64Builder:
		b.Append(v.(uint64))
	case *array14.Float32Builder:
		b.Append(float32(v.(float64)))
	case *array14.Float64Builder:
		b.Append(v.(float64))
	case *array14.StringBuilder:
		b.Append(v.(string))
	case *array14.BinaryBuilder:
		b.Append([]byte(v.(bin)))
	case *array14.FixedSizeBinaryBuilder:
		b.Append([]byte(v.(bin)))
	default:
		panic(fmt.Sprintf("no builder for %v", b.Type()))
	}
}

func buildLists(mem memory14.Allocator, t *arrow14.ListType, values []any) arrow14.Array {
	var flat []any
	offsets := array14.NewInt32Builder(mem)
	defer offsets.Release()
	validity := array14.NewBooleanBuilder(mem) // its values are the bitmap
	defer validity.Release()
	offsets.Append(0)
	for _, v := range values {
		list, _ := v.([]any)
		flat = append(flat, list...)
		offsets.Append(int32(len(flat)))
		validity.Append(v != nil)
	}
	elems := build(mem, t.Elem(), flat)
	defer elems.Release()
	ends := offsets.NewArray()
	defer ends.Release()
	valid := validity.NewArray()
	defer valid.Release()
	buffers := []*memory14.Buffer{valid.Data().Buffers()[1], ends.Data().Buffers()[1]}
	data := array14.NewData(t, len(values), buffers, []arrow14.ArrayData{elems.Data()}, array14.UnknownNullCount, 0)
	defer data.Release()
	return array14.NewListData(data)
}

func buildDictionary(mem memory14.Allocator, t *arrow14.DictionaryType, values []any) arrow14.Array {
	var unique []any
	known := map[any]int{}
	indexes := array14.NewBuilder(mem, t.IndexType)
	defer indexes.Release()
	for _, v := range values {
		if v == nil {
			indexes.AppendNull()
			continue
		}
		key := v
		if list, ok := v.([]any); ok {
			key = fmt.Sprintf("%#v", list)
		}
		at, ok := known[key]
		if !ok {
			at = len(unique)
			known[key] = at
			unique = append(unique, v)
		}
		if arrow14.IsUnsignedInteger(t.IndexType.ID()) {
			appendValue(indexes, uint64(at))
		} else {
			appendValue(indexes, int64(at))
		}
	}
	dict := build(mem, t.ValueType, unique)
	defer dict.Release()
	at := indexes.NewArray()
	defer at.Release()
	return array14.NewDictionaryArray(t, at, dict)
}

func buildRuns(mem memory14.Allocator, t *arrow14.RunEndEncodedType, values []any) arrow14.Array {
	var runs []any
	ends := array14.NewBuilder(mem, t.RunEnds())
	defer ends.Release()
	for i, v := range values {
		if i+1 == len(values) || !reflect.DeepEqual(v, values[i+1]) {
			runs = append(runs, v)
			appendValue(ends, int64(i+1))
		}
	}
	of := build(mem, t.Encoded(), runs)
	defer of.Release()
	at := ends.NewArray()
	defer at.Release()
	data := array14.NewData(t, len(values), []*memory14.Buffer{nil}, []arrow14.ArrayData{at.Data(), of.Data()}, 0, 0)
	defer data.Release()
	return array14.NewRunEndEncodedData(data)
}

// read14 returns row i of a v14 array in the form of build.
func read14(a arrow14.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array14.Null:
		return nil
	case *array14.Boolean:
		return a.Value(i)
	case *array14.Int8:
		return int64(a.Value(i))
	case *array14.Int16:
		return int64(a.Value(i))
	case *array14.Int32:
		return int64(a.Value(i))
	case *array14.Int64:
		return a.Value(i)
	case *array14.Timestamp:
		return int64(a.Value(i))
	case *array14.Uint8:
		return uint64(a.Value(i))
	case *array14.Uint16:
		return uint64(a.Value(i))
	case *array14.Uint32:
		return uint64(a.Value(i))
	case *array14.Uint64:
		return a.Value(i)
	case *array14.Float32:
		return float64(a.Value(i))
	case *array14.Float64:
		return a.Value(i)
	case *array14.String:
		return a.Value(i)
	case *array14.Binary:
		return bin(a.Value(i))
	case *array14.FixedSizeBinary:
		return bin(a.Value(i))
	case *array14.List:
		lo, hi := a.ValueOffsets(i)
		list := make([]any, 0, hi-lo)
		for ; lo < hi; lo++ {
			list = append(list, read14(a.ListValues(), int(lo)))
		}
		return list
	case *array14.Dictionary:
		return read14(a.Dictionary(), a.GetValueIndex(i))
	case *array14.RunEndEncoded:
		return read14(a.Values(), sort.Search(a.RunEndsArr().Len(), func(run int) bool {
			return read14(a.RunEndsArr(), run).(int64) > int64(a.Offset()+i)
		}))
	}
	panic(fmt.Sprintf("cannot read %v", a.DataType()))
}

// read18 returns row i of a v18 array in the form of build.
func read18(a arrow18.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array18.Null:
		return nil
	case *array18.Boolean:
		return a.Value(i)
	case *array18.Int8:
		return int64(a.Value(i))
	case *array18.Int16:
		return int64(a.Value(i))
	case *array18.Int32:
		return int64(a.Value(i))
	case *array18.Int64:
		return a.Value(i)
	case *array18.Timestamp:
		return int64(a.Value(i))
	case *array18.Uint8:
		return uint64(a.Value(i))
	case *array18.Uint16:
		return uint64(a.Value(i))
	case *array18.Uint32:
		return uint64(a.Value(i))
	case *array18.Uint64:
		return a.Value(i)
	case *array18.Float32:
		return float64(a.Value(i))
	case *array18.Float64:
		return a.Value(i)
	case *array18.String:
		return a.Value(i)
	case *array18.Binary:
		return bin(a.Value(i))
	case *array18.FixedSizeBinary:
		return bin(a.Value(i))
	case *array18.List:
		lo, hi := a.ValueOffsets(i)
		list := make([]any, 0, hi-lo)
		for ; lo < hi; lo++ {
			list = append(list, read18(a.ListValues(), int(lo)))
		}
		return list
	case *array18.Dictionary:
		return read18(a.Dictionary(), a.GetValueIndex(i))
	case *array18.RunEndEncoded:
		return read18(a.Values(), a.GetPhysicalIndex(i))
	}
	panic(fmt.Sprintf("cannot read %v", a.DataType()))
}

// rows14 reads a whole v14 array.
func rows14(a arrow14.Array) []any {
	out := make([]any, a.Len())
	for i := range out {
		out[i] = read14(a, i)
	}
	return out
}

// rows18 reads a whole v18 array.
func rows18(a arrow18.Array) []any {
	out := make([]any, a.Len())
	for i := range out {
		out[i] = read18(a, i)
	}
	return out
}

// recordOf makes a record with columns "0", "1" and so on, and releases them.
func recordOf(columns ...arrow14.Array) arrow14.Record {
	fields := make([]arrow14.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow14.Field{Name: fmt.Sprint(i), Type: c.DataType(), Nullable: true}
	}
	rec := array14.NewRecord(arrow14.NewSchema(fields, nil), columns, int64(columns[0].Len()))
	for _, c := range columns {
		c.Release()
	}
	return rec
}

func diff(t testing.TB, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
