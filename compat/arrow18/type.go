package arrow18

import (
	"errors"
	"fmt"

	arrow14 "github.com/apache/arrow/go/v14/arrow"

	arrow18 "github.com/apache/arrow-go/v18/arrow"
)

// ErrType means that a field has a type that is not bridged. The message names the field, and the place of
// the type within it.
var ErrType = errors.New("type is not bridged")

// maxDepth bounds the nesting of types. Granary's types are at most four deep: runs of a dictionary of lists
// of ids.
const maxDepth = 32

// layout is the number and meaning of an array's buffers and children.
type layout uint8

const (
	noValues    layout = iota // one buffer, always nil
	bitValues                 // validity; a bit for each value
	fixedValues               // validity; shape.width bytes for each value
	textValues                // validity, 32-bit offsets, bytes
	listValues                // validity, 32-bit offsets; a child
	runValues                 // one buffer, always nil; run ends and values are children
)

// buffers returns the number of buffers.
func (l layout) buffers() int { return [...]int{1, 2, 2, 3, 2, 1}[l] }

// shape is one type in both versions of Arrow, with the expected form of its arrays. It is
// immutable.
type shape struct {
	from       arrow14.DataType
	to         arrow18.DataType
	layout     layout
	width      int      // bytes per value of fixedValues
	children   []*shape // of listValues and runValues
	dictionary *shape   // shape of the values, if this is a dictionary; layout is the layout of the indexes
}

// primitives are the types without parameters.
var primitives = map[arrow14.Type]shape{
	arrow14.NULL:    {to: arrow18.Null, layout: noValues},
	arrow14.BOOL:    {to: arrow18.FixedWidthTypes.Boolean, layout: bitValues},
	arrow14.INT8:    {to: arrow18.PrimitiveTypes.Int8, layout: fixedValues, width: 1},
	arrow14.UINT8:   {to: arrow18.PrimitiveTypes.Uint8, layout: fixedValues, width: 1},
	arrow14.INT16:   {to: arrow18.PrimitiveTypes.Int16, layout: fixedValues, width: 2},
	arrow14.UINT16:  {to: arrow18.PrimitiveTypes.Uint16, layout: fixedValues, width: 2},
	arrow14.INT32:   {to: arrow18.PrimitiveTypes.Int32, layout: fixedValues, width: 4},
	arrow14.UINT32:  {to: arrow18.PrimitiveTypes.Uint32, layout: fixedValues, width: 4},
	arrow14.INT64:   {to: arrow18.PrimitiveTypes.Int64, layout: fixedValues, width: 8},
	arrow14.UINT64:  {to: arrow18.PrimitiveTypes.Uint64, layout: fixedValues, width: 8},
	arrow14.FLOAT32: {to: arrow18.PrimitiveTypes.Float32, layout: fixedValues, width: 4},
	arrow14.FLOAT64: {to: arrow18.PrimitiveTypes.Float64, layout: fixedValues, width: 8},
	arrow14.STRING:  {to: arrow18.BinaryTypes.String, layout: textValues},
	arrow14.BINARY:  {to: arrow18.BinaryTypes.Binary, layout: textValues},
}

// shapeOf returns the shape of a v14 type. Errors wrap ErrType.
func shapeOf(t arrow14.DataType, depth int) (*shape, error) {
	if t == nil {
		return nil, fmt.Errorf("%w: no type", ErrType)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: more than %d deep", ErrType, maxDepth)
	}
	switch t := t.(type) {
	case *arrow14.FixedSizeBinaryType:
		if t.ByteWidth < 1 {
			return nil, fmt.Errorf("%w: %v", ErrType, t)
		}
		return &shape{from: t, to: &arrow18.FixedSizeBinaryType{ByteWidth: t.ByteWidth}, layout: fixedValues, width: t.ByteWidth}, nil
	case *arrow14.TimestampType:
		to := &arrow18.TimestampType{Unit: arrow18.TimeUnit(t.Unit), TimeZone: t.TimeZone}
		return &shape{from: t, to: to, layout: fixedValues, width: 8}, nil
	case *arrow14.ListType:
		return listShape(t, depth)
	case *arrow14.DictionaryType:
		return dictionaryShape(t, depth)
	case *arrow14.RunEndEncodedType:
		return runShape(t, depth)
	}
	s, known := primitives[t.ID()]
	if !known {
		return nil, fmt.Errorf("%w: %v", ErrType, t)
	}
	s.from = t
	return &s, nil
}

func listShape(t *arrow14.ListType, depth int) (*shape, error) {
	elem := t.ElemField()
	child, err := shapeOf(elem.Type, depth+1)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return &shape{from: t, to: arrow18.ListOfField(field(elem, child)), layout: listValues, children: []*shape{child}}, nil
}

func dictionaryShape(t *arrow14.DictionaryType, depth int) (*shape, error) {
	indexes, err := shapeOf(t.IndexType, depth+1)
	if err != nil {
		return nil, fmt.Errorf("dictionary indexes: %w", err)
	}
	if !arrow18.IsInteger(indexes.to.ID()) {
		return nil, fmt.Errorf("dictionary indexes: %w: %v", ErrType, t.IndexType)
	}
	values, err := shapeOf(t.ValueType, depth+1)
	if err != nil {
		return nil, fmt.Errorf("dictionary: %w", err)
	}
	to := &arrow18.DictionaryType{IndexType: indexes.to, ValueType: values.to, Ordered: t.Ordered}
	return &shape{from: t, to: to, layout: fixedValues, width: indexes.width, dictionary: values}, nil
}

func runShape(t *arrow14.RunEndEncodedType, depth int) (*shape, error) {
	ends, err := shapeOf(t.RunEnds(), depth+1)
	if err != nil {
		return nil, fmt.Errorf("run ends: %w", err)
	}
	if !t.ValidRunEndsType(t.RunEnds()) {
		return nil, fmt.Errorf("run ends: %w: %v", ErrType, t.RunEnds())
	}
	values, err := shapeOf(t.Encoded(), depth+1)
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	to := arrow18.RunEndEncodedOf(ends.to, values.to)
	to.ValueNullable = t.ValueNullable
	return &shape{from: t, to: to, layout: runValues, children: []*shape{ends, values}}, nil
}

// field returns a v18 field of a shape.
func field(f arrow14.Field, s *shape) arrow18.Field {
	return arrow18.Field{Name: f.Name, Type: s.to, Nullable: f.Nullable, Metadata: metadata(f.Metadata)}
}

func metadata(md arrow14.Metadata) arrow18.Metadata {
	return arrow18.NewMetadata(md.Keys(), md.Values())
}
