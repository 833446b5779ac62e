package arrowconv

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// victim is a small valid record of one column, made to be damaged: all its
// buffers are its own and have not one byte more than they need.
type victim struct {
	memory Importer // used again after each damage
	typ    encoding.Type
	slice  bool
	table  *schema.Schema
	array  arrow.Array
	nodes  []*array.Data // the column, its children and dictionaries, and theirs
}

// victims returns a damageable copy of each form that Batch takes, whole and
// as a slice.
func victims(t testing.TB) []func() *victim {
	var out []func() *victim
	for _, c := range append(inCases(), runCases(inCases())...) {
		whole := c.make(t, memory.NewGoAllocator())
		table := tableOf(t, c.typ)
		for _, lo := range []int64{0, 1} {
			part := array.NewSlice(whole, lo, int64(whole.Len())).Data().(*array.Data)
			out = append(out, func() *victim {
				v := &victim{typ: c.typ, slice: lo > 0, table: table}
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
	batch, err := v.memory.Batch(v.table, rec)
	if err != nil {
		if !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v is no ErrRecord", what, err)
		}
		return err
	}
	if values := batch.Columns["c"]; values.Len() != batch.Rows && values.Len() != 1 || batch.Rows != v.nodes[0].Len() {
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
	arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int16, uuidType), arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, uuidType),
	arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String), arrow.RunEndEncodedOf(nil, nil),
	arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64), new(arrow.RunEndEncodedType),
	arrow.RunEndEncodedOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), (*arrow.RunEndEncodedType)(nil),
	(*arrow.LargeListType)(nil), (*arrow.SparseUnionType)(nil), (*arrow.DenseUnionType)(nil), (*arrow.MapType)(nil),
	(*arrow.StructType)(nil), (*arrow.FixedSizeListType)(nil), (*arrow.StringType)(nil), (*arrow.Int64Type)(nil),
}

// hugeNumbers are the changes to a length or an offset.
var hugeNumbers = []int{
	-1, 1, 9, 1 << 20, 1 << 30, math.MaxInt / 64, math.MaxInt / 16, math.MaxInt / 2, math.MaxInt, math.MinInt / 2, math.MinInt,
}

// deed is a way to break a node.
type deed struct {
	name string
	do   func(d *array.Data, p *dataParts)
}

// deeds lists ways to break nodes that look like d.
func deeds(d *array.Data) []deed {
	none := array.NewData(uuidType, 0, nil, nil, 0, 0)
	out := []deed{
		{"no buffers", func(_ *array.Data, p *dataParts) { p.buffers = nil }},
		{"a buffer more", func(_ *array.Data, p *dataParts) { p.buffers = append(p.buffers, nil) }},
		{"a full buffer more", func(_ *array.Data, p *dataParts) {
			p.buffers = append(p.buffers, memory.NewBufferBytes(make([]byte, 64)))
		}},
		{"buffers turned", func(_ *array.Data, p *dataParts) { slices.Reverse(p.buffers) }},
		{"no children", func(_ *array.Data, p *dataParts) { p.children = nil }},
		{"a child more", func(_ *array.Data, p *dataParts) { p.children = append(p.children, none) }},
		{"children absent", func(_ *array.Data, p *dataParts) { clear(p.children) }},
		{"children turned", func(_ *array.Data, p *dataParts) { slices.Reverse(p.children) }},
		{"children all the last", func(_ *array.Data, p *dataParts) { fill(p.children, last(p.children)) }},
		{"children itself", func(d *array.Data, p *dataParts) { fill(p.children, arrow.ArrayData(d)) }},
		{"children empty", func(_ *array.Data, p *dataParts) { fill(p.children, arrow.ArrayData(none)) }},
		{"nulls", func(_ *array.Data, p *dataParts) { p.nulls = math.MaxInt }},
		{"nulls negative", func(_ *array.Data, p *dataParts) { p.nulls = math.MinInt }},
		{"dictionary absent", func(d *array.Data, _ *dataParts) { d.SetDictionary((*array.Data)(nil)) }},
		{"dictionary itself", func(d *array.Data, _ *dataParts) { d.SetDictionary(d) }},
		{"dictionary empty", func(d *array.Data, _ *dataParts) { d.SetDictionary(none) }},
		{"length 0", func(_ *array.Data, p *dataParts) { p.length = 0 }},
		{"offset 0", func(_ *array.Data, p *dataParts) { p.offset = 0 }},
	}
	for _, n := range hugeNumbers {
		out = append(
			out,
			deed{fmt.Sprintf("length %+d", n), func(_ *array.Data, p *dataParts) { p.length += n }},
			deed{fmt.Sprintf("offset %+d", n), func(_ *array.Data, p *dataParts) { p.offset += n }},
			deed{fmt.Sprintf("length and offset %+d", n), func(_ *array.Data, p *dataParts) { p.offset += n; p.length += n }},
			deed{fmt.Sprintf("length less offset %+d", n), func(_ *array.Data, p *dataParts) { p.offset += n; p.length -= n }},
		)
	}
	for i, typ := range wrongTypes {
		out = append(out, deed{fmt.Sprintf("type %d", i), func(_ *array.Data, p *dataParts) { p.typ = typ }})
	}
	for i := range d.Buffers() {
		out = append(out, bufferDeeds(d, i)...)
	}
	return out
}

