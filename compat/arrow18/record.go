package arrow18

import (
	"errors"
	"fmt"

	arrow14 "github.com/apache/arrow/go/v14/arrow"
	array14 "github.com/apache/arrow/go/v14/arrow/array"

	arrow18 "github.com/apache/arrow-go/v18/arrow"
	array18 "github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// ErrRecord means that a record does not match its schema, or that its buffers are too short
// for its rows.
var ErrRecord = errors.New("invalid record")

// Record returns a v18 record over the buffers of a v14 record. No byte is copied; each buffer is retained
// once and released with the last v18 array over it. The caller releases both records, in any order.
//
// Errors wrap ErrType or ErrRecord and name the column; then nothing is retained. Several goroutines may
// bridge one record at once. The number of allocations depends only on the types; see the package comment.
func Record(rec arrow14.Record) (arrow18.RecordBatch, error) {
	if rec == nil {
		return nil, fmt.Errorf("%w: none", ErrRecord)
	}
	p, err := newPlan(rec.Schema())
	if err != nil {
		return nil, err
	}
	return p.record(rec)
}

// record bridges a record whose schema equals that of the plan.
func (p *plan) record(rec arrow14.Record) (arrow18.RecordBatch, error) {
	if int(rec.NumCols()) != len(p.columns) {
		return nil, fmt.Errorf("%w: %d columns, the schema has %d", ErrRecord, rec.NumCols(), len(p.columns))
	}
	for i, s := range p.columns {
		column := rec.Column(i)
		err := s.check(column.Data())
		if err == nil && int64(column.Len()) != rec.NumRows() {
			err = fmt.Errorf("%w: %d rows, the record has %d", ErrRecord, column.Len(), rec.NumRows())
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", rec.ColumnName(i), err)
		}
	}
	columns := make([]arrow18.Array, len(p.columns))
	for i, s := range p.columns {
		data := s.share(rec.Column(i).Data())
		columns[i] = array18.MakeFromData(data)
		data.Release()
		settle(columns[i])
	}
	out := array18.NewRecordBatch(p.to, columns, rec.NumRows())
	for _, c := range columns {
		c.Release()
	}
	return out, nil
}

// settle fills the fields that v18 fills on first use without a lock (B5).
func settle(a arrow18.Array) {
	switch a := a.(type) {
	case *array18.List:
		settle(a.ListValues())
	case *array18.RunEndEncoded:
		settle(a.Values())
	case *array18.Dictionary:
		settle(a.Dictionary())
	}
}

// share returns v18 data over the buffers of v14 data that passed check.
func (s *shape) share(d arrow14.ArrayData) *array18.Data {
	buffers := shareBuffers(d.Buffers())
	var children []arrow18.ArrayData
	for i, child := range s.children {
		children = append(children, child.share(d.Children()[i]))
	}
	data := array18.NewData(s.to, d.Len(), buffers, children, s.nulls(d), d.Offset())
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	for _, c := range children {
		c.Release()
	}
	if s.dictionary != nil {
		values := s.dictionary.share(d.Dictionary())
		data.SetDictionary(values)
		values.Release()
	}
	return data
}

// nulls counts the nulls in the bitmap. NullN of v14 and v18 would race: both count on first
// use, and store the result without a lock.
func (s *shape) nulls(d arrow14.ArrayData) int {
	validity := d.Buffers()[0]
	if validity == nil { // v18 counts the nulls of a null array
		return 0
	}
	return d.Len() - bitutil.CountSetBits(validity.Bytes(), d.Offset(), d.Len())
}

// check compares data with the shape. Data that passes is bridged without an error, and no v18 constructor
// panics on it. check reads the first and the last offset and the last run end, but no offset between them
// and no values.
func (s *shape) check(d arrow14.ArrayData) error {
	if d.DataType() != s.from && !arrow14.TypeEqual(d.DataType(), s.from) {
		return fmt.Errorf("%w: an array of %v, not of %v", ErrRecord, d.DataType(), s.from)
	}
	if end := d.Offset() + d.Len(); d.Offset() < 0 || d.Len() < 0 || end < 0 {
		return fmt.Errorf("%w: %d rows from %d", ErrRecord, d.Len(), d.Offset())
	}
	if len(d.Buffers()) != s.layout.buffers() || len(d.Children()) != len(s.children) {
		return fmt.Errorf("%w: %d buffers, %d children; %v has %d, %d", ErrRecord,
			len(d.Buffers()), len(d.Children()), s.from, s.layout.buffers(), len(s.children))
	}
	for i, child := range s.children {
		if err := child.check(d.Children()[i]); err != nil {
			return fmt.Errorf("child %d: %w", i, err)
		}
	}
	if err := s.checkBuffers(d); err != nil || s.dictionary == nil {
		return err
	}
	values, ok := d.Dictionary().(*array14.Data)
	if !ok || values == nil { // the dictionary is a nil *Data if there is none
		return fmt.Errorf("%w: no dictionary", ErrRecord)
	}
	if err := s.dictionary.check(values); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	return nil
}

func (s *shape) checkBuffers(d arrow14.ArrayData) error {
	validity, end := d.Buffers()[0], d.Offset()+d.Len()
	if s.layout == noValues || s.layout == runValues {
		if validity != nil {
			return fmt.Errorf("%w: %v with a validity bitmap", ErrRecord, s.from)
		}
		if s.layout == runValues {
			return s.checkRuns(d)
		}
		return nil
	}
	if validity != nil && validity.Len()*8 < end {
		return fmt.Errorf("%w: validity of %d bytes for %d rows", ErrRecord, validity.Len(), end)
	}
	values := d.Buffers()[1]
	if values == nil {
		if d.Len() > 0 {
			return fmt.Errorf("%w: %d rows without values", ErrRecord, d.Len())
		}
		return nil
	}
	switch s.layout {
	case bitValues:
		if values.Len()*8 < end {
			return fmt.Errorf("%w: %d bytes for %d rows", ErrRecord, values.Len(), end)
		}
	case fixedValues:
		if values.Len()/s.width < end {
			return fmt.Errorf("%w: %d bytes for %d rows", ErrRecord, values.Len(), end)
		}
	default:
		return s.checkOffsets(d)
	}
	return nil
}

// checkOffsets checks that the offsets of text or lists lie within their bytes or child.
func (s *shape) checkOffsets(d arrow14.ArrayData) error {
	end := d.Offset() + d.Len()
	if end == 0 { // the buffer of offsets may be empty
		return nil
	}
	offsets := arrow14.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())
	if len(offsets) <= end {
		return fmt.Errorf("%w: %d offsets for %d rows", ErrRecord, len(offsets), end)
	}
	limit := 0
	if s.layout == listValues {
		limit = d.Children()[0].Len()
	} else if text := d.Buffers()[2]; text != nil {
		limit = text.Len()
	}
	first, last := int(offsets[d.Offset()]), int(offsets[end])
	if first < 0 || last < first || last > limit {
		return fmt.Errorf("%w: offsets from %d to %d into %d", ErrRecord, first, last, limit)
	}
	return nil
}

// checkRuns checks that the run ends cover the rows.
func (s *shape) checkRuns(d arrow14.ArrayData) error {
	ends, values := d.Children()[0], d.Children()[1]
	if n := s.children[0].nulls(ends); n != 0 {
		return fmt.Errorf("%w: %d run ends are null", ErrRecord, n)
	}
	if values.Len() < ends.Len() {
		return fmt.Errorf("%w: %d runs of %d values", ErrRecord, ends.Len(), values.Len())
	}
	last := int64(0)
	if at := ends.Offset() + ends.Len() - 1; ends.Len() > 0 {
		bytes := ends.Buffers()[1].Bytes()
		switch s.children[0].width {
		case 2:
			last = int64(arrow14.Int16Traits.CastFromBytes(bytes)[at])
		case 4:
			last = int64(arrow14.Int32Traits.CastFromBytes(bytes)[at])
		default:
			last = arrow14.Int64Traits.CastFromBytes(bytes)[at]
		}
	}
	if end := int64(d.Offset() + d.Len()); last < end {
		return fmt.Errorf("%w: runs end at %d of %d rows", ErrRecord, last, end)
	}
	return nil
}
