package arrowconv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

// maxSteps bounds how often one input damages its record.
const maxSteps = 30

// FuzzRecord builds a record as the input directs: of any types in any form, sliced, and then damaged.
// Batch must accept the records that slowValid accepts. Each accepted record must have the rows that
// slowRows reads.
func FuzzRecord(f *testing.F) {
	for typ := range byte(7) {
		for form := range byte(16) {
			f.Add([]byte{1, typ, form, form, form, form, form, 9, 1, 2, 3, 0})
			f.Add([]byte{3, typ, form, 1, 2, 3, typ, 20, form, 0, 1, 1, 2, 4, 3, 1, 9, 8, 7, 6})
		}
	}
	tables := allTables(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		g := newRecordGen(input)
		rec, typ := g.record()
		batch, err := Batch(tables[typ], rec)
		checkFuzzed(t, g, rec, batch, err)
		for step := g.input[:min(len(g.input), 6*maxSteps)]; len(step) >= 6; step = step[6:] {
			nodes := nodesOf(g.columns[int(step[0])%len(g.columns)].data, nil)
			damage(nodes[int(step[1])%len(nodes)], step[2], [3]byte(step[3:6]))
			batch, err := Batch(tables[typ], rec)
			checkFuzzed(t, g, rec, batch, err)
			if err == nil {
				if _, err := tables[typ].Check(&batch); err != nil && !errors.Is(err, schema.ErrBatch) && !errors.Is(err, schema.ErrLimit) {
					t.Errorf("Check: %v", err)
				}
			}
		}
	})
}

// allTables returns tableOf for each type.
func allTables(t testing.TB) map[encoding.Type]*schema.Schema {
	tables := map[encoding.Type]*schema.Schema{}
	for typ := encoding.Int64; typ.Known(); typ++ {
		tables[typ] = tableOf(t, typ)
	}
	return tables
}

// checkFuzzed compares an answer with the slow reader's.
func checkFuzzed(t *testing.T, g *recordGen, rec arrow.Record, batch schema.Batch, err error) {
	t.Helper()
	if err != nil {
		if !errors.Is(err, ErrRecord) {
			t.Errorf("%v is no ErrRecord", err)
		}
		for _, c := range g.columns {
			if c.data.Len() != int(rec.NumRows()) || slowValid(c.typ, c.arrow, c.data) != nil {
				return
			}
		}
		t.Errorf("a valid record is refused: %v", err)
		return
	}
	for _, c := range g.columns {
		v := batch.Columns[c.name]
		if v.Len() != batch.Rows && v.Len() != 1 {
			t.Fatalf("column %q of %v: %d values for %d rows", c.name, c.data.DataType(), v.Len(), batch.Rows)
		}
		slow, ours := slowRows(c.typ, c.data), rows(spreadOne(v, batch.Rows))
		if !slices.EqualFunc(slow, ours, sameValue) {
			t.Errorf("column %q of %v: rows %v, want %v", c.name, c.data.DataType(), ours, slow)
		}
	}
}

// sameValue compares values of rows. NaN equals NaN.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case []uuid.UUID:
		y, ok := b.([]uuid.UUID)
		return ok && slices.Equal(x, y)
	case float64:
		y, ok := b.(float64)
		return ok && (x == y || x != x && y != y)
	}
	return a == b
}

// nodesOf returns an array's data with all that it has inside.
func nodesOf(d *array.Data, to []*array.Data) []*array.Data {
	if d == nil || len(to) > 20 {
		return to
	}
	to = append(to, d)
	for _, c := range d.Children() {
		if c, ok := c.(*array.Data); ok {
			to = nodesOf(c, to)
		}
	}
	return nodesOf(d.Dictionary().(*array.Data), to)
}

// fuzzColumn is a column of a generated record.
type fuzzColumn struct {
	name  string
	typ   encoding.Type
	arrow arrow.DataType
	data  *array.Data
}

// recordGen makes a valid record: its shape by the input, its values by a
// random source that the input seeds.
type recordGen struct {
	input   []byte
	rng     *rand.Rand
	columns []fuzzColumn
}

func newRecordGen(input []byte) *recordGen {
	var seed [8]byte
	copy(seed[:], input)
	return &recordGen{input: input, rng: rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:]), uint64(len(input))))}
}

// pick takes a choice of n from the input; 0 when that is used up.
func (g *recordGen) pick(n int) int {
	if len(g.input) == 0 {
		return 0
	}
	b := g.input[0]
	g.input = g.input[1:]
	return int(b) % n
}

