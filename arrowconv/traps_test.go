package arrowconv

import (
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
)

// The tests of this file show where Arrow v14 is wrong or differs from its names, and that
// Batch is not affected. If one fails after an update of Arrow, the trap is gone: remove it
// from doc.go, and check whether its workaround is still needed.

// hundreds is 100 100 100 200 200 200 300 300 300 in three runs.
func hundreds(t *testing.T) arrow.Array {
	return fromRuns(arrow.PrimitiveTypes.Int32, `[3, 6, 9]`, fromJSON(arrow.PrimitiveTypes.Int64, `[100, 200, 300]`))(t, memory.NewGoAllocator())
}

func hundredRows(values ...int) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = int64(v) * 100
	}
	return out
}

// TestTrapConcatenateRuns: Concatenate of slices of run-end encoded arrays
// gives wrong rows, and no error. Batch reads each slice right.
func TestTrapConcatenateRuns(t *testing.T) {
	a := hundreds(t)
	all := hundredRows(1, 1, 1, 2, 2, 2, 3, 3, 3)
	cases := []struct {
		name   string
		slices [][2]int64
		wrong  []any // the rows of v14; nil: the right rows
	}{
		{"whole", [][2]int64{{0, 9}, {0, 9}}, nil},
		{"between runs", [][2]int64{{0, 3}, {3, 9}}, nil},
		{"first begins in a run", [][2]int64{{1, 3}, {3, 9}}, hundredRows(1, 1, 1, 2, 2, 2, 3, 3)},
		{"inside a run", [][2]int64{{0, 5}, {5, 9}}, hundredRows(1, 1, 1, 2, 2, 2, 2, 3, 3)},
		{"ends in a run", [][2]int64{{0, 4}, {6, 9}}, hundredRows(1, 1, 1, 2, 2, 2, 3)},
		{"turned", [][2]int64{{6, 9}, {0, 3}}, hundredRows(3, 3, 3, 3, 3, 3)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var parts []arrow.Array
			var want, ours []any
			for _, s := range c.slices {
				part := array.NewSlice(a, s[0], s[1])
				parts = append(parts, part)
				want = append(want, all[s[0]:s[1]]...)
				ours = append(ours, rows(mustBatch(t, encoding.Int64, recordOf(part)))...)
			}
			diff(t, want, ours)
			joined, err := array.Concatenate(parts, memory.NewGoAllocator())
			if err != nil {
				t.Fatal(err)
			}
			got := slowRows(encoding.Int64, joined.Data())
			if c.wrong == nil {
				c.wrong = want
			} else if fmt.Sprint(got) == fmt.Sprint(want) {
				t.Error("Concatenate is right now")
			}
			diff(t, c.wrong, got)
		})
	}
}

// TestTrapConcatenateDictionaries: those with different dictionaries are
// concatenated right, unless there are nulls: then other rows get index 0.
func TestTrapConcatenateDictionaries(t *testing.T) {
	mem := memory.NewGoAllocator()
	for _, c := range []struct {
		indexes  string
		want, is []any
	}{
		{`[0, 1, 1]`, []any{"a", "b", "b", "c", "b"}, []any{"a", "b", "b", "c", "b"}},
		{`[0, 1, null]`, []any{"a", "b", nil, "c", "b"}, []any{"a", "a", nil, "c", "b"}},
	} {
		a := dictOf(t, mem, arrow.PrimitiveTypes.Uint32, arrow.BinaryTypes.String, c.indexes, `["a", "b"]`)
		b := dictOf(t, mem, arrow.PrimitiveTypes.Uint32, arrow.BinaryTypes.String, `[1, 0]`, `["b", "c"]`)
		joined, err := array.Concatenate([]arrow.Array{a, b}, mem)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, c.is, slowRows(encoding.String, joined.Data()))
		diff(t, c.is, rows(mustBatch(t, encoding.String, recordOf(joined))))
		ours := rows(mustBatch(t, encoding.String, recordOf(a)))
		diff(t, c.want, append(ours, rows(mustBatch(t, encoding.String, recordOf(b)))...))
	}
}

// TestTrapStringOfRuns: String of a slice prints the whole array; its JSON is
// right.
func TestTrapStringOfRuns(t *testing.T) {
	a := hundreds(t)
	part := array.NewSlice(a, 2, 4)
	if got := part.String(); got != a.String() {
		t.Errorf("String of a slice is %s: no longer the whole array", got)
	}
	json, err := part.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "[100\n,200\n]", string(json))
	diff(t, hundredRows(1, 2), rows(mustBatch(t, encoding.Int64, recordOf(part))))
}

