package arrowconv

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// ErrBuild reports that a builder's rows do not make a record. The wrapping error names the field. The
// cause is a mistake of the caller, or more than 2^31 bytes or elements of strings or lists in a record.
var ErrBuild = errors.New("rows do not make a record")

// RecordBuilder makes records from rows that are appended column by column. Record reports mistakes of
// earlier calls, such as a wrong type or uneven lengths. It is not safe for concurrent use.
type RecordBuilder struct {
	schema  *arrow.Schema
	columns []column
	memory  *recycler
	rows    int   // for a record without fields
	err     error // the first mistake since the last record
}

// NewRecordBuilder returns an empty builder for records of a form. It takes the memory of records from
// mem, or from the Go heap if mem is nil, and reuses the memory of records that are released before the
// builder (A7). It panics if the form is unknown, or if a field's type is not one of package encoding.
// The caller releases the builder.
func NewRecordBuilder(mem memory.Allocator, form Form, fields []Field) *RecordBuilder {
	if mem == nil {
		mem = newHeap()
	}
	b := &RecordBuilder{schema: NewSchema(form, fields), columns: make([]column, len(fields)), memory: newRecycler(mem)}
	for i, f := range fields {
		b.columns[i] = newColumn(b.memory, form, f)
	}
	return b
}

// Words appends rows of an encoded column with the field's type. words is a range of from.Words, and valid
// says which rows have a value. If valid is nil, all rows of a fixed type have one. A row of another type has
// one unless its word is 0.
//
// Words is fastest if all calls for a field between two records have the same dictionary. Values from
// different dictionaries, and from plain columns in a coded field, are unified by their bytes. The builder
// retains only the dictionary. It keeps a dictionary of lists, and the lists read from it, until it gets
// another dictionary.
func (b *RecordBuilder) Words(field int, from *encoding.Column, words []uint64, valid []bool) {
	if b.err == nil {
		b.note(field, b.columns[field].appendWords(from, words, valid))
	}
}

// Constant appends n rows with the same word of an encoded column with the field's type. They have a
// value, unless the type is not fixed and the word is 0. It costs one look-up and the memory of the rows.
func (b *RecordBuilder) Constant(field int, from *encoding.Column, word uint64, n int) {
	if b.err == nil {
		b.note(field, b.columns[field].constant(from, word, n))
	}
}

// Lists appends rows to a UUIDList field. A row is a list's code in from, or 0 for null. Unlike Words it
// keeps no list for the next record.
func (b *RecordBuilder) Lists(field int, from dict.ListView, codes []uint32) {
	if b.err == nil {
		b.note(field, b.columns[field].appendLists(from, codes))
	}
}

// Vector appends the rows of a vector with the field's type, which must not be UUIDList. It retains
// nothing of the vector.
func (b *RecordBuilder) Vector(field int, v *encoding.Vector) {
	if b.err == nil {
		b.note(field, b.columns[field].appendVector(v))
	}
}

// Repeat appends n rows with the same string, such as a label of a series, to a String field. It costs one
// look-up, and in a coded field 4 bytes per row, or 8 bytes in total if it is run-end encoded.
func (b *RecordBuilder) Repeat(field int, value string, n int) {
	if b.err == nil {
		b.note(field, b.columns[field].repeat(value, n))
	}
}

// Nulls appends n rows without a value.
func (b *RecordBuilder) Nulls(field int, n int) {
	if b.err == nil {
		b.note(field, b.columns[field].nulls(n))
	}
}

// note keeps the first error.
func (b *RecordBuilder) note(field int, err error) {
	if err != nil {
		b.err = fmt.Errorf("%w: field %q: %w", ErrBuild, b.columns[field].field.Name, err)
	}
}

// Size returns the bytes of strings and lists in the record so far, in all fields. Callers end a record by
// it, because these bytes are limited. It costs O(fields).
func (b *RecordBuilder) Size() int {
	n := 0
	for i := range b.columns {
		n += b.columns[i].cells.size()
	}
	return n
}

// Rows appends n rows to a record without fields. With fields it does nothing.
func (b *RecordBuilder) Rows(n int) { b.rows += n }

// Record returns the rows as a record, which the caller releases, and empties the builder. Errors wrap
// ErrBuild. The builder is empty after an error too (A2).
func (b *RecordBuilder) Record() (arrow.Record, error) {
	defer b.reset()
	if err := b.check(); err != nil {
		return nil, err
	}
	rows := b.rows
	arrays := make([]arrow.Array, len(b.columns))
	for i := range b.columns {
		rows = b.columns[i].len()
		data := b.columns[i].take()
		arrays[i] = array.MakeFromData(data)
		data.Release()
	}
	record := array.NewRecord(b.schema, arrays, int64(rows))
	for _, a := range arrays {
		a.Release()
	}
	return record, nil
}

// check returns an error if the rows do not make a record.
func (b *RecordBuilder) check() error {
	if b.err != nil {
		return b.err
	}
	for i := range b.columns {
		c := &b.columns[i]
		if want := b.columns[0].len(); c.len() != want {
			return fmt.Errorf("%w: field %q has %d rows, field %q %d",
				ErrBuild, c.field.Name, c.len(), b.columns[0].field.Name, want)
		}
		if nulls := c.nullRows(); nulls > 0 && !c.field.Nullable {
			return fmt.Errorf("%w: field %q has %d nulls and is not nullable", ErrBuild, c.field.Name, nulls)
		}
	}
	return nil
}

func (b *RecordBuilder) reset() {
	b.err, b.rows = nil, 0
	for i := range b.columns {
		b.columns[i].reset()
	}
}

// Release frees the pending rows and the builder's tables. Records made before stay valid. The
// builder must not be used again, except for another Release, which does nothing.
func (b *RecordBuilder) Release() {
	b.reset()
	for i := range b.columns {
		b.columns[i].cells.done()
	}
	b.columns = nil
	b.memory.close()
}