// record makes a record of one to three columns, and returns the type of "c".
func (g *recordGen) record() (arrow.Record, encoding.Type) {
	names := []string{"labels.b", "c", "labels.a"}[:1+g.pick(3)]
	if len(names) == 1 {
		names = []string{"c"}
	}
	typ := encoding.Int64 + encoding.Type(g.pick(7))
	n := g.pick(40)
	fields := make([]arrow.Field, len(names))
	out := &dataRecord{rows: int64(n)}
	for i, name := range names {
		c := fuzzColumn{name: name, typ: encoding.String}
		if name == "c" {
			c.typ = typ
		}
		c.arrow = g.arrowType(c.typ)
		before := g.pick(5)
		whole := g.data(c.typ, c.arrow, before+n+g.pick(5))
		c.data = array.NewSliceData(whole, int64(before), int64(before+n)).(*array.Data)
		// A slice shares the list of buffers and children with the whole.
		c.data.Reset(c.arrow, n, append([]*memory.Buffer{}, c.data.Buffers()...),
			append([]arrow.ArrayData{}, c.data.Children()...), c.data.NullN(), c.data.Offset())
		g.columns = append(g.columns, c)
		fields[i] = arrow.Field{Name: name, Type: c.arrow}
		out.columns = append(out.columns, c.data)
	}
	out.Record = array.NewRecord(arrow.NewSchema(fields, nil), nil, 0)
	return out, typ
}

// dataRecord is a record of array data that no constructor has looked at.
type dataRecord struct {
	arrow.Record
	columns []*array.Data
	rows    int64
}

func (r *dataRecord) NumRows() int64 { return r.rows }
func (r *dataRecord) NumCols() int64 { return int64(len(r.columns)) }
func (r *dataRecord) Column(i int) arrow.Array {
	return &fakeArray{nil, r.columns[i]}
}

var runEndTypes = []arrow.DataType{arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64}

// plainTypes is the types of a column without a dictionary or runs.
var plainTypes = map[encoding.Type][]arrow.DataType{
	encoding.Int64:    append([]arrow.DataType{nanos}, integerTs[:7]...),
	encoding.Uint64:   integerTs[4:],
	encoding.Float64:  {arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32},
	encoding.Bool:     {arrow.FixedWidthTypes.Boolean},
	encoding.String:   {arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary},
	encoding.UUID:     {uuidType, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary},
	encoding.UUIDList: {listType, largeList, arrow.ListOf(dictUUID), arrow.LargeListOf(dictUUID), arrow.ListOf(arrow.BinaryTypes.Binary), listOfElements},
}

// arrowType chooses one of all the types that Batch takes for a column.
func (g *recordGen) arrowType(t encoding.Type) arrow.DataType {
	typ := plainTypes[t][g.pick(len(plainTypes[t]))]
	if !t.Fixed() && g.pick(2) == 1 {
		typ = &arrow.DictionaryType{IndexType: integerTs[g.pick(len(integerTs))], ValueType: typ}
	}
	if g.pick(2) == 1 {
		typ = arrow.RunEndEncodedOf(runEndTypes[g.pick(3)], typ)
	}
	return typ
}

// data makes n valid rows of a type, somewhere inside buffers.
func (g *recordGen) data(t encoding.Type, typ arrow.DataType, n int) *array.Data {
	offset := g.pick(10)
	end := offset + n
	switch typ := typ.(type) {
	case *arrow.RunEndEncodedType:
		return g.runs(t, typ, n, offset)
	case *arrow.DictionaryType:
		dict := g.data(t, typ.ValueType, g.pick(6))
		bits, nulls := g.bitmap(end, dict.Len() == 0)
		indexes := g.bytes(end * typ.IndexType.(arrow.FixedWidthDataType).Bytes())
		for i := range end {
			if dict.Len() > 0 && (bits == nil || bits[i/8]>>(i%8)&1 == 1) {
				putInteger(indexes, typ.IndexType, i, g.rng.IntN(dict.Len()))
			}
		}
		return array.NewDataWithDictionary(typ, n, buffersOf(bits, indexes), nulls, offset, dict)
	}
	bits, nulls := g.bitmap(end, false)
	switch t {
	case encoding.UUIDList:
		ends := g.ends(end, 3)
		elements := g.elements(typ.(arrow.ListLikeType).Elem(), ends[end])
		return array.NewData(typ, n, buffersOf(bits, offsetBytes(typ, ends)), []arrow.ArrayData{elements}, nulls, offset)
	case encoding.String:
		ends := g.ends(end, 4)
		text := strings.Repeat("aé", 1+ends[end])
		for i := range ends { // not within a letter
			ends[i] -= ends[i] % 3
		}
		return array.NewData(typ, n, buffersOf(bits, offsetBytes(typ, ends), []byte(text)), nil, nulls, offset)
	}
	if isBinaryType(typ) {
		return g.binaryIDs(typ, bits, nulls, offset, n)
	}
	width := typ.(arrow.FixedWidthDataType).BitWidth()
	return array.NewData(typ, n, buffersOf(bits, g.bytes((end*width+7)/8)), nil, nulls, offset)
}

