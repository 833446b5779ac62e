package arrow18

import (
	"math/rand/v2"
	"testing"

	arrow14 "github.com/apache/arrow/go/v14/arrow"
	array14 "github.com/apache/arrow/go/v14/arrow/array"
	memory14 "github.com/apache/arrow/go/v14/arrow/memory"

	array18 "github.com/apache/arrow-go/v18/arrow/array"
)

// typeOf makes a type of bytes, nested at most to depth, and returns the bytes left.
func typeOf(text []byte, depth int) (arrow14.DataType, []byte) {
	flat := []arrow14.DataType{
		arrow14.PrimitiveTypes.Int64, arrow14.FixedWidthTypes.Boolean, arrow14.BinaryTypes.String, uuid14, float64s14, nano14,
		arrow14.PrimitiveTypes.Uint64, arrow14.PrimitiveTypes.Int8, arrow14.BinaryTypes.Binary, arrow14.Null, arrow14.PrimitiveTypes.Uint16,
	}
	if len(text) == 0 {
		return flat[0], nil
	}
	kind, rest := int(text[0]), text[1:]
	if kind >= 128 && depth > 0 {
		of, rest := typeOf(rest, depth-1)
		switch kind % 5 {
		case 0:
			return dict14(of), rest
		case 1:
			return arrow14.ListOf(of), rest
		case 2:
			return arrow14.RunEndEncodedOf(arrow14.PrimitiveTypes.Int16, of), rest
		case 3:
			return arrow14.RunEndEncodedOf(arrow14.PrimitiveTypes.Int64, of), rest
		default:
			return runs14(of), rest
		}
	}
	return flat[kind%len(flat)], rest
}

// FuzzRecord bridges records of random types, rows and slices.
func FuzzRecord(f *testing.F) {
	f.Add([]byte{0}, uint64(1), uint16(10), uint16(3), uint16(7))
	f.Add([]byte{129, 130, 3}, uint64(2), uint16(300), uint16(0), uint16(300))
	f.Add([]byte{132, 130, 131, 2}, uint64(3), uint16(99), uint16(98), uint16(99))
	f.Add([]byte{134, 131, 130, 2, 131, 3, 5, 129, 9}, uint64(4), uint16(500), uint16(250), uint16(251))
	f.Fuzz(func(t *testing.T, types []byte, seed uint64, rows, lo, hi uint16) {
		mem := checked(t)
		n := int64(rows % 1000)
		from := int64(lo) % (n + 1)
		to := from + int64(hi)%(n-from+1)
		rng := rand.New(rand.NewPCG(seed, 0))
		var columns []arrow14.Array
		var want [][]any
		for len(columns) < 4 {
			var typ arrow14.DataType
			typ, types = typeOf(types, 4)
			values := random(rng, typ, int(n))
			columns = append(columns, build(mem, typ, values))
			want = append(want, values[from:to])
			if len(types) == 0 {
				break
			}
		}
		whole := recordOf(columns...)
		rec := whole.NewSlice(from, to)
		whole.Release()
		checkBridge(t, rec, want, seed%2 == 0)
	})
}

// FuzzForged bridges arrays with arbitrary numbers and buffers. They are refused, or bridged
// into arrays that are valid to v18; nothing panics.
func FuzzForged(f *testing.F) {
	f.Add([]byte{0}, int64(3), int64(0), []byte("validity"), make([]byte, 24), []byte{})
	f.Add([]byte{2}, int64(2), int64(0), []byte{3}, []byte{0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0}, []byte("abc"))
	f.Add([]byte{129, 0}, int64(1), int64(1), []byte{}, make([]byte, 16), []byte("12345678"))
	f.Add([]byte{129, 2}, int64(2), int64(0), []byte{}, []byte{1, 0, 0, 0, 2, 0, 0, 0}, []byte("12345678"))
	f.Add([]byte{130, 0}, int64(9), int64(5), []byte{7}, make([]byte, 36), make([]byte, 16))
	f.Fuzz(func(t *testing.T, types []byte, length, offset int64, validity, values, more []byte) {
		typ, _ := typeOf(types, 2)
		rec := forgedRecord(typ, int(length), int(offset), validity, values, more)
		got, err := Record(rec)
		if err != nil {
			return
		}
		defer got.Release()
		if err := array18.ValidateRecord(got); err != nil {
			t.Errorf("%v: %v", typ, err)
		}
	})
}

// forgedRecord makes data of a type with the given bytes as buffers, on each level.
func forgedRecord(typ arrow14.DataType, length, offset int, buffers ...[]byte) arrow14.Record {
	d := forgedData(typ, length, offset, buffers)
	schema := arrow14.NewSchema([]arrow14.Field{{Name: "forged", Type: typ}}, nil)
	return forgedRows{array14.NewRecord(schema, []arrow14.Array{forged{typ: typ, data: d}}, 1), d}
}

// forgedRows is a record with the length of its only column.
type forgedRows struct {
	arrow14.Record
	data *array14.Data
}

func (r forgedRows) NumRows() int64 { return int64(r.data.Len()) }
func (r forgedRows) Column(int) arrow14.Array {
	return forgedColumn{forged{typ: r.data.DataType(), data: r.data}}
}

// forgedColumn has the length of its data.
type forgedColumn struct{ forged }

func (c forgedColumn) Len() int { return c.data.Len() }

func forgedData(typ arrow14.DataType, length, offset int, from [][]byte) *array14.Data {
	buffers := make([]*memory14.Buffer, 0, 3)
	for _, b := range from {
		if len(b) == 0 {
			buffers = append(buffers, nil)
			continue
		}
		aligned := memory14.DefaultAllocator.Allocate(len(b))
		copy(aligned, b)
		buffers = append(buffers, memory14.NewBufferBytes(aligned))
	}
	small := len(from[1]) / 8
	switch t := typ.(type) {
	case *arrow14.ListType:
		child := forgedData(t.Elem(), small, 0, [][]byte{nil, from[1], from[2]})
		return array14.NewData(t, length, buffers[:2], []arrow14.ArrayData{child}, 0, offset)
	case *arrow14.RunEndEncodedType:
		ends := forgedData(t.RunEnds(), small, 0, [][]byte{from[0], from[1], nil})
		runs := forgedData(t.Encoded(), small, 0, [][]byte{nil, from[2], from[1]})
		return array14.NewData(t, length, []*memory14.Buffer{nil}, []arrow14.ArrayData{ends, runs}, 0, offset)
	case *arrow14.DictionaryType:
		dict := forgedData(t.ValueType, small, 0, [][]byte{nil, from[1], from[2]})
		return array14.NewDataWithDictionary(t, length, buffers[:2], 0, offset, dict)
	case *arrow14.StringType, *arrow14.BinaryType:
		return array14.NewData(t, length, buffers, nil, 0, offset)
	case *arrow14.NullType:
		return array14.NewData(t, length, buffers[:1], nil, 0, offset)
	}
	return array14.NewData(typ, length, buffers[:2], nil, 0, offset)
}