// bufferDeeds lists ways to break buffer i.
func bufferDeeds(d *array.Data, i int) []deed {
	out := []deed{
		{fmt.Sprintf("buffer %d absent", i), func(_ *array.Data, p *dataParts) { p.buffers[i] = nil }},
		{fmt.Sprintf("buffer %d large", i), func(_ *array.Data, p *dataParts) {
			p.buffers[i] = memory.NewBufferBytes(append(slices.Clone(bytesOf(p.buffers[i])), make([]byte, 64)...))
		}},
	}
	have := len(bytesOf(d.Buffers()[i]))
	for _, cut := range []int{1, 4, 8, 16, have - 1, have} {
		if cut <= have && cut > 0 {
			out = append(out, deed{fmt.Sprintf("buffer %d cut by %d", i, cut), func(_ *array.Data, p *dataParts) {
				p.buffers[i] = memory.NewBufferBytes(p.buffers[i].Bytes()[: have-cut : have-cut])
			}})
		}
	}
	return out
}

// last returns the last of some children, nil if there are none.
func last(children []arrow.ArrayData) arrow.ArrayData {
	if len(children) == 0 {
		return nil
	}
	return children[len(children)-1]
}

func fill[T any](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

// TestHostileStructure damages the structure of every node of every form in every way, and
// bounds the memory of reading it (A3, A5). Under the race detector and with -short it does a part of that.
func TestHostileStructure(t *testing.T) {
	step := 1
	if effort.Brief() {
		step = 7
	}
	tried, refused := 0, 0
	spent := newMeter()
	for k, fresh := range victims(t) {
		whole := fresh()
		if err := whole.batch(t, "whole"); err != nil {
			t.Fatalf("victim %d: %v", k, err)
		}
		for node, d := range whole.nodes {
			all := deeds(d)
			for i := k % step; i < len(all); i += step {
				v := fresh()
				change(v.nodes[node], func(p *dataParts) { all[i].do(v.nodes[node], p) })
				tried++
				spent.read()
				err := v.batch(t, all[i].name)
				if err != nil {
					refused++
				}
				if bytes, yes := spent.exceeded(func() { v.batch(t, all[i].name) }); yes {
					t.Errorf("allocated %d bytes", bytes)
				}
				if t.Failed() {
					t.Fatalf("victim %d (%v), node %d, %s: %v", k, v.typ, node, all[i].name, err)
				}
			}
		}
	}
	t.Logf("%d records, %d refused", tried, refused)
	if refused < tried/2 {
		t.Errorf("only %d of %d refused", refused, tried)
	}
}

// meter detects excessive allocation. It is read for each record; an exact measure stops the
// world, and would dominate the test.
type meter struct {
	sample [1]metrics.Sample
	last   uint64
}

func newMeter() *meter {
	m := &meter{sample: [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}}
	m.read()
	return m
}

// read returns the bytes allocated since the last reading, coarsely: small
// objects count when the memory that they are cut from is full.
func (m *meter) read() uint64 {
	metrics.Read(m.sample[:])
	now := m.sample[0].Value.Uint64()
	bytes := now - m.last
	m.last = now
	return bytes
}

// maxHostile is more than any small record may allocate: its bytes, times the factor of A5.
const maxHostile = 64 << 10

// exceeded returns the bytes that f allocates, if they are too many. f was called just before.
func (m *meter) exceeded(f func()) (bytes uint64, yes bool) {
	if m.read() <= maxHostile {
		return 0, false
	}
	bytes = allocated(f)
	m.read()
	return bytes, bytes > maxHostile
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func bytesOf(b *memory.Buffer) []byte {
	if b == nil {
		return nil
	}
	return b.Bytes()
}

// deepTypes is types that are nested a million deep: String of one would not
// return, or not within the stack.
func deepTypes() []arrow.DataType {
	runs, list, dict := arrow.DataType(uuidType), arrow.DataType(uuidType), arrow.DataType(uuidType)
	for range 1 << 20 {
		runs = arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, runs)
		list = arrow.ListOf(list)
		dict = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: dict}
	}
	return []arrow.DataType{
		runs, list, dict, arrow.LargeListOf(list), arrow.StructOf(arrow.Field{Name: "x", Type: list}),
		arrow.RunEndEncodedOf(runs, runs), arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, dict),
	}
}