// elements makes at least n elements of lists, none of them null.
func (g *recordGen) elements(typ arrow.DataType, n int) *array.Data {
	dict, ok := typ.(*arrow.DictionaryType)
	if isBinaryType(typ) {
		return g.binaryIDs(typ, nil, 0, 0, n)
	}
	if !ok {
		return array.NewData(typ, n, buffersOf(nil, g.bytes(n*uuidLen)), nil, 0, 0)
	}
	values := g.elements(dict.ValueType, 3)
	indexes := make([]byte, n*dict.IndexType.(arrow.FixedWidthDataType).Bytes())
	for i := range n {
		putInteger(indexes, dict.IndexType, i, g.rng.IntN(3))
	}
	return array.NewDataWithDictionary(dict, n, buffersOf(nil, indexes), 0, 0, values)
}

// binaryIDs makes ids in an array of binary values.
func (g *recordGen) binaryIDs(typ arrow.DataType, bits []byte, nulls, offset, n int) *array.Data {
	ends := make([]int, offset+n+1)
	for i := range ends {
		ends[i] = uuidLen * i
	}
	return array.NewData(typ, n, buffersOf(bits, offsetBytes(typ, ends), g.bytes(uuidLen*(offset+n))), nil, nulls, offset)
}

func isBinaryType(typ arrow.DataType) bool {
	return typ.ID() == arrow.BINARY || typ.ID() == arrow.LARGE_BINARY
}

// runs makes runs of at least offset+n rows.
func (g *recordGen) runs(t encoding.Type, typ *arrow.RunEndEncodedType, n, offset int) *array.Data {
	longest := 1 + g.pick(30)
	at := g.pick(3) // of the run ends in their buffer
	width := typ.RunEnds().(arrow.FixedWidthDataType).Bytes()
	raw := g.bytes(at * width)
	count, end := 0, 0
	for end < offset+n || g.pick(4) == 1 {
		end += 1 + g.rng.IntN(longest)
		raw = append(raw, make([]byte, width)...)
		putInteger(raw, typ.RunEnds(), at+count, end)
		count++
	}
	ends := array.NewData(typ.RunEnds(), count, buffersOf(nil, raw), nil, 0, at)
	values := g.data(t, typ.Encoded(), count+g.pick(2))
	var none []*memory.Buffer
	if g.pick(2) == 0 {
		none = []*memory.Buffer{nil}
	}
	return array.NewData(typ, n, none, []arrow.ArrayData{ends, values}, 0, offset)
}

// bitmap makes validity bits, or none.
func (g *recordGen) bitmap(n int, allNull bool) (bits []byte, nulls int) {
	switch {
	case allNull:
		return make([]byte, (n+7)/8+1), array.UnknownNullCount
	case g.pick(2) == 0:
		return nil, 0
	}
	return g.bytes((n + 7) / 8), array.UnknownNullCount
}

func (g *recordGen) bytes(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(g.rng.Uint32())
	}
	return out
}

// ends makes n+1 offsets that rise by up to step each.
func (g *recordGen) ends(n, step int) []int {
	out := make([]int, n+1)
	out[0] = g.rng.IntN(3)
	for i := range n {
		out[i+1] = out[i] + g.rng.IntN(step+1)
	}
	return out
}

func offsetBytes(typ arrow.DataType, ends []int) []byte {
	index := arrow.PrimitiveTypes.Int32
	if strings.HasPrefix(typ.Name(), "large") {
		index = arrow.PrimitiveTypes.Int64
	}
	out := make([]byte, len(ends)*index.(arrow.FixedWidthDataType).Bytes())
	for i, end := range ends {
		putInteger(out, index, i, end)
	}
	return out
}

// putInteger writes value i of a buffer of integers.
func putInteger(raw []byte, typ arrow.DataType, i, v int) {
	width := typ.(arrow.FixedWidthDataType).Bytes()
	for k := range width {
		raw[i*width+k] = byte(v >> (8 * k))
	}
}

func buffersOf(all ...[]byte) []*memory.Buffer {
	out := make([]*memory.Buffer, len(all))
	for i, b := range all {
		if b != nil {
			out[i] = memory.NewBufferBytes(b)
		}
	}
	return out
}

// TestFuzzRecord: the generator makes valid records, of every type.
func TestFuzzRecord(t *testing.T) {
	seen := map[string]int{}
	tables := allTables(t)
	seeds, types := 5000, 300
	if effort.Race {
		seeds, types = 500, 100
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		input := make([]byte, 60)
		for i := range input {
			input[i] = byte(rng.Uint32())
		}
		g := newRecordGen(input)
		rec, typ := g.record()
		for _, c := range g.columns {
			if err := slowValid(c.typ, c.arrow, c.data); err != nil {
				t.Fatalf("seed %d: column %q of %v: %v", seed, c.name, c.arrow, err)
			}
			seen[fmt.Sprint(c.typ, " as ", c.arrow)]++
		}
		batch, err := Batch(tables[typ], rec)
		checkFuzzed(t, g, rec, batch, err)
	}
	t.Logf("%d types", len(seen))
	if len(seen) < types {
		t.Errorf("%d types, want more", len(seen))
	}
}
