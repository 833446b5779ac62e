package arrowconv

import (
	"fmt"
	"math"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
)

// StateKind is what the value of an interval is.
type StateKind uint8

// The kinds of values.
const (
	StateNull StateKind = iota
	StateBool
	StateInt
	StateFloat
	StateString
	StateBytes
	stateKinds
)

var stateKindNames = [stateKinds]string{"null", "bool", "int", "float", "string", "bytes"}

var stateKindTexts = func() (texts [stateKinds][]byte) {
	for i, name := range stateKindNames {
		texts[i] = []byte(name)
	}
	return texts
}()

// Intervals is intervals of attributes as plain columns of one length.
type Intervals struct {
	Attributes   []uint32
	Starts, Ends []int64
	Open         []bool
	Kinds        []StateKind
	// Words are the values: of a bool 0 or 1, an int, the bits of a float, the code of a
	// string or bytes. Of null they are not looked at.
	Words []uint64
}

// IntervalOptions says what an IntervalBuilder makes.
type IntervalOptions struct {
	// Memory allocates the records; nil means the Go allocator.
	Memory memory.Allocator
	// Form is how values that repeat lie in the records.
	Form Form
	// Columns names the columns, in their order; nil means all.
	Columns []string
	// MaxRows and MaxBytes say when a record is full: it has so many rows, or its paths
	// and texts take so many bytes. Both must be above 0.
	MaxRows, MaxBytes int
	// Path appends the path of an attribute, which no other one has: UTF-8.
	Path func(dst []byte, attribute uint32) ([]byte, error)
	// Text returns a string or bytes by its code; that of a string is UTF-8. Two codes do
	// not have one string.
	Text func(code uint32) []byte
}

// IntervalBuilder makes records of intervals. It belongs to one goroutine.
type IntervalBuilder struct {
	opts   IntervalOptions
	schema *arrow.Schema
	memory *recycler
	wanted [intervalColumns]bool
	order  []intervalColumn
	rows   int

	last    uint32 // attribute of the last row
	ends    buffer // Native, int32: where runs of attributes end, but for the last
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

// NewIntervalBuilder returns an empty builder, which the caller releases. It takes all
// memory of records from opts.Memory, and uses again what records gave back before the
// builder is released (A7). Errors wrap ErrBuild: an unknown form, an unknown column or one
// that is named twice, or a bound that is not above 0.
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
	for _, w := range []*stateWords{&b.starts, &b.stops, &b.ints, &b.floats} {
		*w = newStateWords(b.memory, 64)
	}
	b.ids = newStateWords(b.memory, 32)
	b.open, b.bools = newStateWords(b.memory, 1), newStateWords(b.memory, 1)
	coded := opts.Form != Plain
	b.paths, b.kinds = newStateTexts(b.memory, coded), newStateTexts(b.memory, coded)
	b.strings, b.bytes = newStateTexts(b.memory, coded), newStateTexts(b.memory, false)
	return b, nil
}

// Schema returns the schema of the records.
func (b *IntervalBuilder) Schema() *arrow.Schema { return b.schema }

// Append adds intervals from the one on that is number from, until there are no more or the
// record is full, and returns how many. Rows of one attribute should adjoin: that costs
// less, and in the Native form each time that they do not is a run. It keeps nothing of its
// arguments. 5 to 40 ns an interval, and what Path takes for each attribute of a record.
//
// The errors are that of Path, and ErrBuild for columns of different lengths, a kind that
// is unknown, or texts of more than 2 GiB. After one, the builder can only be released.
func (b *IntervalBuilder) Append(rows *Intervals, from int) (n int, err error) {
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

// Full says whether the record takes no more intervals.
func (b *IntervalBuilder) Full() bool {
	return b.rows >= b.opts.MaxRows || b.rows > 0 && b.size() >= b.opts.MaxBytes
}

// Rows returns the number of intervals since the last record.
func (b *IntervalBuilder) Rows() int { return b.rows }

// size returns the bytes of texts.
func (b *IntervalBuilder) size() int {
	return b.paths.values.size() + b.kinds.values.size() + b.strings.values.size() + b.bytes.values.size()
}

// appendTexts adds what is text of interval i, and its attribute.
func (b *IntervalBuilder) appendTexts(rows *Intervals, i int) error {
	if err := b.appendAttribute(rows.Attributes[i]); err != nil {
		return err
	}
	kind, code := rows.Kinds[i], uint32(rows.Words[i])
	if kind >= stateKinds {
		return fmt.Errorf("%w: kind %d of a value", ErrBuild, kind)
	}
	if b.wanted[columnKind] {
		if err := b.kinds.add(uint32(kind), func() []byte { return stateKindTexts[kind] }); err != nil {
			return err
		}
	}
	var to *stateTexts
	switch {
	case kind == StateString && b.wanted[columnString]:
		to = &b.strings
	case kind == StateBytes && b.wanted[columnBytes]:
		to = &b.bytes
	default:
		return nil
	}
	if err := to.nulls(b.rows - to.n); err != nil {
		return err
	}
	return to.add(code, func() []byte { return b.opts.Text(code) })
}

// padTexts adds null for the intervals behind the last text.
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

// appendAttribute adds whose interval it is: a cell a row, or a run.
func (b *IntervalBuilder) appendAttribute(a uint32) error {
	isNew := b.rows == 0 || a != b.last
	if isNew && b.wanted[columnPath] {
		var err error
		if b.path, err = b.opts.Path(b.path[:0], a); err != nil {
			return err
		}
	}
	b.last = a
	if b.opts.Form == Native {
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

// appendWords adds what is not text of intervals [from, to).
func (b *IntervalBuilder) appendWords(rows *Intervals, from, to int) {
	if b.wanted[columnID] && b.opts.Form != Native {
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
		kind   StateKind
		to     *stateWords
	}{{columnBool, StateBool, &b.bools}, {columnInt, StateInt, &b.ints}, {columnFloat, StateFloat, &b.floats}} {
		if b.wanted[c.column] {
			c.to.appendKind(c.kind, kinds, words)
		}
	}
}

// Record returns the intervals as a record, which the caller releases, and empties the
// builder.
func (b *IntervalBuilder) Record() arrow.Record {
	var ends *array.Data
	if b.opts.Form == Native {
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

// take hands over the cells of a column. The caller releases them.
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

// Release frees the intervals that no record was made of. Records made before stay valid.
// The builder must not be used again, except for another Release, which does nothing.
func (b *IntervalBuilder) Release() {
	b.reset()
	b.memory.close()
}