// TestHostileDeep: nesting is not followed, neither in types nor in data.
func TestHostileDeep(t *testing.T) {
	spent := newMeter()
	for k, typ := range deepTypes() {
		for to := encoding.Int64; to.Known(); to++ {
			d := array.NewData(typ, 1, nil, nil, 0, 0)
			for range 1 << 10 {
				d = array.NewData(typ, 1, []*memory.Buffer{nil}, []arrow.ArrayData{d, d}, 0, 0)
				d.SetDictionary(d.Children()[0])
			}
			v := &victim{typ: to, table: tableOf(t, to), nodes: []*array.Data{d}}
			null := array.NewData(arrow.Null, 1, []*memory.Buffer{nil}, nil, 0, 0)
			v.array = &fakeArray{array.NewNullData(null), d}
			spent.read()
			if err := v.batch(t, "deep"); err == nil || len(err.Error()) > 300 {
				t.Errorf("type %d as %v: %.300v", k, to, err)
			}
			if bytes, yes := spent.exceeded(func() { v.batch(t, "deep") }); yes {
				t.Errorf("type %d as %v: allocated %d bytes", k, to, bytes)
			}
		}
	}
}

// fakeArray is an array of data that its constructor never saw.
type fakeArray struct {
	arrow.Array
	data arrow.ArrayData
}

func (f *fakeArray) Data() arrow.ArrayData { return f.data }

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

	for child, want := range []string{"run ends: missing", "values of runs: array without data"} {
		coded := fromRuns(arrow.PrimitiveTypes.Int32, `[3]`, fromJSON(arrow.BinaryTypes.String, `["a"]`))
		v = &victim{typ: encoding.String, table: tableOf(t, encoding.String)}
		v.array = array.MakeFromData(v.copy(coded(t, memory.NewGoAllocator()).Data().(*array.Data)))
		v.nodes[0].Children()[child] = (*array.Data)(nil)
		if err := v.batch(t, "no child"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Batch: %v", err)
		}
	}
}
