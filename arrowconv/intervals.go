package arrowconv

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
)

// stateKind is a kind of values: null, or the kind of a column of values.
type stateKind uint8

const (
	_ stateKind = iota // null
	stateBool
	stateInt
	stateFloat
	stateString
	stateBytes
	stateKinds
)

var stateKindNames = [stateKinds]string{"null", "bool", "int", "float", "string", "bytes"}

var stateKindTexts = func() (texts [stateKinds][]byte) {
	for i, name := range stateKindNames {
		texts[i] = []byte(name)
	}
	return texts
}()

// kindNumbers is the caller's numbering of the kinds.
type kindNumbers struct {
	kinds   []stateKind       // by number
	numbers [stateKinds]uint8 // of each kind; 255 if it has none
}

// newKindNumbers numbers named kinds by their indexes.
func newKindNumbers(names []string) (k kindNumbers, err error) {
	for i := range k.numbers {
		k.numbers[i] = math.MaxUint8
	}
	for number, name := range names {
		i := slices.Index(stateKindNames[:], name)
		if i < 0 || k.numbers[i] != math.MaxUint8 {
			return k, fmt.Errorf("%w: kinds of values %q", ErrBuild, names)
		}
		k.kinds = append(k.kinds, stateKind(i))
		k.numbers[i] = uint8(number)
	}
	return k, nil
}

// IntervalRows has intervals of attributes as plain columns of equal length.
type IntervalRows struct {
	Attributes   []uint32
	Starts, Ends []int64
	Open         []bool
	Kinds        []uint8 // indexes in IntervalOptions.Kinds
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
	// Kinds names the kinds of values by number, each once: null, bool, int, float, string and bytes.
	Kinds []string
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
	number kindNumbers
	schema *arrow.Schema
	memory *recycler
	wanted [intervalColumns]bool
	order  []intervalColumn
	rows   int

	last    uint32 // attribute of the last row
	ends    buffer // FormNative, int32: the ends of the runs of attributes, except the last
	ids     stateWords
	paths   stateTexts
	starts  stateWords
	stops   stateWords
	open    stateWords
	kinds   stateTexts
	bools   stateWords
	ints    stateWords
	floats  stateWords
	strings stateTexts
	bytes   stateTexts

	path []byte // of the attribute of the last row
}

