package parca

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/zeebo/xxh3"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// batchOf returns the rows in one of Parca's records. The batch shares no memory with the record.
func batchOf(rec arrow.RecordBatch) (schema.Batch, error) {
	b := schema.Batch{Rows: int(rec.NumRows()), Columns: map[string]encoding.Vector{}}
	for i, field := range rec.Schema().Fields() {
		v, err := vectorOf(rec.Column(i), &b)
		if err != nil {
			return schema.Batch{}, fmt.Errorf("%w: column %q: %w", ErrRecord, field.Name, err)
		}
		if strings.HasPrefix(field.Name, profile.ColumnLabelsPrefix) && v.Valid != nil && !anyOf(v.Valid) {
			continue // a label that only other records in the request have
		}
		b.Columns[field.Name] = v
	}
	for _, name := range append(typeColumns(), profile.ColumnTimeNanos, profile.ColumnTimestamp, profile.ColumnDuration, profile.ColumnPeriod, profile.ColumnValue) {
		if _, ok := b.Columns[name]; !ok {
			return schema.Batch{}, fmt.Errorf("%w: no column %q", ErrRecord, name)
		}
	}
	return b, nil
}

func anyOf(values []bool) bool {
	for _, v := range values {
		if v {
			return true
		}
	}
	return false
}

// vectorOf returns a column's values. In a column of stacks, the encoded locations become the batch's
// records.
func vectorOf(column arrow.Array, b *schema.Batch) (encoding.Vector, error) {
	switch c := column.(type) {
	case *array.Int64:
		return encoding.Vector{Type: encoding.Int64, Int64s: append([]int64(nil), c.Int64Values()...), Valid: validOf(c)}, nil
	case *array.Dictionary:
		texts, err := textsOf(c)
		if err != nil {
			return encoding.Vector{}, err
		}
		v := encoding.Vector{Type: encoding.String, Strings: make([]string, c.Len()), Valid: validOf(c)}
		for i := range v.Strings {
			if c.IsValid(i) {
				v.Strings[i] = texts[c.GetValueIndex(i)]
			}
		}
		return v, nil
	case *array.List:
		return stacksOf(c, b)
	default:
		return encoding.Vector{}, fmt.Errorf("type %s", column.DataType())
	}
}

// validOf returns which rows have a value, nil if all have one.
func validOf(column arrow.Array) []bool {
	if column.NullN() == 0 {
		return nil
	}
	valid := make([]bool, column.Len())
	for i := range valid {
		valid[i] = column.IsValid(i)
	}
	return valid
}

// textsOf returns the values in a text dictionary as UTF-8. Bytes that are not UTF-8 become U+FFFD.
func textsOf(c *array.Dictionary) ([]string, error) {
	texts := make([]string, c.Dictionary().Len())
	for i := range texts {
		switch d := c.Dictionary().(type) {
		case *array.Binary:
			texts[i] = strings.ToValidUTF8(string(d.Value(i)), "\uFFFD")
		case *array.String:
			texts[i] = strings.ToValidUTF8(strings.Clone(d.Value(i)), "\uFFFD")
		default:
			return nil, fmt.Errorf("dictionary of %s", c.Dictionary().DataType())
		}
	}
	return texts, nil
}

// stacksOf returns a column of stacks as lists of location ids.
func stacksOf(c *array.List, b *schema.Batch) (encoding.Vector, error) {
	places, ok := c.ListValues().(*array.Dictionary)
	if !ok {
		return encoding.Vector{}, fmt.Errorf("type %s", c.DataType())
	}
	encoded, ok := places.Dictionary().(*array.Binary)
	if !ok {
		return encoding.Vector{}, fmt.Errorf("locations of type %s", places.Dictionary().DataType())
	}
	ids := make([]uuid.UUID, encoded.Len())
	b.Records = make(map[uuid.UUID][]byte, len(ids))
	for i := range ids {
		location := encoded.Value(i)
		if err := checkLocation(location); err != nil {
			return encoding.Vector{}, err
		}
		ids[i] = LocationID(location)
		b.Records[ids[i]] = append([]byte(nil), location...)
	}
	v := encoding.Vector{Type: encoding.UUIDList, Offsets: make([]int32, 1, c.Len()+1), Valid: validOf(c)}
	for i := range c.Len() {
		if c.IsValid(i) {
			start, end := c.ValueOffsets(i)
			for j := int(start); j < int(end); j++ {
				if places.IsNull(j) {
					return encoding.Vector{}, fmt.Errorf("row %d: a null location", i)
				}
				v.UUIDs = append(v.UUIDs, ids[places.GetValueIndex(j)])
			}
		}
		v.Offsets = append(v.Offsets, int32(len(v.UUIDs)))
	}
	return v, nil
}

// LocationID returns the id of a location that Parca encoded: a hash of its bytes. Equal locations have one
// id in all stores.
func LocationID(encoded []byte) uuid.UUID {
	return xxh3.Hash128(encoded).Bytes()
}
