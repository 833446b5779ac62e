package arrowconv

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
)

// cause is a damage and the expected error of Batch.
type cause struct {
	typ    encoding.Type
	make   func(testing.TB, memory.Allocator) arrow.Array
	node   int
	damage func(*dataParts)
	want   string
}

func replace(i int, b ...byte) func(*dataParts) {
	return func(p *dataParts) { p.buffers[i] = memory.NewBufferBytes(b) }
}

// runCauses are those of run-end encoded columns: node 1 is the run ends, node
// 2 the values.
func runCauses() []cause {
	str := fromRuns(arrow.PrimitiveTypes.Int16, `[2, 3, 300]`, fromJSON(arrow.BinaryTypes.String, `["ab", null, "c"]`))
	list := fromRuns(arrow.PrimitiveTypes.Int64, `[2, 4]`, fromDict(arrow.PrimitiveTypes.Int8, listType, `[0, 1]`, `[[], [`+json1+`]]`))
	ends := func(bytes ...byte) func(*dataParts) { return replace(1, bytes...) }
	int32s := arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String)
	uint16s := arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Uint16, arrow.BinaryTypes.String)
	return []cause{
		{encoding.String, str, 1, ends(0, 0, 3, 0, 44, 1), "run 0 ends at row 0, want more than 0"},
		{encoding.String, str, 1, ends(0xff, 0xff, 3, 0, 44, 1), "run 0 ends at row -1, want more than 0"},
		{encoding.String, str, 1, ends(3, 0, 3, 0, 44, 1), "run 1 ends at row 3, want more than 3"},
		{encoding.String, str, 1, ends(2, 0, 3, 0, 43, 1), "runs end at row 299, want at least 300"},
		{encoding.String, str, 1, ends(2, 0, 3, 0), "run ends: buffer of 4 bytes for 3 values of 2"},
		{encoding.String, str, 1, func(p *dataParts) { p.length = 2 }, "runs end at row 3, want at least 300"},
		{encoding.String, str, 1, func(p *dataParts) { p.length = 0 }, "runs end at row 0, want at least 300"},
		{encoding.String, str, 1, func(p *dataParts) { p.length = -1 }, "run ends: length -1"},
		{encoding.String, str, 1, replace(0, 0b101), "run ends: some are null"},
		{encoding.String, str, 1, func(p *dataParts) { p.typ = arrow.PrimitiveTypes.Int32 }, "run ends: missing or not of the type"},
		{encoding.String, str, 1, func(p *dataParts) { p.buffers = nil }, "run ends: 0 buffers, want 2"},
		{encoding.String, str, 0, func(p *dataParts) { p.typ = int32s }, "run ends: missing or not of the type"},
		{encoding.String, str, 0, func(p *dataParts) { p.typ = uint16s }, "run ends: missing or not of the type"},
		{encoding.String, str, 0, func(p *dataParts) { p.offset = 1 }, "runs end at row 300, want at least 301"},
		{encoding.String, str, 0, func(p *dataParts) { p.offset = -1 }, "length 300 and offset -1"},
		{encoding.String, str, 0, func(p *dataParts) { p.offset = math.MaxInt }, "length 300 and offset"},
		{encoding.String, str, 0, func(p *dataParts) { p.children = p.children[:1] }, "1 children, want 2"},
		{encoding.String, str, 0, func(p *dataParts) { p.children[0] = nil }, "run ends: missing"},
		{encoding.String, str, 0, func(p *dataParts) { p.children[1] = nil }, "values of runs: array without data"},
		{encoding.String, str, 0, func(p *dataParts) { p.children[1] = p.children[0] }, "values of runs are of another type than utf8"},
		{encoding.String, str, 0, replace(0, make([]byte, 38)...), "with a null bitmap"},
		{encoding.String, str, 0, func(p *dataParts) { p.buffers = append(p.buffers, nil) }, "2 buffers, want 1"},
		{encoding.String, str, 2, func(p *dataParts) { p.length = 2 }, "2 values for 3 runs"},
		{encoding.String, str, 2, func(p *dataParts) { p.length = 1 << 40 }, "values of runs: "},
		{encoding.String, str, 2, func(p *dataParts) { p.offset = 1 }, "values of runs: offsets: buffer of 16 bytes for 5 values of 4"},
		{encoding.UUIDList, list, 2, replace(1, 0, 2), "values of runs: row 1: dictionary index 2, want less than 2"},
		{encoding.UUIDList, list, 3, func(p *dataParts) { p.children = nil }, "values of runs: dictionary: 0 children, want 1"},
	}
}

