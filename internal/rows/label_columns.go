package rows

import (
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	codec "github.com/granarydb/granary/profile/pprof"
)

// labelColumns has the columns for a profile's labels. It compares names and units as text once for each
// string of the profile, not for each label.
type labelColumns struct {
	list  []labelValues
	of    []uint32 // by label: index in list
	byKey map[columnKey]uint32
	names []labelName
	// nameOf maps a string to 1 + its index in names, or 0: element 0 for number labels of that name,
	// element 1 for text labels.
	nameOf [2][]uint32
	byText map[string]uint32 // the string that represents this text
}

// labelValues is a concrete column. Its values are allocated with the first value of a row.
type labelValues struct {
	name   string
	values encoding.Vector
}

// columnKey identifies a column: the k-th value of a label in a unit.
type columnKey struct {
	name, unit uint32 // index in names, and a string of byText
	k          uint32
}

// labelName is a label name, with its state in the current sample.
type labelName struct {
	index  uint32 // in labelColumns.names
	text   string
	isText bool
	id     encoding.Type // type of its column of ids; 0 if it has none
	sample int           // 1 + index of the current sample
	first  int           // index of its first label in the sample
	count  uint32        // values in the sample so far

	// The unit and the column of the first value in the previous sample, because most samples use the
	// same.
	unit, column uint32
	hasColumn    bool
}

func (c *labelColumns) reset() {
	clear(c.list)
	clear(c.names)
	clear(c.byKey)
	clear(c.byText)
	c.list, c.names, c.of = c.list[:0], c.names[:0], c.of[:0]
	c.nameOf[0], c.nameOf[1] = c.nameOf[0][:0], c.nameOf[1][:0]
}

func (c *labelColumns) start(strings, labels int) {
	c.of = resize(c.of, labels)
	if c.byKey == nil {
		c.byKey, c.byText = map[columnKey]uint32{}, map[string]uint32{}
	}
	for i := range c.nameOf {
		c.nameOf[i] = append(c.nameOf[i][:0], make([]uint32, strings)...)
	}
}

// set sets a label's value in row `row` of `rows`.
func (c *labelValues) set(row, rows int, l *codec.FlatLabel, text string) {
	v := &c.values
	if v.Len() == 0 {
		c.make(rows)
	}
	switch v.Type {
	case encoding.String:
		v.Strings[row] = text
		return // an empty string is null
	case encoding.Int64:
		v.Int64s[row] = l.Number
	case encoding.UUID:
		v.UUIDs[row], _ = ParseID(v.Type, text)
	case encoding.Uint64:
		id, _ := ParseID(v.Type, text)
		v.Uint64s[row] = binary.BigEndian.Uint64(id[:])
	}
	v.Valid[row] = true
}

// make allocates the column. No row has a value yet.
func (c *labelValues) make(rows int) {
	v := &c.values
	switch v.Type {
	case encoding.String:
		v.Strings = make([]string, rows)
		return
	case encoding.Int64:
		v.Int64s = make([]int64, rows)
	case encoding.UUID:
		v.UUIDs = make([]uuid.UUID, rows)
	case encoding.Uint64:
		v.Uint64s = make([]uint64, rows)
	}
	v.Valid = make([]bool, rows)
}

// resize returns s with n elements of undefined content.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
