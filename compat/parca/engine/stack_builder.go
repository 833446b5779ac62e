package engine

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// stackBuilder builds a column of stacks of encoded locations:
//
//	offsets  0 3 5        of the stacks
//	indexes  0 1 2 3 2    of their locations
//	dict     a b c d      distinct locations: bytes, and the ends of each
type stackBuilder struct {
	offsets []int32
	valid   []byte
	nulls   int
	indexes []uint32
	ends    []int32
	bytes   []byte
}

// newStackBuilder returns a builder with room for stacks in `rows` rows, with `depth` locations each.
func newStackBuilder(rows, depth int) *stackBuilder {
	return &stackBuilder{
		offsets: append(make([]int32, 0, rows+1), 0), valid: make([]byte, bitutil.BytesForBits(int64(rows))),
		indexes: make([]uint32, 0, rows*depth), ends: []int32{0},
	}
}

// addLocation adds a location to the dictionary and returns its index.
func (b *stackBuilder) addLocation(encoded []byte) int {
	b.bytes = append(b.bytes, encoded...)
	b.ends = append(b.ends, int32(len(b.bytes)))
	return len(b.ends) - 2
}

// add adds a location in the dictionary to the current stack.
func (b *stackBuilder) add(index uint32) { b.indexes = append(b.indexes, index) }

// end ends the current stack.
func (b *stackBuilder) end() {
	bitutil.SetBit(b.valid, len(b.offsets)-1)
	b.offsets = append(b.offsets, int32(len(b.indexes)))
}

// endNull ends a row without a stack.
func (b *stackBuilder) endNull() {
	b.nulls++
	b.offsets = append(b.offsets, int32(len(b.indexes)))
}

// list returns the column. The builder must not be used again.
func (b *stackBuilder) list() *array.List {
	dict := array.NewData(arrow.BinaryTypes.Binary, len(b.ends)-1, buffers(nil, arrow.Int32Traits.CastToBytes(b.ends), b.bytes), nil, 0, 0)
	defer dict.Release()
	values := array.NewDataWithDictionary(textType, len(b.indexes), buffers(nil, arrow.Uint32Traits.CastToBytes(b.indexes)), 0, 0, dict)
	defer values.Release()
	rows := len(b.offsets) - 1
	data := array.NewData(arrow.ListOf(textType), rows, buffers(b.valid, arrow.Int32Traits.CastToBytes(b.offsets)), []arrow.ArrayData{values}, b.nulls, 0)
	defer data.Release()
	return array.NewListData(data)
}

// buffers returns Arrow's buffers over slices. A nil valid is no buffer.
func buffers(valid []byte, rest ...[]byte) []*memory.Buffer {
	out := make([]*memory.Buffer, 1, len(rest)+1)
	if valid != nil {
		out[0] = memory.NewBufferBytes(valid)
	}
	for _, b := range rest {
		out = append(out, memory.NewBufferBytes(b))
	}
	return out
}
