package arrowconv

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// victim is a small valid record of one column, made to be damaged: all its
// buffers are its own and have not one byte more than they need.
type victim struct {
	typ   encoding.Type
	table *schema.Schema
	array arrow.Array
	nodes []*array.Data // the column, its children and dictionaries, and theirs
}

// victims returns a damageable copy of each form that Batch takes, whole and
// as a slice.
func victims(t testing.TB) []func() *victim {
	var out []func() *victim
	for _, c := range inCases() {
		whole := c.make(t, memory.NewGoAllocator())
		table := tableOf(t, c.typ)
		for _, lo := range []int64{0, 1} {
			part := array.NewSlice(whole, lo, int64(whole.Len())).Data().(*array.Data)
			out = append(out, func() *victim {
				v := &victim{typ: c.typ, table: table}
				v.array = array.MakeFromData(v.copy(part))
				return v
			})
		}
	}
	return out
}

// copy copies array data, trims its buffers and notes it in nodes.
func (v *victim) copy(d *array.Data) *array.Data {
	var buffers []*memory.Buffer
	for i, b := range d.Buffers() {
		if b != nil {
			b = memory.NewBufferBytes(append([]byte{}, b.Bytes()[:needed(d, i)]...))
		}
		buffers = append(buffers, b)
	}
	at := len(v.nodes)
	v.nodes = append(v.nodes, nil)
	var children []arrow.ArrayData
	for _, c := range d.Children() {
		children = append(children, v.copy(c.(*array.Data)))
	}
	out := array.NewData(d.DataType(), d.Len(), buffers, children, d.NullN(), d.Offset())
	if dict := d.Dictionary().(*array.Data); dict != nil {
		out.SetDictionary(v.copy(dict))
	}
	v.nodes[at] = out
	return out
}

// needed returns how many bytes of a buffer its array uses.
func needed(d *array.Data, buffer int) int {
	end := d.Offset() + d.Len()
	have := d.Buffers()[buffer].Len()
	switch {
	case buffer == 0 && have == 0:
		return 0
	case buffer == 0:
		return (end + 7) / 8
	case buffer == 2:
		return have
	}
	typ := d.DataType()
	if dict, ok := typ.(*arrow.DictionaryType); ok {
		typ = dict.IndexType
	}
	switch typ.ID() {
	case arrow.LARGE_LIST, arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return 8 * (end + 1)
	case arrow.LIST, arrow.STRING, arrow.BINARY:
		return 4 * (end + 1)
	}
	return (end*typ.(arrow.FixedWidthDataType).BitWidth() + 7) / 8
}

// batch reads the victim. It fails the test unless the answer is right in
// form: an ErrRecord, or a batch that Check can read (A3).
func (v *victim) batch(t testing.TB, what string) error {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.Null}}, nil)
	rec := &fakeRecord{array.NewRecord(s, nil, 0), v.array, 1, int64(v.nodes[0].Len())}
	batch, err := Batch(v.table, rec)
	if err != nil {
		if !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v is no ErrRecord", what, err)
		}
		return err
	}
	if values := batch.Columns["c"]; values.Len() != batch.Rows || batch.Rows != v.nodes[0].Len() {
		t.Errorf("%s: %d values for %d rows", what, values.Len(), batch.Rows)
	}
	if _, err := v.table.Check(&batch); err != nil {
		t.Errorf("%s: Check refuses what Batch took: %v", what, err)
	}
	return nil
}

// change replaces parts of a node behind the back of its array. Arrow's
// constructors would refuse some of it.
func change(d *array.Data, f func(*dataParts)) {
	p := dataParts{d.DataType(), d.Len(), append([]*memory.Buffer{}, d.Buffers()...), append([]arrow.ArrayData{}, d.Children()...), d.NullN(), d.Offset()}
	f(&p)
	d.Reset(p.typ, p.length, p.buffers, p.children, p.nulls, p.offset)
}

type dataParts struct {
	typ           arrow.DataType
	length        int
	buffers       []*memory.Buffer
	children      []arrow.ArrayData
	nulls, offset int
}

// wrongTypes is types that a node's buffers do not have, some of them broken.
var wrongTypes = []arrow.DataType{
	nil, (*arrow.FixedSizeBinaryType)(nil), (*arrow.ListType)(nil), (*arrow.LargeListType)(nil),
	(*arrow.DictionaryType)(nil), (*arrow.TimestampType)(nil), new(arrow.ListType), new(arrow.LargeListType),
	&arrow.DictionaryType{}, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8},
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int64, ValueType: arrow.BinaryTypes.String},
	&arrow.DictionaryType{IndexType: arrow.BinaryTypes.String, ValueType: arrow.BinaryTypes.String},
	arrow.ListOf(arrow.BinaryTypes.String), listType, largeList, uuidType, dictUUID, nanos,
	&arrow.FixedSizeBinaryType{}, &arrow.FixedSizeBinaryType{ByteWidth: -16}, arrow.Null,
	arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Boolean, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.String,
	arrow.StructOf(), arrow.MapOf(arrow.BinaryTypes.String, uuidType), arrow.FixedSizeListOf(2, uuidType),
	arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, uuidType),
}

