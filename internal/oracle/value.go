package oracle

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Row has a row's values by concrete column name. A null is absent or nil.
type Row = map[string]any

// Cells has a row's values in the order of some columns.
type Cells []any

// Text writes a value, or a Row, so that equal text means equal values.
func Text(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(v)
	case int64:
		return "int64(" + strconv.FormatInt(v, 10) + ")"
	case Row:
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name] != nil {
				out.WriteString(name + "=" + Text(v[name]) + " ")
			}
		}
		return out.String()
	}
	return fmt.Sprintf("%T(%v)", value, value)
}

// Texts returns the rows as sorted text: equal for equal multisets of rows.
func Texts(rows []Row) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = Text(row)
	}
	slices.Sort(out)
	return out
}

// Project returns the values of columns `names`, null where the row has none.
func Project(row Row, names []string) Row {
	out := Row{}
	for _, name := range names {
		out[name] = row[name]
	}
	return out
}

// Pick returns the cells at places.
func (c Cells) Pick(places []int) Cells {
	out := make(Cells, len(places))
	for i, at := range places {
		out[i] = c[at]
	}
	return out
}

// Text writes the cells so that equal text means equal values.
func (c Cells) Text() string {
	cells := make([]string, len(c))
	for i, value := range c {
		cells[i] = Text(value)
	}
	return strings.Join(cells, " ")
}

// AppendCell writes a value so that equal bytes mean equal values.
func AppendCell(dst []byte, value any) []byte {
	switch x := value.(type) {
	case nil:
		return append(dst, 0)
	case string:
		dst = binary.AppendUvarint(append(dst, 1), uint64(len(x)))
		return append(dst, x...)
	case int64:
		return binary.LittleEndian.AppendUint64(append(dst, 2), uint64(x))
	case uint64:
		return binary.LittleEndian.AppendUint64(append(dst, 3), x)
	case float64:
		return binary.LittleEndian.AppendUint64(append(dst, 4), math.Float64bits(x))
	case bool:
		return append(dst, 5, byte(boolInt(x)))
	case uuid.UUID:
		return append(append(dst, 6), x[:]...)
	case []uuid.UUID:
		dst = binary.AppendUvarint(append(dst, 7), uint64(len(x)))
		for _, id := range x {
			dst = append(dst, id[:]...)
		}
		return dst
	}
	panic(fmt.Sprintf("no cell of a %T", value))
}

// Same reports whether two values are equal to the store.
func Same(a, b any) bool { return string(AppendCell(nil, a)) == string(AppendCell(nil, b)) }

// Compare compares two values with one type as conditions do.
func Compare(a, b any) int {
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string))
	case int64:
		return cmp.Compare(x, b.(int64))
	case uint64:
		return cmp.Compare(x, b.(uint64))
	case float64:
		return cmp.Compare(x, b.(float64))
	case bool:
		return boolInt(x) - boolInt(b.(bool))
	case uuid.UUID:
		y := b.(uuid.UUID)
		return bytes.Compare(x[:], y[:])
	}
	panic(fmt.Sprintf("no order of %T", a))
}

// CompareKeys compares two values with one type as the sorting key does: null comes first, and -0 before 0.
func CompareKeys(a, b any) int {
	if a == nil || b == nil {
		return boolInt(a != nil) - boolInt(b != nil)
	}
	if x, ok := a.(float64); ok {
		y := b.(float64)
		return cmp.Or(cmp.Compare(x, y), boolInt(math.Signbit(y))-boolInt(math.Signbit(x)))
	}
	return Compare(a, b)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
