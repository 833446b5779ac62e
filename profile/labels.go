package profile

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	codec "github.com/granarydb/granary/profile/pprof"
)

// labelColumns is the columns that the labels of a profile go to. Names and units
// are compared as text once for each string of the profile, not for each label.
type labelColumns struct {
	list  []labelValues
	of    []uint32 // by label: its index in list
	byKey map[columnKey]uint32
	names []labelName
	// nameOf has, by string, 1 + the index in names of the number and the text
	// labels that are called so.
	nameOf [2][]uint32
	byText map[string]uint32 // one of the strings that have this text
}

// labelValues is a concrete column. It has values once a row has one.
type labelValues struct {
	name   string
	values encoding.Vector
}

// columnKey identifies a column: the k-th value of a label, of one unit.
type columnKey struct {
	name, unit uint32 // index in names, and of a string by byText
	k          uint32
}

// labelName is a name of labels, with its state in the sample at hand.
type labelName struct {
	index  uint32 // in labelColumns.names
	text   string
	isText bool
	id     encoding.Type // of its own column, if its values may be ids
	sample int           // 1 + the sample
	first  int           // index of its first label there
	count  uint32        // values there

	// The column that the last label went to: mostly the next goes there too.
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

// idType returns the type of the column that ids of this name are in, or 0.
func idType(name string) encoding.Type {
	switch name {
	case ColumnTraceID:
		return encoding.UUID
	case ColumnSpanID:
		return encoding.Uint64
	}
	return 0
}

// parseID reads a trace or span id: lower case hexadecimal, and not a digit more
// or less, so that it is written again as it was.
func parseID(t encoding.Type, text string) (id uuid.UUID, ok bool) {
	size := len(id)
	if t == encoding.Uint64 {
		size = 8
	}
	if len(text) != 2*size || strings.ContainsAny(text, "ABCDEF") {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(text))
	return id, err == nil
}

// set puts the value of a label into a row, of so many.
func (c *labelValues) set(row, rows int, l *codec.FlatLabel, text string) {
	v := &c.values
	if v.Len() == 0 {
		c.make(rows)
	}
	switch v.Type {
	case encoding.String:
		v.Strings[row] = text
		return // a string that is empty is no value
	case encoding.Int64:
		v.Int64s[row] = l.Number
	case encoding.UUID:
		v.UUIDs[row], _ = parseID(v.Type, text)
	case encoding.Uint64:
		id, _ := parseID(v.Type, text)
		v.Uint64s[row] = binary.BigEndian.Uint64(id[:])
	}
	v.Valid[row] = true
}

// make makes the column, in which no row has a value yet.
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

// resize returns a slice of n elements that are whatever they were.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
