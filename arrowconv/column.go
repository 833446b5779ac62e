package arrowconv

import (
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// column collects a field's rows: a cell for each row or, if run-end encoded, for each run.
type column struct {
	field Field
	cells cells
	runs  *runBuilder // nil: not run-end encoded
}

func newColumn(mem memory.Allocator, form Form, f Field) column {
	c := column{field: f, cells: newCells(mem, form, &f)}
	if form == FormNative && f.Runs {
		c.runs = &runBuilder{typ: f.dataType(form), ends: buffer{mem: mem}}
	}
	return c
}

// len returns the number of rows.
func (c *column) len() int {
	if c.runs != nil {
		return c.runs.rows
	}
	return c.cells.n
}

// nullRows returns the number of rows without a value.
func (c *column) nullRows() int {
	if c.runs != nil {
		return c.runs.nulls
	}
	return c.cells.validity.nulls
}

// appendWords appends rows read from an encoded column.
func (c *column) appendWords(from *encoding.Column, words []uint64, valid []bool) error {
	if err := c.checkType(from.Type()); err != nil {
		return err
	}
	if valid != nil && len(valid) != len(words) {
		return fmt.Errorf("%d words and %d valid flags", len(words), len(valid))
	}
	var most uint64
	if l := c.cells.listReader(); l != nil && l.shared && len(words) > 0 {
		most = slices.Max(words)
	}
	if err := c.cells.follow(from, most); err != nil {
		return err
	}
	if c.runs == nil {
		return c.cells.appendWords(from, words, valid)
	}
	fixed := c.field.Type.Fixed()
	null := func(i int) bool { return valid != nil && !valid[i] || !fixed && words[i] == 0 }
	for lo := 0; lo < len(words); {
		hi, isNull := lo+1, null(lo)
		for hi < len(words) && null(hi) == isNull && (isNull || words[hi] == words[lo]) {
			hi++
		}
		if err := c.runs.add(&c.cells, hi-lo, func() error {
			if isNull {
				return c.cells.nulls(1)
			}
			return c.cells.constant(from, words[lo], 1)
		}); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// constant appends n rows with the same word of an encoded column. They are null if the type is not fixed and
// the word is 0.
func (c *column) constant(from *encoding.Column, word uint64, n int) error {
	if err := c.checkType(from.Type()); err != nil {
		return err
	}
	if !c.field.Type.Fixed() && word == 0 {
		return c.nulls(n)
	}
	if err := c.cells.follow(from, word); err != nil {
		return err
	}
	return c.times(n, func(n int) error { return c.cells.constant(from, word, n) })
}

// appendLists appends rows of lists by their codes in from.
func (c *column) appendLists(from dict.ListView, codes []uint32) error {
	if err := c.checkType(encoding.UUIDList); err != nil {
		return err
	}
	if err := c.cells.followLists(from); err != nil {
		return err
	}
	if c.runs == nil && !c.field.named() {
		return c.cells.appendLists(codes)
	}
	if c.runs == nil {
		c.cells.reserve(len(codes))
	}
	for _, code := range codes {
		if err := c.times(1, func(int) error { return c.cells.list(code) }); err != nil {
			return err
		}
	}
	return nil
}

// repeat appends n rows with the same string.
func (c *column) repeat(value string, n int) error {
	if c.field.Type != encoding.String {
		return fmt.Errorf("a string repeated in rows of type %v", c.field.Type)
	}
	return c.times(n, func(n int) error { return repeatValue(&c.cells, value, n) })
}

// nulls appends n rows without a value.
func (c *column) nulls(n int) error { return c.times(n, c.cells.nulls) }

// times appends n equal rows: n cells, or a cell and its run.
func (c *column) times(n int, add func(n int) error) error {
	switch {
	case n < 0:
		return fmt.Errorf("%d rows", n)
	case n == 0:
		return nil
	case c.runs == nil:
		return add(n)
	}
	return c.runs.add(&c.cells, n, func() error { return add(1) })
}

func (c *column) checkType(t encoding.Type) error {
	if t != c.field.Type {
		return fmt.Errorf("rows of type %v, want %v", t, c.field.Type)
	}
	return nil
}

// take hands over the rows as array data and empties the column. The caller
// releases the result.
func (c *column) take() *array.Data {
	data := c.cells.take()
	if c.runs == nil {
		return data
	}
	defer data.Release()
	return c.runs.take(data)
}

// reset drops the rows.
func (c *column) reset() {
	c.cells.reset()
	if c.runs != nil {
		c.runs.reset()
	}
}
