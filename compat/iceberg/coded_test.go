package iceberg

import (
	"errors"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
)

// codedOf returns rows of a column of bytes, one of texts and one of lists, for own.
func codedOf(t *testing.T) (*coded, *arrow.Schema) {
	t.Helper()
	text := iceberg.PrimitiveTypes.String
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "trace_id", Type: iceberg.PrimitiveTypes.Binary},
		iceberg.NestedField{ID: 2, Name: "text", Type: text},
		iceberg.NestedField{ID: 3, Name: columnStack, Type: &iceberg.ListType{ElementID: 4, Element: text, ElementRequired: true}, Required: true})
	fields, others := codedFields(schema, schema)
	if len(others) > 0 {
		t.Fatal(others)
	}
	return newCoded(fields), arrow.NewSchema([]arrow.Field{
		{Name: "trace_id", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: columnStack, Type: arrow.ListOf(arrow.BinaryTypes.String)},
	}, nil)
}

// Lists with the same bytes and other elements are others, and so are a text and equal bytes. A record that is cut from another reads as it is.
func TestCoded_Sets(t *testing.T) {
	c, schema := codedOf(t)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	stacks := [][]string{{"x"}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {"ab", "c"}, {}, {""}, {"", ""}, {"abc", ""}, {"", "abc"}}
	for range 2 {
		for i, stack := range stacks {
			b.Field(0).(*array.BinaryBuilder).AppendString(string([]byte{'t', byte(i % 2)}))
			b.Field(1).(*array.StringBuilder).Append(string([]byte{'t', byte(i % 2)}))
			list := b.Field(2).(*array.ListBuilder)
			list.Append(true)
			for _, s := range stack {
				list.ValueBuilder().(*array.StringBuilder).Append(s)
			}
		}
	}
	rec := b.NewRecordBatch()
	for _, part := range [][2]int64{{1, 4}, {4, 20}} {
		if err := c.read(rec.NewSlice(part[0], part[1]), nil); err != nil {
			t.Fatal(err)
		}
	}
	of := c.column(columnStack)
	for row := range c.rows {
		var got []string
		for _, code := range of.sets.of(of.codes[row] - 1) {
			got = append(got, c.texts.all[code])
		}
		if want := stacks[(row+1)%len(stacks)]; !slices.Equal(got, want) {
			t.Errorf("row %d: %q, want %q", row, got, want)
		}
	}
	if n := len(of.sets.ends); n != 9 {
		t.Errorf("%d lists, want 9", n)
	}
	if bytes, text := c.column("trace_id"), c.column("text"); bytes.codes[0] == text.codes[0] {
		t.Error("a text and bytes have one code")
	}
}

// A text that is no valid UTF-8 is refused, also if equal bytes are there, and so is a null in a list.
func TestCoded_Invalid(t *testing.T) {
	for name, add := range map[string]func(b *array.RecordBuilder){
		"text":         func(b *array.RecordBuilder) { b.Field(1).(*array.StringBuilder).Append("a\xff") },
		"marked bytes": func(b *array.RecordBuilder) { b.Field(1).(*array.StringBuilder).Append("\xfft") },
		"list":         func(b *array.RecordBuilder) { b.Field(2).(*array.ListBuilder).AppendNull() },
		"element": func(b *array.RecordBuilder) {
			b.Field(2).(*array.ListBuilder).Append(true)
			b.Field(2).(*array.ListBuilder).ValueBuilder().AppendNull()
		},
	} {
		c, schema := codedOf(t)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		b.Field(0).(*array.BinaryBuilder).AppendString("t")
		add(b)
		for i, empty := range []func(){nil, b.Field(1).AppendNull, b.Field(2).AppendEmptyValue} {
			if b.Field(i).Len() == 0 {
				empty()
			}
		}
		if err := c.read(b.NewRecordBatch(), nil); !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
