package arrowconv

import (
	"fmt"
	"math"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
)

// stateKind is a kind of values: null, or the kind of a column of values. Package history has the same
// numbers.
type stateKind uint8

const (
	_ stateKind = iota // null
	stateBool
	stateInt
	stateFloat
	stateString
	stateBytes
)

var stateKindTexts = [...][]byte{[]byte("null"), []byte("bool"), []byte("int"), []byte("float"), []byte("string"), []byte("bytes")}

// column returns the column of the kind's values. Null has none.
func (k stateKind) column() intervalColumn { return columnBool - 1 + intervalColumn(k) }

// IntervalRows holds intervals of attributes as plain columns of equal length.
type IntervalRows struct {
	Attributes   []uint32
	Starts, Ends []int64
	Open         []bool
	Kinds        []uint8 // 0 null, 1 bool, 2 int, 3 float, 4 string, 5 bytes
	// Words are the values: 0 or 1 for a bool, an int, the bits of a float, or the code of a
	// string or bytes. The word of null is ignored.
	Words []uint64
}

// IntervalOptions are the options of an IntervalBuilder.
type IntervalOptions struct {
	// Memory allocates the records; nil means the Go allocator.
	Memory memory.Allocator
	// Form is the representation of repeated values in the records.
	Form Form
	// Columns names the columns, in their order; nil means all.
	Columns []string
	// MaxRows and MaxBytes bound a record. It is full if it has MaxRows rows, or if its paths and texts take
	// MaxBytes. Both must be above 0.
	MaxRows, MaxBytes int
	// Path appends an attribute's path, in UTF-8. Paths are distinct.
	Path func(dst []byte, attribute uint32) ([]byte, error)
	// Text returns a string or bytes by its code. Strings are UTF-8. Two codes never have the
	// same string.
	Text func(code uint32) []byte
}

// IntervalBuilder makes records of intervals. It is not safe for concurrent use.
type IntervalBuilder struct {
	opts   IntervalOptions
	schema *arrow.Schema
	memory *recycler
	wanted [intervalColumns]bool
	order  []intervalColumn
	rows   int

	last  uint32 // attribute of the last row
	ends  buffer // FormNative, int32: the ends of the runs of attributes, except the last
	words [intervalColumns]stateWords
	texts [intervalColumns]stateTexts // of the columns that have texts

	path []byte // of the attribute of the last row
}

// NewIntervalBuilder returns an empty builder, which the caller releases. It takes the memory
// of records from opts.Memory, and reuses the memory of records that are released before the
// builder (A7). Errors wrap ErrBuild: an unknown form, a column that is unknown or named
// twice, or a bound that is not above 0.
func NewIntervalBuilder(opts IntervalOptions) (*IntervalBuilder, error) {
	if opts.MaxRows <= 0 || opts.MaxRows > math.MaxInt32 || opts.MaxBytes <= 0 {
		return nil, fmt.Errorf("%w: records of %d rows and %d bytes", ErrBuild, opts.MaxRows, opts.MaxBytes)
	}
	order, err := intervalOrder(opts.Columns)
	if err != nil {
		return nil, err
	}
	schema, err := NewIntervalSchema(opts.Form, opts.Columns)
	if err != nil {
		return nil, err
	}
	if opts.Memory == nil {
		opts.Memory = memory.NewGoAllocator()
	}
	b := &IntervalBuilder{opts: opts, schema: schema, memory: newRecycler(opts.Memory), order: order}
	for _, c := range order {
		b.wanted[c] = true
	}
	b.ends.mem = b.memory
	for c := range intervalColumns {
		if width := c.width(); width > 0 {
			b.words[c] = newStateWords(b.memory, width)
		} else {
			b.texts[c] = newStateTexts(b.memory, opts.Form != FormPlain && c != columnBytes)
		}
	}
	return b, nil
}

// Append adds intervals, from index `from` on, until there are no more or the record is full, and returns
// their number. Rows of an attribute should adjoin, because that costs less, and because in FormNative every
// change of attribute starts a run. Append retains nothing of its arguments. It costs 5 to 40 ns per
// interval, plus a call of Path for each attribute of a record.
//
// Append returns the errors of Path, and ErrBuild for columns of different lengths, an unknown kind, or
// texts of more than 2 GiB. After an error the builder can only be released.
func (b *IntervalBuilder) Append(rows *IntervalRows, from int) (n int, err error) {
	all := len(rows.Attributes)
	for _, length := range []int{len(rows.Starts), len(rows.Ends), len(rows.Open), len(rows.Kinds), len(rows.Words)} {
		if length != all {
			return 0, fmt.Errorf("%w: columns of %d and %d intervals", ErrBuild, all, length)
		}
	}
	if from < 0 || from > all {
		return 0, fmt.Errorf("%w: interval %d of %d", ErrBuild, from, all)
	}
	base := b.rows
	to := from
	for ; to < all && !b.Full(); to++ {
		if err := b.appendTexts(rows, to); err != nil {
			return 0, err
		}
		b.rows++
	}
	if err := b.padTexts(); err != nil {
		return 0, err
	}
	b.appendWords(rows, from, to)
	return b.rows - base, nil
}

