package granule

import "github.com/granarydb/granary/schema"

// AppendKey appends the key of a row to dst (see the layout in package schema). Keys from parts in one
// granule compare like their rows: lists by their codes. It costs about 0.3 us.
func (p *Part) AppendKey(dst []byte, s *schema.Schema, row int) []byte {
	p.checkWhole()
	dst = s.AppendBucket(dst, p.bucket)
	dst = append(dst, p.gen.Series.Value(uint32(p.series.At(row)))...)
	for _, column := range s.Suffix() {
		dst = p.appendSuffixColumn(dst, &s.Columns()[column], column, row)
	}
	return dst
}

// appendSuffixColumn appends a row's value in a suffix column, or its values in a family, as
// frame.appendSuffixColumn does.
func (p *Part) appendSuffixColumn(dst []byte, column *schema.Column, index, row int) []byte {
	for i := range p.columns {
		c := &p.columns[i]
		if c.Index != index || c.Null(row) {
			continue
		}
		word := c.Words().At(row)
		if !column.Dynamic {
			return appendValue(schema.AppendPresent(dst), column.Type, word, c.Bytes)
		}
		dst = appendValue(schema.AppendName(dst, c.Name), column.Type, word, c.Bytes)
	}
	return schema.AppendNull(dst)
}