// NewIntervalBuilder returns an empty builder, which the caller releases. It takes the memory
// of records from opts.Memory, and reuses the memory of records that are released before the
// builder (A7). Errors wrap ErrBuild: an unknown form, a column or kind that is unknown or
// named twice, or a bound that is not above 0.
func NewIntervalBuilder(opts IntervalOptions) (*IntervalBuilder, error) {
	if opts.MaxRows <= 0 || opts.MaxRows > math.MaxInt32 || opts.MaxBytes <= 0 {
		return nil, fmt.Errorf("%w: records of %d rows and %d bytes", ErrBuild, opts.MaxRows, opts.MaxBytes)
	}
	numbers, err := newKindNumbers(opts.Kinds)
	if err != nil {
		return nil, err
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
	b := &IntervalBuilder{opts: opts, number: numbers, schema: schema, memory: newRecycler(opts.Memory), order: order}
	for _, c := range order {
		b.wanted[c] = true
	}
	b.ends.mem = b.memory
	for _, w := range []*stateWords{&b.starts, &b.stops, &b.ints, &b.floats} {
		*w = newStateWords(b.memory, 64)
	}
	b.ids = newStateWords(b.memory, 32)
	b.open, b.bools = newStateWords(b.memory, 1), newStateWords(b.memory, 1)
	coded := opts.Form != FormPlain
	b.paths, b.kinds = newStateTexts(b.memory, coded), newStateTexts(b.memory, coded)
	b.strings, b.bytes = newStateTexts(b.memory, coded), newStateTexts(b.memory, false)
	return b, nil
}

// Schema returns the schema of the records.
func (b *IntervalBuilder) Schema() *arrow.Schema { return b.schema }

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

// size returns the bytes of texts.
func (b *IntervalBuilder) size() int {
	return b.paths.values.size() + b.kinds.values.size() + b.strings.values.size() + b.bytes.values.size()
}

// appendTexts adds the texts and the attribute of interval i.
func (b *IntervalBuilder) appendTexts(rows *IntervalRows, i int) error {
	if err := b.appendAttribute(rows.Attributes[i]); err != nil {
		return err
	}
	number, code := rows.Kinds[i], uint32(rows.Words[i])
	if int(number) >= len(b.number.kinds) {
		return fmt.Errorf("%w: kind %d of a value", ErrBuild, number)
	}
	kind := b.number.kinds[number]
	if b.wanted[columnKind] {
		if err := b.kinds.add(uint32(kind), func() []byte { return stateKindTexts[kind] }); err != nil {
			return err
		}
	}
	var to *stateTexts
	switch {
	case kind == stateString && b.wanted[columnString]:
		to = &b.strings
	case kind == stateBytes && b.wanted[columnBytes]:
		to = &b.bytes
	default:
		return nil
	}
	if err := to.nulls(b.rows - to.n); err != nil {
		return err
	}
	return to.add(code, func() []byte { return b.opts.Text(code) })
}

// padTexts adds nulls for the intervals after the last text.
func (b *IntervalBuilder) padTexts() error {
	if b.wanted[columnString] {
		if err := b.strings.nulls(b.rows - b.strings.n); err != nil {
			return err
		}
	}
	if b.wanted[columnBytes] {
		return b.bytes.nulls(b.rows - b.bytes.n)
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
		b.ids.add32(a)
	}
	if !b.wanted[columnPath] {
		return nil
	}
	return b.paths.add(a, func() []byte { return b.path })
}

// appendWords adds the values of intervals [from, to), except texts.
func (b *IntervalBuilder) appendWords(rows *IntervalRows, from, to int) {
	if b.wanted[columnID] && b.opts.Form != FormNative {
		b.ids.append32(rows.Attributes[from:to])
	}
	if b.wanted[columnStart] {
		b.starts.append64(rows.Starts[from:to])
	}
	if b.wanted[columnEnd] {
		b.stops.append64(rows.Ends[from:to])
	}
	if b.wanted[columnOpen] {
		b.open.appendBools(rows.Open[from:to])
	}
	kinds, words := rows.Kinds[from:to], rows.Words[from:to]
	for _, c := range []struct {
		column intervalColumn
		kind   stateKind
		to     *stateWords
	}{{columnBool, stateBool, &b.bools}, {columnInt, stateInt, &b.ints}, {columnFloat, stateFloat, &b.floats}} {
		if b.wanted[c.column] {
			c.to.appendKind(b.number.numbers[c.kind], kinds, words)
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
	switch c {
	case columnID:
		return b.ids.take(typ)
	case columnPath:
		return b.paths.take(typ)
	case columnStart:
		return b.starts.take(typ)
	case columnEnd:
		return b.stops.take(typ)
	case columnOpen:
		return b.open.take(typ)
	case columnKind:
		return b.kinds.take(typ)
	case columnBool:
		return b.bools.take(typ)
	case columnInt:
		return b.ints.take(typ)
	case columnFloat:
		return b.floats.take(typ)
	case columnString:
		return b.strings.take(typ)
	default:
		return b.bytes.take(typ)
	}
}

func (b *IntervalBuilder) reset() {
	b.rows = 0
	b.ends.release()
	for _, w := range []*stateWords{&b.ids, &b.starts, &b.stops, &b.open, &b.bools, &b.ints, &b.floats} {
		w.reset()
	}
	for _, t := range []*stateTexts{&b.paths, &b.kinds, &b.strings, &b.bytes} {
		t.reset()
	}
}

// Release frees the pending intervals. Records made before stay valid. The builder must not be
// used again, except for another Release, which does nothing.
func (b *IntervalBuilder) Release() {
	b.reset()
	b.memory.close()
}
