package profile

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// labelColumns is the columns that the labels of a profile go to. Names and units
// are compared as text once for each string of the profile, not for each label.
type labelColumns struct {
	list  []labelValues
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

// columnKey says what is in a column: the k-th value of a label, of one unit.
type columnKey struct {
	name, unit uint32 // index in names, and of a string by byText
	k          uint32
}

// labelName is a name of labels, and what is known of it in the sample at hand.
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
	c.list, c.names = c.list[:0], c.names[:0]
	c.nameOf[0], c.nameOf[1] = c.nameOf[0][:0], c.nameOf[1][:0]
}

// placeLabels gives each label its column. It returns the bytes of all labels.
func (f *flat) placeLabels() (bytes int, err error) {
	if len(f.labels) == 0 {
		return 0, nil
	}
	f.columns.start(len(f.strings))
	at := 0
	for i, s := range f.samples {
		for ; at < int(s.labels); at++ {
			l := &f.labels[at]
			n := f.labelName(l)
			if n.sample != i+1 {
				n.sample, n.first, n.count = i+1, at, 0
			}
			if err := f.placeLabel(l, n); err != nil {
				return 0, err
			}
			n.count++
			bytes += len(n.text) + 16
			if l.isText {
				bytes += len(f.strings[l.text]) - 16
			}
			if bytes > maxLabelBytes {
				return 0, fmt.Errorf("%w: more than %d bytes of labels", ErrTooLarge, maxLabelBytes)
			}
		}
	}
	return bytes, nil
}

func (c *labelColumns) start(strings int) {
	if c.byKey == nil {
		c.byKey, c.byText = map[columnKey]uint32{}, map[string]uint32{}
	}
	for i := range c.nameOf {
		c.nameOf[i] = append(c.nameOf[i][:0], make([]uint32, strings)...)
	}
}

// sameText returns the string that stands for all that have the text of s.
func (f *flat) sameText(s uint32) uint32 {
	first, known := f.columns.byText[f.strings[s]]
	if !known {
		first = s
		f.columns.byText[f.strings[s]] = s
	}
	return first
}

// labelName returns the name of a label.
func (f *flat) labelName(l *flatLabel) *labelName {
	c, kind := &f.columns, 0
	if l.isText {
		kind = 1
	}
	of := c.nameOf[kind]
	if of[l.name] == 0 {
		same := f.sameText(l.name)
		if of[same] == 0 {
			n := labelName{index: uint32(len(c.names)), text: f.strings[same], isText: l.isText}
			if l.isText {
				n.id = idType(n.text)
			}
			c.names = append(c.names, n)
			of[same] = uint32(len(c.names))
		}
		of[l.name] = of[same]
	}
	return &c.names[of[l.name]-1]
}

// placeLabel sets the column of a label that comes after n.count others of its
// name. An id that is a label's only value has a column of its own: ids differ
// row by row, and a dictionary of them would only grow.
func (f *flat) placeLabel(l *flatLabel, n *labelName) (err error) {
	if n.count == maxValues {
		return fmt.Errorf("%w: label %q has over %d values in one sample", ErrTooLarge, n.text, maxValues)
	}
	unit := l.text
	if l.isText {
		unit = 0
	}
	if n.count == 0 && n.hasColumn && n.unit == unit && n.id == 0 {
		l.column = n.column
		return nil
	}
	if n.count == 0 && n.id != 0 {
		if _, ok := parseID(n.id, f.strings[l.text]); ok {
			l.column, err = f.column(l, n, columnID)
			return err
		}
	}
	if n.count == 1 && n.id != 0 { // the first one turns out not to be alone
		first := &f.labels[n.first]
		if first.column, err = f.column(first, n, 0); err != nil {
			return err
		}
	}
	if l.column, err = f.column(l, n, n.count); err == nil && n.count == 0 {
		n.unit, n.column, n.hasColumn = unit, l.column, true
	}
	return err
}

// columnID is the k of an id that is in a column of its own.
const columnID = maxValues

// column returns the column of the k-th value of a label, a new one if there is
// none yet.
func (f *flat) column(l *flatLabel, n *labelName, k uint32) (uint32, error) {
	c, key := &f.columns, columnKey{name: n.index, k: k}
	if !n.isText {
		key.unit = f.sameText(l.text)
	}
	column, known := c.byKey[key]
	if known {
		return column, nil
	}
	if len(c.list) == schema.MaxDynamic {
		return 0, fmt.Errorf("%w: over %d distinct labels", ErrTooLarge, schema.MaxDynamic)
	}
	made := labelValues{values: encoding.Vector{Type: encoding.Int64}}
	switch {
	case k == columnID:
		made.name, made.values.Type = n.text, n.id
	case n.isText:
		made.name, made.values.Type = labelColumn(ColumnPprofLabels, n.text, int(k)), encoding.String
	default:
		made.name = numLabelColumn(n.text, f.strings[l.text], int(k))
	}
	column = uint32(len(c.list))
	c.byKey[key] = column
	c.list = append(c.list, made)
	return column, nil
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
func (c *labelValues) set(row, rows int, l *flatLabel, text string) {
	v := &c.values
	if v.Len() == 0 {
		c.make(rows)
	}
	switch v.Type {
	case encoding.String:
		v.Strings[row] = text
		return // a string that is empty is no value
	case encoding.Int64:
		v.Int64s[row] = l.number
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
