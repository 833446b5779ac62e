package fleet

import (
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// Coder turns batches of values into batches of codes. It belongs to one goroutine.
type Coder struct {
	codes  *columnstore.Codes
	series map[string]uint32
}

// NewCoder returns a coder that interns into codes.
func NewCoder(codes *columnstore.Codes) *Coder {
	return &Coder{codes: codes, series: map[string]uint32{}}
}

// Code returns the batch with codes in place of its stacks and series, and interns unknown ones. The other
// columns are shared with b.
func (c *Coder) Code(b schema.Batch) (schema.Batch, error) {
	key := b.Columns[profile.ColumnSampleType].Strings[0] + b.Columns[profile.ColumnLabels+".pod"].Strings[0]
	labels := map[string]string{}
	out := schema.Batch{Rows: b.Rows, Columns: map[string]encoding.Vector{}}
	for name, v := range b.Columns {
		switch v.Type {
		case encoding.String:
			labels[name] = v.Strings[0]
		case encoding.UUIDList:
			stacks, err := c.codes.UUIDLists(nil, v.UUIDLists)
			if err != nil {
				return out, err
			}
			out.Columns[name] = encoding.ListCodes(stacks...)
		default:
			out.Columns[name] = v
		}
	}
	if c.series[key] == 0 {
		code, err := c.codes.Series(labels)
		if err != nil {
			return out, err
		}
		c.series[key] = code
	}
	out.Series = c.series[key]
	return out, nil
}