// TestTrapNullsOfRuns: NullN of a run-end encoded array is 0, because its nulls are in its
// values.
func TestTrapNullsOfRuns(t *testing.T) {
	a := fromRuns(arrow.PrimitiveTypes.Int16, `[2, 3]`, fromJSON(arrow.PrimitiveTypes.Int64, `[null, 1]`))(t, memory.NewGoAllocator())
	if a.NullN() != 0 || a.IsNull(0) || !a.IsValid(0) {
		t.Errorf("NullN %d, IsNull %v: nulls are counted now", a.NullN(), a.IsNull(0))
	}
	diff(t, []any{nil, nil, int64(1)}, rows(mustBatch(t, encoding.Int64, recordOf(a))))
}

// TestTrapEqualRuns: Equal compares rows, not runs, also of slices.
func TestTrapEqualRuns(t *testing.T) {
	a := array.NewSlice(hundreds(t), 1, 4)
	b := fromRuns(arrow.PrimitiveTypes.Int32, `[1, 2, 9]`, fromJSON(arrow.PrimitiveTypes.Int64, `[100, 100, 200]`))(t, memory.NewGoAllocator())
	for _, c := range []struct {
		a, b arrow.Array
		want bool
	}{
		{a, array.NewSlice(b, 0, 3), true},
		{array.NewSlice(b, 0, 3), a, true},
		{array.NewSlice(a, 1, 3), array.NewSlice(b, 1, 3), true},
		{a, array.NewSlice(b, 1, 4), false},
		{a, array.NewSlice(b, 0, 2), false},
	} {
		if got := array.Equal(c.a, c.b); got != c.want {
			t.Errorf("Equal is %v", got)
		}
		same := fmt.Sprint(slowRows(encoding.Int64, c.a.Data())) == fmt.Sprint(slowRows(encoding.Int64, c.b.Data()))
		if same != c.want {
			t.Errorf("rows are equal: %v", same)
		}
	}
}

// TestTrapConstructors: constructors accept arrays on which accessors panic, and records
// accept columns of any length.
func TestTrapConstructors(t *testing.T) {
	offsets := memory.NewBufferBytes([]byte{0, 0, 0, 0, 9, 0, 0, 0})
	elements := array.NewData(uuidType, 1, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, 16))}, nil, 0, 0)
	list := array.NewListData(array.NewData(listType, 1, []*memory.Buffer{nil, offsets}, []arrow.ArrayData{elements}, 0, 0))
	wantError(t, tableOf(t, encoding.UUIDList), recordOf(list), "offset 1 is 9, want 0 to 1")

	// Run ends that do not rise, and that end before the rows do.
	ends, values := arrayOf(t, memory.NewGoAllocator(), arrow.PrimitiveTypes.Int32, `[3, 2]`), arrayOf(t, memory.NewGoAllocator(), arrow.PrimitiveTypes.Int64, `[1]`)
	wantError(t, tableOf(t, encoding.Int64), recordOf(array.NewRunEndEncodedArray(ends, values, 1<<20, 7)), "1 values for 2 runs")

	long := arrayOf(t, memory.NewGoAllocator(), arrow.PrimitiveTypes.Int64, `[1, 2]`)
	fields := arrow.NewSchema([]arrow.Field{{Name: "c", Type: long.DataType()}}, nil)
	wantError(t, tableOf(t, encoding.Int64), array.NewRecord(fields, []arrow.Array{long}, 1), "2 rows, the record has 1")
	wantError(t, tableOf(t, encoding.Int64), array.NewRecord(fields, nil, 0), "0 columns, but 1 in the schema")
}

// TestTrapDictionaryNil: an array without a dictionary has one that is not nil.
func TestTrapDictionaryNil(t *testing.T) {
	if arrayOf(t, memory.NewGoAllocator(), arrow.PrimitiveTypes.Int64, `[1]`).Data().Dictionary() == nil {
		t.Error("Dictionary is nil now")
	}
}

// counter counts the requests to an allocator.
type counter struct {
	memory.Allocator
	n int
}

func (c *counter) Reallocate(size int, b []byte) []byte {
	c.n++
	return c.Allocator.Reallocate(size, b)
}

// TestTrapResize: Resize to the size that a buffer has gives up its room, and
// so reallocates it. ResizeNoShrink does not.
func TestTrapResize(t *testing.T) {
	mem := &counter{Allocator: memory.NewGoAllocator()}
	b := memory.NewResizableBuffer(mem)
	defer b.Release()
	b.Reserve(1000)
	b.Resize(10)
	before := mem.n
	b.ResizeNoShrink(10)
	if mem.n != before || b.Cap() < 1000 {
		t.Error("ResizeNoShrink reallocates")
	}
	b.Resize(10)
	if mem.n == before || b.Cap() >= 1000 {
		t.Error("Resize keeps the room now")
	}
}