// Full reports whether the record takes no more intervals.
func (b *IntervalBuilder) Full() bool {
	return b.rows >= b.opts.MaxRows || b.rows > 0 && b.size() >= b.opts.MaxBytes
}

// Rows returns the number of intervals since the last record.
func (b *IntervalBuilder) Rows() int { return b.rows }

// size returns the number of bytes that texts take.
func (b *IntervalBuilder) size() int {
	t := &b.texts
	return t[columnPath].values.size() + t[columnKind].values.size() + t[columnString].values.size() + t[columnBytes].values.size()
}

// appendTexts adds the texts and the attribute of interval i.
func (b *IntervalBuilder) appendTexts(rows *IntervalRows, i int) error {
	if err := b.appendAttribute(rows.Attributes[i]); err != nil {
		return err
	}
	kind := stateKind(rows.Kinds[i])
	if int(kind) >= len(stateKindTexts) {
		return fmt.Errorf("%w: kind %d of a value", ErrBuild, kind)
	}
	if b.wanted[columnKind] {
		if err := b.texts[columnKind].add(uint32(kind), func() []byte { return stateKindTexts[kind] }); err != nil {
			return err
		}
	}
	if kind < stateString || !b.wanted[kind.column()] {
		return nil
	}
	to := &b.texts[kind.column()]
	if err := to.nulls(b.rows - to.n); err != nil {
		return err
	}
	code := uint32(rows.Words[i])
	return to.add(code, func() []byte { return b.opts.Text(code) })
}

// padTexts adds nulls for the intervals after the last text.
func (b *IntervalBuilder) padTexts() error {
	for _, c := range []intervalColumn{columnString, columnBytes} {
		if to := &b.texts[c]; b.wanted[c] {
			if err := to.nulls(b.rows - to.n); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendAttribute adds the attribute of an interval as a cell or a run.
func (b *IntervalBuilder) appendAttribute(a uint32) error {
	isNew := b.rows == 0 || a != b.last
	if isNew && b.wanted[columnPath] {
		var err error
		if b.path, err = b.opts.Path(b.path[:0], a); err != nil {
			return err
		}
	}
	b.last = a
	if b.opts.Form == FormNative {
		if !isNew {
			return nil
		}
		if b.rows > 0 {
			putInt32(b.ends.grow(4), int32(b.rows))
		}
		b.words[columnID].append32(a)
	}
	if !b.wanted[columnPath] {
		return nil
	}
	return b.texts[columnPath].add(a, func() []byte { return b.path })
}

// appendWords adds the values of intervals [from, to), except texts.
func (b *IntervalBuilder) appendWords(rows *IntervalRows, from, to int) {
	if b.wanted[columnID] && b.opts.Form != FormNative {
		b.words[columnID].append32(rows.Attributes[from:to]...)
	}
	if b.wanted[columnStart] {
		b.words[columnStart].append64(rows.Starts[from:to])
	}
	if b.wanted[columnEnd] {
		b.words[columnEnd].append64(rows.Ends[from:to])
	}
	if b.wanted[columnOpen] {
		b.words[columnOpen].appendBools(rows.Open[from:to])
	}
	for _, kind := range []stateKind{stateBool, stateInt, stateFloat} {
		if c := kind.column(); b.wanted[c] {
			b.words[c].appendKind(uint8(kind), rows.Kinds[from:to], rows.Words[from:to])
		}
	}
}

// Record returns the intervals as a record, which the caller releases, and empties the
// builder.
func (b *IntervalBuilder) Record() arrow.Record {
	var ends *array.Data
	if b.opts.Form == FormNative {
		if b.rows > 0 {
			putInt32(b.ends.grow(4), int32(b.rows))
		}
		runs := b.ends.n / 4
		ends = newData(endsType, runs, 0, nil, b.ends.take())
		defer ends.Release()
	}
	arrays := make([]arrow.Array, len(b.order))
	for i, c := range b.order {
		data := b.take(c)
		if typ := b.schema.Field(i).Type; typ.ID() == arrow.RUN_END_ENCODED {
			values := data
			data = array.NewData(typ, b.rows, []*memory.Buffer{nil}, []arrow.ArrayData{ends, values}, 0, 0)
			values.Release()
		}
		arrays[i] = array.MakeFromData(data)
		data.Release()
	}
	record := array.NewRecord(b.schema, arrays, int64(b.rows))
	for _, a := range arrays {
		a.Release()
	}
	b.reset()
	return record
}

// take hands over a column's cells. The caller releases them.
func (b *IntervalBuilder) take(c intervalColumn) *array.Data {
	typ := c.cellType(b.opts.Form)
	if c.width() > 0 {
		return b.words[c].take(typ)
	}
	return b.texts[c].take(typ)
}

func (b *IntervalBuilder) reset() {
	b.rows = 0
	b.ends.release()
	for c := range intervalColumns {
		b.words[c].reset()
		b.texts[c].reset()
	}
}

// Release frees the pending intervals. Records made before stay valid. The builder must not be
// used again, except for another Release, which does nothing.
func (b *IntervalBuilder) Release() {
	b.reset()
	b.memory.close()
}
