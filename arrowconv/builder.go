package arrowconv

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
)

// ErrBuild says that the rows given to a Builder do not make a record; the
// error that wraps it names the field. It comes from a mistake of the caller,
// or from strings or lists beyond 2^31 bytes or elements in one record.
var ErrBuild = errors.New("rows do not make a record")

// Builder makes records of rows that it is given column by column. Mistakes
// (a wrong type, uneven lengths) are kept and reported by Record. A Builder
// belongs to one goroutine.
type Builder struct {
	schema  *arrow.Schema
	columns []column
	memory  *recycler
	rows    int   // of a record without fields
	err     error // the first mistake since the last record
}

// NewBuilder returns an empty builder of records of a form. It takes all memory of
// records from mem, or from the Go heap if mem is nil, and uses again what records gave
// back before the builder is released (A7). It panics if the form is unknown, or if a
// field's type is not one of encoding's. The caller releases the builder.
func NewBuilder(mem memory.Allocator, form Form, fields []Field) *Builder {
	if mem == nil {
		mem = newHeap()
	}
	b := &Builder{schema: NewSchema(form, fields), columns: make([]column, len(fields)), memory: newRecycler(mem)}
	for i, f := range fields {
		b.columns[i] = newColumn(b.memory, form, f)
	}
	return b
}

// Schema returns the schema of the records.
func (b *Builder) Schema() *arrow.Schema { return b.schema }

// Words appends rows read from an encoded column of the field's type: the
// words, as from.Words gives them, and which rows have a value. If valid is
// nil, all rows of a fixed type have one, and of another type those whose word
// is not 0, which is null in any case.
//
// It is fastest if the calls for one field between two records bring columns
// of one dictionary; values of different dictionaries, and of plain columns in
// a coded field, are unified by their bytes. Nothing is kept of the arguments
// but the dictionary; that of lists, and what was read of it, until others come.
func (b *Builder) Words(field int, from *encoding.Column, words []uint64, valid []bool) {
	if b.err == nil {
		b.note(field, b.columns[field].appendWords(from, words, valid))
	}
}

// Constant appends n rows that all have one word of an encoded column of the field's
// type; they have a value, unless the type is not fixed and the word is 0. It costs one
// look-up, and what the rows take.
func (b *Builder) Constant(field int, from *encoding.Column, word uint64, n int) {
	if b.err == nil {
		b.note(field, b.columns[field].constant(from, word, n))
	}
}

// Lists appends rows to a UUIDList field, each with the code of a list of an answer, or
// 0 for null. Unlike Words it keeps nothing of what it read for the next record.
func (b *Builder) Lists(field int, from encoding.Lists, codes []uint32) {
	if b.err == nil {
		b.note(field, b.columns[field].appendLists(from, codes))
	}
}

// Vector appends the rows of a vector of the field's type, but not of lists. It keeps
// nothing of it.
func (b *Builder) Vector(field int, v *encoding.Vector) {
	if b.err == nil {
		b.note(field, b.columns[field].appendVector(v))
	}
}

// Repeat appends n rows with one string to a String field: a label that is
// derived from a series. In a coded field it costs one look-up and 4 bytes a
// row, run-end encoded 8 bytes in all.
func (b *Builder) Repeat(field int, value string, n int) {
	if b.err == nil {
		b.note(field, b.columns[field].repeat(value, n))
	}
}

// Nulls appends n rows without a value.
func (b *Builder) Nulls(field int, n int) {
	if b.err == nil {
		b.note(field, b.columns[field].nulls(n))
	}
}

// note keeps the first error.
func (b *Builder) note(field int, err error) {
	if err != nil {
		b.err = fmt.Errorf("%w: field %q: %w", ErrBuild, b.columns[field].field.Name, err)
	}
}

// Len returns the number of rows of a field since the last record.
func (b *Builder) Len(field int) int { return b.columns[field].len() }

// Size returns the bytes that strings and lists take in the record so far, in all fields:
// what limits how many rows fit. O(fields).
func (b *Builder) Size() int {
	n := 0
	for i := range b.columns {
		n += b.columns[i].cells.size()
	}
	return n
}

// Rows appends n rows to a record without fields, which still has a number of
// rows. With fields it does nothing.
func (b *Builder) Rows(n int) { b.rows += n }

// Record returns the rows as a record, which the caller releases, and empties
// the builder. Errors wrap ErrBuild; the rows are gone then too (A2).
func (b *Builder) Record() (arrow.Record, error) {
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

// check says whether the rows make a record.
func (b *Builder) check() error {
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

func (b *Builder) reset() {
	b.err, b.rows = nil, 0
	for i := range b.columns {
		b.columns[i].reset()
	}
}

// Release frees the rows that no record was made of, and the builder's tables.
// Records made before stay valid. The builder must not be used again, except
// for another Release, which does nothing.
func (b *Builder) Release() {
	b.reset()
	for i := range b.columns {
		b.columns[i].cells.done()
	}
	b.columns = nil
	b.memory.close()
}