// TestHostileCauses: each kind of damage is refused for its own reason.
func TestHostileCauses(t *testing.T) {
	str := fromJSON(arrow.BinaryTypes.String, `["ab", null, "c"]`)
	list := fromJSON(listType, `[[`+json1+`], null, [`+json2+`, `+json1+`]]`)
	large := fromJSON(arrow.BinaryTypes.LargeString, `["ab", "c"]`)
	coded := fromDict(arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String, `[0, 1]`, `["a", "b"]`)
	cases := []cause{
		{encoding.String, str, 0, func(p *dataParts) { p.length = -1 }, "-1 rows"},
		{encoding.String, str, 0, func(p *dataParts) { p.offset = -1 }, "length 3 and offset -1"},
		{encoding.String, str, 0, func(p *dataParts) { p.offset = math.MaxInt }, "length 3 and offset"},
		{encoding.String, str, 0, func(p *dataParts) { p.offset = 62 }, "null bitmap of"},
		{encoding.String, str, 0, replace(1, make([]byte, 12)...), "offsets: buffer of 12 bytes for 4 values of 4"},
		{encoding.String, str, 0, replace(1, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0), "offset 1 is 1, want 2 to 3"},
		{encoding.String, str, 0, replace(1, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0), "offset 3 is 4, want 2 to 3"},
		{encoding.String, str, 0, replace(1, 0, 0, 0, 0x80, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0), "offset 0 is -2147483648"},
		{encoding.String, large, 0, replace(1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0), "offset 1 is 4294967297"},
		{encoding.String, str, 0, func(p *dataParts) { p.buffers = p.buffers[:2] }, "2 buffers, want 3"},
		{encoding.String, str, 0, func(p *dataParts) { p.typ = nil }, "array without data"},
		{encoding.String, coded, 0, replace(1, 0, 2), "row 1: dictionary index 2, want less than 2"},
		{encoding.String, coded, 0, replace(1, 0, 0x80), "row 1: dictionary index -128"},
		{encoding.String, coded, 0, replace(1, 0), "dictionary indexes: buffer of 1 bytes for 2 values"},
		{encoding.String, coded, 0, func(p *dataParts) { p.typ = dictUUID }, "dictionary is missing or of another type"},
		{encoding.String, coded, 1, func(p *dataParts) { p.length = 1 << 40 }, "dictionary: "},
		{encoding.String, coded, 1, func(p *dataParts) { p.length = -1 }, "dictionary is missing"},
		{encoding.UUIDList, list, 1, func(p *dataParts) { p.length = 2 }, "offset 3 is 3, want 1 to 2"},
		{encoding.UUIDList, list, 1, func(p *dataParts) { p.buffers[1] = nil }, "elements: buffer of 0 bytes for 3 values of 16"},
		{encoding.UUIDList, list, 1, func(p *dataParts) { p.typ = dictUUID }, "elements are of another type"},
		{encoding.UUIDList, list, 0, func(p *dataParts) { p.typ = arrow.ListOf(dictUUID) }, "elements are of another type"},
		{encoding.UUIDList, list, 0, func(p *dataParts) { p.children = nil }, "0 children, want 1"},
		{encoding.UUIDList, list, 0, func(p *dataParts) { p.children = []arrow.ArrayData{nil} }, "elements: array without data"},
		{encoding.Bool, fromJSON(arrow.FixedWidthTypes.Boolean, `[true, true]`), 0, replace(1), "buffer of 0 bytes for 2 bits"},
		{encoding.Float64, fromJSON(arrow.PrimitiveTypes.Float64, `[1, 2]`), 0, replace(1, 0), "buffer of 1 bytes for 2 values of 8"},
		{encoding.UUID, fromJSON(uuidType, `[`+json1+`]`), 0, replace(1, make([]byte, 15)...), "buffer of 15 bytes for 1 values of 16"},
	}
	cases = append(cases, runCauses()...)
	for _, c := range cases {
		v := &victim{typ: c.typ, table: tableOf(t, c.typ)}
		v.array = array.MakeFromData(v.copy(c.make(t, memory.NewGoAllocator()).Data().(*array.Data)))
		change(v.nodes[c.node], c.damage)
		if err := v.batch(t, c.want); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Batch: %v; want %q", err, c.want)
		}
	}
}
