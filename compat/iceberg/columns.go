package iceberg

import (
	"fmt"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
)

// runs is a position in a column whose values come in runs, or one a row.
type runs struct {
	ends  []int32 // nil: one value a row
	shift int     // index of the first row in the runs
	at    int     // the last run, or row, that was sought
}

// load takes an array's runs and returns the array of their values.
func (r *runs) load(a arrow.Array) (arrow.Array, error) {
	*r = runs{}
	encoded, ok := a.(*array.RunEndEncoded)
	if !ok {
		return a, nil
	}
	ends, ok := encoded.RunEndsArr().(*array.Int32)
	if !ok {
		return nil, fmt.Errorf("%w: run ends of type %s", ErrRecord, encoded.RunEndsArr().DataType())
	}
	r.ends, r.shift = ends.Int32Values(), a.Data().Offset()
	return encoded.Values(), nil
}

// seek moves to the run that contains row, which is not before the last call's, and returns the row where
// it ends.
func (r *runs) seek(row int) int {
	if r.ends == nil {
		r.at = row
		return row + 1
	}
	for int(r.ends[r.at]) <= row+r.shift {
		r.at++
	}
	return int(r.ends[r.at]) - r.shift
}

// textColumn reads a column of strings as codes in texts.
type textColumn struct {
	runs
	index int    // index of the column in records
	label uint32 // code of the label's name
	codes []uint32
	dict  []uint32
}

// load takes a record's column. Codes are 0 for null, and else t's code plus 1.
func (c *textColumn) load(rec arrow.Record, t *texts) error {
	values, err := c.runs.load(rec.Column(c.index))
	if err != nil {
		return err
	}
	coded, ok := values.(*array.Dictionary)
	if !ok {
		return fmt.Errorf("%w: column %q is of type %s", ErrRecord, rec.ColumnName(c.index), values.DataType())
	}
	dict, ok := coded.Dictionary().(*array.String)
	if !ok {
		return fmt.Errorf("%w: column %q is of type %s", ErrRecord, rec.ColumnName(c.index), values.DataType())
	}
	c.dict = c.dict[:0]
	for i := range dict.Len() {
		c.dict = append(c.dict, t.code(dict.Value(i))+1)
	}
	c.codes = c.codes[:0]
	for i := range coded.Len() {
		if coded.IsNull(i) {
			c.codes = append(c.codes, 0)
			continue
		}
		c.codes = append(c.codes, c.dict[coded.GetValueIndex(i)])
	}
	return nil
}

// now returns the value at the last seek.
func (c *textColumn) now() uint32 { return c.codes[c.at] }

// numberColumn reads a column of numbers that rows may lack.
type numberColumn struct {
	runs
	index  int
	label  uint32
	values *array.Int64
}

func (c *numberColumn) load(rec arrow.Record) error {
	values, err := c.runs.load(rec.Column(c.index))
	if err != nil {
		return err
	}
	var ok bool
	if c.values, ok = values.(*array.Int64); !ok {
		return fmt.Errorf("%w: column %q is of type %s", ErrRecord, rec.ColumnName(c.index), values.DataType())
	}
	return nil
}

func (c *numberColumn) now() (int64, bool) {
	if c.values.IsNull(c.at) {
		return 0, false
	}
	return c.values.Value(c.at), true
}