// damages lists ways to break a node. Those marked fatal must be an error.
func damages(d *array.Data) map[string]func(*dataParts) {
	out := map[string]func(*dataParts){
		"no buffers":    func(p *dataParts) { p.buffers = nil },
		"a buffer more": func(p *dataParts) { p.buffers = append(p.buffers, nil) },
		"no children":   func(p *dataParts) { p.children = nil },
		"a child more":  func(p *dataParts) { p.children = append(p.children, array.NewData(uuidType, 0, nil, nil, 0, 0)) },
		"children absent": func(p *dataParts) {
			if len(p.children) > 0 {
				p.children = make([]arrow.ArrayData, len(p.children))
			}
		},
		"nulls": func(p *dataParts) { p.nulls = math.MaxInt },
	}
	for _, n := range []int{-1, 1, 9, 1 << 20, 1 << 40, math.MaxInt, math.MaxInt / 16, math.MinInt} {
		out[fmt.Sprintf("length %+d", n)] = func(p *dataParts) { p.length += n }
		out[fmt.Sprintf("offset %+d", n)] = func(p *dataParts) { p.offset += n }
		out[fmt.Sprintf("length and offset %+d", n)] = func(p *dataParts) { p.offset += n; p.length += n }
	}
	for i, b := range d.Buffers() {
		out[fmt.Sprintf("buffer %d absent", i)] = func(p *dataParts) { p.buffers[i] = nil }
		if b == nil {
			continue
		}
		for _, cut := range []int{1, 4, 8, 16, b.Len() - 1, b.Len()} {
			if cut <= b.Len() && cut > 0 {
				out[fmt.Sprintf("buffer %d cut by %d", i, cut)] = func(p *dataParts) {
					p.buffers[i] = memory.NewBufferBytes(b.Bytes()[: b.Len()-cut : b.Len()-cut])
				}
			}
		}
	}
	for i, typ := range wrongTypes {
		out[fmt.Sprintf("type %d", i)] = func(p *dataParts) { p.typ = typ }
	}
	return out
}

