package peers

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// frostDictionary is the type of every string column.
var frostDictionary = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.Binary}

// record turns a batch into an Arrow record with the schema: columns by name, rows in the key's order.
// FrostDB accepts rows in any order, but its compaction relies on a record's first and last row.
func (f *FrostDB) record(b schema.Batch) arrow.Record {
	b = frostTraces(b)
	named := maps.Clone(b.Columns)
	if f.list() {
		named[columnName] = b.Columns[profile.ColumnPeriodType]
	}
	order := f.order(b)
	var fields []arrow.Field
	var columns []arrow.Array
	for _, name := range slices.Sorted(maps.Keys(named)) {
		column := f.column(named[name], order)
		family := strings.Contains(name, ".")
		fields = append(fields, arrow.Field{Name: name, Type: column.DataType(), Nullable: family || name == profile.ColumnStacktrace && f.list()})
		columns = append(columns, column)
	}
	rec := array.NewRecord(arrow.NewSchema(fields, nil), columns, int64(b.Rows))
	for _, c := range columns {
		c.Release() // the record keeps it
	}
	return rec
}

// frostTraces returns a batch with the trace ids as sample labels.
func frostTraces(b schema.Batch) schema.Batch {
	v, ok := b.Columns[profile.ColumnTraceID]
	if !ok {
		return b
	}
	b.Columns = maps.Clone(b.Columns)
	delete(b.Columns, profile.ColumnTraceID)
	ids := make([]string, b.Rows)
	for i := range ids {
		if !v.Null(i) {
			ids[i] = string(v.UUIDs[i][:])
		}
	}
	b.Columns[frostTrace] = encoding.Strings(ids...)
	return b
}

// list reports whether stacks are lists. The key ends with the time in that schema only.
func (f *FrostDB) list() bool {
	last := f.definition.SortingColumns[len(f.definition.SortingColumns)-1]
	return last.Name == profile.ColumnTimestamp
}

// order returns the rows in the key's order. Types, labels and time are the same in the whole batch, so the
// stack decides, then the sample labels.
func (f *FrostDB) order(b schema.Batch) []int {
	rows := make([]int, b.Rows)
	for i := range rows {
		rows[i] = i
	}
	if f.list() {
		return rows
	}
	var labels []string
	for name := range b.Columns {
		if strings.HasPrefix(name, profile.ColumnPprofLabels+".") || strings.HasPrefix(name, profile.ColumnPprofNumLabels+".") {
			labels = append(labels, name)
		}
	}
	slices.Sort(labels)
	stacks := b.Columns[profile.ColumnStacktrace].UUIDLists
	slices.SortFunc(rows, func(x, y int) int {
		if c := slices.CompareFunc(stacks[x], stacks[y], func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }); c != 0 {
			return c
		}
		for _, name := range labels {
			if c := compareCells(b.Columns[name], x, y); c != 0 {
				return c
			}
		}
		return 0
	})
	return rows
}

// compareCells compares two rows in a label column, nulls first.
func compareCells(v encoding.Vector, x, y int) int {
	if v.Len() == 1 {
		return 0
	}
	if v.Null(x) || v.Null(y) {
		return cmp.Compare(truth(!v.Null(x)), truth(!v.Null(y)))
	}
	if v.Type == encoding.String {
		return cmp.Compare(v.Strings[x], v.Strings[y])
	}
	return cmp.Compare(v.Int64s[x], v.Int64s[y])
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// column builds a column's array, rows in the given order.
func (f *FrostDB) column(v encoding.Vector, order []int) arrow.Array {
	switch {
	case v.Type == encoding.UUIDList && f.list():
		return frostLists(v.UUIDLists, order)
	case v.Type == encoding.UUIDList:
		b := array.NewDictionaryBuilder(memory.DefaultAllocator, frostDictionary).(*array.BinaryDictionaryBuilder)
		defer b.Release()
		var stack []byte
		for _, i := range order {
			stack = StackBytes(stack[:0], v.UUIDLists[i])
			must(b.Append(stack))
		}
		return b.NewArray()
	case v.Type == encoding.String && v.Len() == 1:
		return frostConstant(v.Strings[0], len(order))
	case v.Type == encoding.String:
		b := array.NewDictionaryBuilder(memory.DefaultAllocator, frostDictionary).(*array.BinaryDictionaryBuilder)
		defer b.Release()
		for _, i := range order {
			if v.Strings[i] == "" {
				b.AppendNull()
				continue
			}
			must(b.AppendString(v.Strings[i]))
		}
		return b.NewArray()
	default:
		return frostInts(v, order)
	}
}

func frostInts(v encoding.Vector, order []int) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(len(order))
	for _, i := range order {
		if v.Len() == 1 {
			i = 0
		}
		if v.Null(i) {
			b.AppendNull()
		} else {
			b.Append(v.Int64s[i])
		}
	}
	return b.NewArray()
}

