package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	arrow14 "github.com/apache/arrow/go/v14/arrow"
	array14 "github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"
	"github.com/parca-dev/parca/pkg/profile"
)

// textType is the type of text in Parca's and FrostDB's records.
var textType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.Binary}

// converter makes Parca's records from the records of one scan. The scan's element names are numbers of
// locations, whose bytes the converter keeps, because names are UTF-8, and encoded locations are any bytes.
type converter struct {
	pool      memory.Allocator
	none      bool     // no column is requested
	locations [][]byte // by number
	places    []int    // by number: index in the current record's dictionary, minus 1
}

func newConverter(pool memory.Allocator, none bool) *converter {
	return &converter{pool: pool, none: none}
}

// element implements columnstore.ScanOptions.Elements.
func (c *converter) element(dst []string, _ uuid.UUID, record []byte) []string {
	c.locations = append(c.locations, append([]byte(nil), record...))
	return append(dst, strconv.Itoa(len(c.locations)-1))
}

// each calls f with the ranges of rows that have the same labels.
func (c *converter) each(rec arrow14.Record, f func(start, end int) error) error {
	var labels []arrow14.Array
	for i, field := range rec.Schema().Fields() {
		if strings.HasPrefix(field.Name, profile.ColumnLabelsPrefix) {
			labels = append(labels, rec.Column(i))
		}
	}
	start, rows := 0, int(rec.NumRows())
	for i := 1; i <= rows; i++ {
		same := i < rows
		for j := 0; same && j < len(labels); j++ {
			same = labels[j].IsNull(i) == labels[j].IsNull(i-1)
		}
		if !same {
			if err := f(start, i); err != nil {
				return err
			}
			start = i
		}
	}
	return nil
}

// record returns the rows in a range from each.
func (c *converter) record(rec arrow14.Record, start, end int) (arrow.RecordBatch, error) {
	var fields []arrow.Field
	var columns []arrow.Array
	defer func() {
		for _, col := range columns {
			col.Release()
		}
	}()
	for i, field := range rec.Schema().Fields() {
		if c.none || strings.HasPrefix(field.Name, profile.ColumnLabelsPrefix) && rec.Column(i).IsNull(start) {
			continue
		}
		col, err := c.column(rec.Column(i), start, end)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", field.Name, err)
		}
		columns = append(columns, col)
		fields = append(fields, arrow.Field{Name: field.Name, Type: col.DataType(), Nullable: field.Nullable})
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(end-start)), nil
}

// column returns a column's values in a range of rows.
func (c *converter) column(col arrow14.Array, start, end int) (arrow.Array, error) {
	switch col := col.(type) {
	case *array14.Int64:
		b := array.NewInt64Builder(c.pool)
		defer b.Release()
		b.AppendValues(col.Int64Values()[start:end], nil)
		return b.NewArray(), nil
	case *array14.Dictionary:
		switch values := col.Dictionary().(type) {
		case *array14.String:
			return c.texts(col, values, start, end)
		case *array14.List:
			return c.stacks(col, values, start, end)
		}
	}
	return nil, fmt.Errorf("unexpected type %s", col.DataType())
}

// texts returns text values.
func (c *converter) texts(col *array14.Dictionary, values *array14.String, start, end int) (arrow.Array, error) {
	b := array.NewDictionaryBuilder(c.pool, textType).(*array.BinaryDictionaryBuilder)
	defer b.Release()
	for i := start; i < end; i++ {
		if col.IsNull(i) {
			b.AppendNull()
		} else if err := b.AppendString(values.Value(col.GetValueIndex(i))); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}

// stacks returns stacks in Parca's form: lists of indexes in a dictionary of encoded locations.
func (c *converter) stacks(col *array14.Dictionary, lists *array14.List, start, end int) (arrow.Array, error) {
	names, ok := lists.ListValues().(*array14.String)
	if !ok {
		return nil, fmt.Errorf("unexpected lists of %s", lists.ListValues().DataType())
	}
	c.places = append(c.places[:0], make([]int, len(c.locations))...)
	out := newStackBuilder(end-start, 32)
	for i := start; i < end; i++ {
		if col.IsNull(i) {
			out.endNull()
			continue
		}
		from, to := lists.ValueOffsets(col.GetValueIndex(i))
		for j := int(from); j < int(to); j++ {
			number, err := strconv.Atoi(names.Value(j))
			if err != nil {
				return nil, err
			}
			if c.places[number] == 0 {
				c.places[number] = out.addLocation(c.locations[number]) + 1
			}
			out.add(uint32(c.places[number] - 1))
		}
		out.end()
	}
	return out.list(), nil
}
