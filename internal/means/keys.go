package means

import (
	"encoding/binary"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query"
	"github.com/granarydb/granary/internal/rows"
)

// Text returns the value of a row as text, or "" for null.
func Text(c *query.GroupColumn, row int) string {
	if c.Values.Null(row) {
		return ""
	}
	switch c.Values.Type {
	case encoding.UUID:
		return rows.IDText(c.Values.UUIDs[row])
	case encoding.Uint64:
		return rows.IDText(c.Values.Uint64s[row])
	default:
		return c.Values.Strings[row]
	}
}

// AppendText appends a text. Different sequences of texts append different bytes.
func AppendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// appendKey appends a row's values in columns. Different values append different bytes. In each list the
// first column with a value counts, as text.
func appendKey(dst []byte, groups *query.Groups, columns [][]int, row int) []byte {
	for _, of := range columns {
		if len(of) == 1 {
			dst = appendValue(dst, &groups.Columns[of[0]], row)
			continue
		}
		value := ""
		for _, i := range of {
			if value == "" {
				value = Text(&groups.Columns[i], row)
			}
		}
		dst = AppendText(dst, value)
	}
	return dst
}

// appendValue appends a row's value in a column. Different values append different bytes.
func appendValue(dst []byte, c *query.GroupColumn, row int) []byte {
	switch {
	case c.Codes != nil:
		return binary.LittleEndian.AppendUint32(dst, c.Codes[row])
	case c.Values.Null(row):
		return append(dst, 0)
	case c.Values.Type == encoding.Int64:
		return binary.AppendVarint(append(dst, 1), c.Values.Int64s[row])
	default:
		return AppendText(append(dst, 1), Text(c, row))
	}
}