// frostConstant makes a dictionary array with one value in every row, because a builder would hash the
// value once a row.
func frostConstant(value string, rows int) arrow.Array {
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	defer b.Release()
	b.AppendString(value)
	values := b.NewArray()
	defer values.Release()
	zeros := memory.NewBufferBytes(make([]byte, 4*rows))
	indexes := array.NewData(arrow.PrimitiveTypes.Uint32, rows, []*memory.Buffer{nil, zeros}, nil, 0, 0)
	defer indexes.Release()
	keys := array.MakeFromData(indexes)
	defer keys.Release()
	return array.NewDictionaryArray(frostDictionary, keys, values)
}

func frostLists(stacks [][]uuid.UUID, order []int) arrow.Array {
	b := array.NewListBuilder(memory.DefaultAllocator, frostDictionary)
	defer b.Release()
	ids := b.ValueBuilder().(*array.BinaryDictionaryBuilder)
	for _, i := range order {
		b.Append(true)
		for k := range stacks[i] {
			must(ids.Append(stacks[i][k][:]))
		}
	}
	return b.NewArray()
}

// must panics at a dictionary builder's error. An append fails only if the index is too narrow for the
// batch, and it never is.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// frostBytes returns a value in a dictionary or binary column, nil for null.
func frostBytes(column arrow.Array, i int) []byte {
	if column.IsNull(i) {
		return nil
	}
	switch c := column.(type) {
	case *array.Dictionary:
		return c.Dictionary().(*array.Binary).Value(c.GetValueIndex(i))
	case *array.Binary:
		return c.Value(i)
	}
	return nil
}

// frostStack appends a stack's ids, from a list or from one binary value.
func frostStack(dst []byte, column arrow.Array, i int) []byte {
	list, ok := column.(*array.List)
	if !ok {
		return append(dst, frostBytes(column, i)...)
	}
	for k, end := list.ValueOffsets(i); k < end; k++ {
		dst = append(dst, frostBytes(list.ListValues(), int(k))...)
	}
	return dst
}

// frostBatch turns a record into plain values. A null becomes a value that Cell considers null.
func frostBatch(r arrow.Record) schema.Batch {
	b := schema.Batch{Rows: int(r.NumRows()), Columns: map[string]encoding.Vector{}}
	for i, field := range r.Schema().Fields() {
		column := r.Column(i)
		switch {
		case field.Name == columnName:
			continue // the other peers do not have it
		case field.Name == profile.ColumnStacktrace:
			stacks := make([][]uuid.UUID, b.Rows)
			for row := range stacks {
				ids := frostStack(nil, column, row)
				for ; len(ids) > 0; ids = ids[16:] {
					stacks[row] = append(stacks[row], uuid.UUID(ids[:16]))
				}
			}
			b.Columns[field.Name] = encoding.UUIDLists(stacks...)
		case field.Name == frostTrace:
			v := encoding.Vector{Type: encoding.UUID, UUIDs: make([]uuid.UUID, b.Rows), Valid: make([]bool, b.Rows)}
			for row := range v.UUIDs {
				v.Valid[row] = copy(v.UUIDs[row][:], frostBytes(column, row)) > 0
			}
			b.Columns[profile.ColumnTraceID] = v
		case field.Type.ID() == arrow.INT64:
			v := encoding.Vector{Type: encoding.Int64, Int64s: make([]int64, b.Rows), Valid: make([]bool, b.Rows)}
			for row := range v.Int64s {
				v.Int64s[row], v.Valid[row] = column.(*array.Int64).Value(row), column.IsValid(row)
			}
			b.Columns[field.Name] = v
		default:
			values := make([]string, b.Rows)
			for row := range values {
				values[row] = string(frostBytes(column, row))
			}
			b.Columns[field.Name] = encoding.Strings(values...)
		}
	}
	return b
}
