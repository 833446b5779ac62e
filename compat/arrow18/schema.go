package arrow18

import (
	"fmt"

	arrow14 "github.com/apache/arrow/go/v14/arrow"

	arrow18 "github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/endian"
)

// Schema returns the v18 schema that equals a v14 schema: names, types, nullability, and the metadata of the
// schema, of its fields and of the elements of lists. The error wraps ErrType, or ErrRecord for nil. Schema
// costs about 1 us per field.
func Schema(schema *arrow14.Schema) (*arrow18.Schema, error) {
	p, err := newPlan(schema)
	if err != nil {
		return nil, err
	}
	return p.to, nil
}

// plan is a schema in both versions of Arrow, which bridging computes once for all rows. It is immutable.
type plan struct {
	from    *arrow14.Schema
	to      *arrow18.Schema
	columns []*shape
}

func newPlan(from *arrow14.Schema) (*plan, error) {
	if from == nil {
		return nil, fmt.Errorf("%w: no schema", ErrRecord)
	}
	p := &plan{from: from}
	fields := make([]arrow18.Field, len(from.Fields()))
	for i, f := range from.Fields() {
		s, err := shapeOf(f.Type, 1)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		p.columns = append(p.columns, s)
		fields[i] = field(f, s)
	}
	md := metadata(from.Metadata())
	p.to = arrow18.NewSchemaWithEndian(fields, &md, endian.Endianness(from.Endianness()))
	return p, nil
}