// TestHostileStructure breaks the structure of every node of every form in
// every way, and holds what it costs to a bound (A3, A5).
func TestHostileStructure(t *testing.T) {
	tried, refused := 0, 0
	for k, fresh := range victims(t) {
		if err := fresh().batch(t, "whole"); err != nil {
			t.Fatalf("victim %d: %v", k, err)
		}
		for node := range fresh().nodes {
			for name := range damages(fresh().nodes[node]) {
				v := fresh()
				change(v.nodes[node], damages(v.nodes[node])[name])
				what := fmt.Sprintf("victim %d (%v), node %d, %s", k, v.typ, node, name)
				tried++
				var err error
				bytes := allocated(func() { err = v.batch(t, what) })
				if err != nil {
					refused++
				}
				if bytes > 64<<10 {
					t.Errorf("%s: allocated %d bytes", what, bytes)
				}
			}
		}
	}
	t.Logf("%d records, %d refused", tried, refused)
	if refused < tried/2 {
		t.Errorf("only %d of %d refused", refused, tried)
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostileBytes changes every byte of every buffer of every form (A3).
func TestHostileBytes(t *testing.T) {
	tried := 0
	for k, fresh := range victims(t) {
		v := fresh()
		for node, d := range v.nodes {
			for i, b := range d.Buffers() {
				for at := range bytesOf(b) {
					for _, mask := range []byte{0x01, 0x80, 0xff} {
						b.Bytes()[at] ^= mask
						v.batch(t, fmt.Sprintf("victim %d (%v), node %d, buffer %d, byte %d, mask %#x", k, v.typ, node, i, at, mask))
						b.Bytes()[at] ^= mask
						tried++
					}
				}
			}
		}
		if err := v.batch(t, "restored"); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d records", tried)
}

func bytesOf(b *memory.Buffer) []byte {
	if b == nil {
		return nil
	}
	return b.Bytes()
}

// TestHostileCauses: each kind of damage is refused for its own reason.
func TestHostileCauses(t *testing.T) {
	str := fromJSON(arrow.BinaryTypes.String, `["ab", null, "c"]`)
	list := fromJSON(listType, `[[`+json1+`], null, [`+json2+`, `+json1+`]]`)
	large := fromJSON(arrow.BinaryTypes.LargeString, `["ab", "c"]`)
	coded := fromDict(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String, `[0, 1]`, `["a", "b"]`)
	buffer := func(i int, b ...byte) func(*dataParts) {
		return func(p *dataParts) { p.buffers[i] = memory.NewBufferBytes(b) }
	}
	cases := []struct {
		typ    encoding.Type
		make   func(testing.TB, memory.Allocator) arrow.Array
		node   int
		damage func(*dataParts)
		want   string
	}{
		{encoding.String, str, 0, func(p *dataParts) { p.length = -1 }, "-1 rows"},
		{encoding.String, str, 0, func(p *dataParts) { p.offset = -1 }, "length 3 and offset -1"},
		{encoding.String, str, 0, func(p *dataParts) { p.offset = math.MaxInt }, "length 3 and offset"},
		{encoding.String, str, 0, func(p *dataParts) { p.offset = 62 }, "null bitmap of"},
		{encoding.String, str, 0, buffer(1, make([]byte, 12)...), "offsets: buffer of 12 bytes for 4 values of 4"},
		{encoding.String, str, 0, buffer(1, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0), "offset 1 is 1, want 2 to 3"},
		{encoding.String, str, 0, buffer(1, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0), "offset 3 is 4, want 2 to 3"},
		{encoding.String, str, 0, buffer(1, 0, 0, 0, 0x80, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0), "offset 0 is -2147483648"},
		{encoding.String, large, 0, buffer(1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0), "offset 1 is 4294967297"},
		{encoding.String, str, 0, func(p *dataParts) { p.buffers = p.buffers[:2] }, "2 buffers, want 3"},
		{encoding.String, str, 0, func(p *dataParts) { p.typ = nil }, "array without data"},
		{encoding.String, coded, 0, buffer(1, 0, 2), "row 1: dictionary index 2, want less than 2"},
		{encoding.String, coded, 0, buffer(1, 0, 0x80), "row 1: dictionary index -128"},
		{encoding.String, coded, 0, buffer(1, 0), "dictionary indexes: buffer of 1 bytes for 2 values"},
		{encoding.String, coded, 0, func(p *dataParts) { p.typ = dictUUID }, "dictionary is missing or of another type"},
		{encoding.String, coded, 1, func(p *dataParts) { p.length = 1 << 40 }, "dictionary: "},
		{encoding.String, coded, 1, func(p *dataParts) { p.length = -1 }, "dictionary is missing"},
		{encoding.UUIDList, list, 1, func(p *dataParts) { p.length = 2 }, "offset 3 is 3, want 1 to 2"},
		{encoding.UUIDList, list, 1, func(p *dataParts) { p.buffers[1] = nil }, "elements: buffer of 0 bytes for 3 values of 16"},
		{encoding.UUIDList, list, 1, func(p *dataParts) { p.typ = dictUUID }, "elements are of another type"},
		{encoding.UUIDList, list, 0, func(p *dataParts) { p.typ = arrow.ListOf(dictUUID) }, "elements are of another type"},
		{encoding.UUIDList, list, 0, func(p *dataParts) { p.children = nil }, "0 children, want 1"},
		{encoding.UUIDList, list, 0, func(p *dataParts) { p.children = []arrow.ArrayData{nil} }, "elements: array without data"},
		{encoding.Bool, fromJSON(arrow.FixedWidthTypes.Boolean, `[true, true]`), 0, buffer(1), "buffer of 0 bytes for 2 bits"},
		{encoding.Float64, fromJSON(arrow.PrimitiveTypes.Float64, `[1, 2]`), 0, buffer(1, 0), "buffer of 1 bytes for 2 values of 8"},
		{encoding.UUID, fromJSON(uuidType, `[`+json1+`]`), 0, buffer(1, make([]byte, 15)...), "buffer of 15 bytes for 1 values of 16"},
	}
	for _, c := range cases {
		v := &victim{typ: c.typ, table: tableOf(t, c.typ)}
		v.array = array.MakeFromData(v.copy(c.make(t, memory.NewGoAllocator()).Data().(*array.Data)))
		change(v.nodes[c.node], c.damage)
		if err := v.batch(t, c.want); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Batch: %v; want %q", err, c.want)
		}
	}
}

// TestHostileNil: pointers that are nil inside interfaces that are not.
func TestHostileNil(t *testing.T) {
	coded := fromDict(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String, `[0, 1]`, `["a", "b"]`)
	v := &victim{typ: encoding.String, table: tableOf(t, encoding.String)}
	v.array = array.MakeFromData(v.copy(coded(t, memory.NewGoAllocator()).Data().(*array.Data)))
	v.nodes[0].SetDictionary((*array.Data)(nil))
	if err := v.batch(t, "no dictionary"); err == nil || !strings.Contains(err.Error(), "dictionary is missing") {
		t.Errorf("Batch: %v", err)
	}

	v = &victim{typ: encoding.UUIDList, table: tableOf(t, encoding.UUIDList)}
	v.array = array.MakeFromData(v.copy(arrayOf(t, memory.NewGoAllocator(), listType, `[[]]`).Data().(*array.Data)))
	v.nodes[0].Children()[0] = (*array.Data)(nil)
	if err := v.batch(t, "no child"); err == nil || !strings.Contains(err.Error(), "elements: array without data") {
		t.Errorf("Batch: %v", err)
	}
}
