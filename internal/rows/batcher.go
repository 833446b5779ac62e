package rows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	codec "github.com/granarydb/granary/profile/pprof"
	"github.com/granarydb/granary/schema"
)

// Batcher turns profiles into batches. Rows are ordered by sample type, so that the rows in a series are
// neighbours. A Batcher reuses its memory: the next batch overwrites the last one. The zero Batcher is
// ready to use. It is not safe for concurrent use.
type Batcher struct {
	flat *Profile
	rows int
	// rowOf has the row of each value of each sample, or noRow.
	rowOf []int32

	types, units []string
	values       []int64

	// The locations that are interned next:
	ids     []uuid.UUID
	bytes   []byte   // concatenated records
	ends    []int    // end of each record in bytes
	records [][]byte // slices of bytes

	codes  []uint32   // of the locations that rows use, in order of first use
	useOf  []uint32   // by location: 1 + index in codes, or 0
	stacks []uint32   // location codes of the samples with a row
	lists  [][]uint32 // slices of stacks
	known  []uint32   // codes of lists
	stack  []uint32   // code of the stack, by row
}

// Coder gives codes to locations and stacks. It is columnstore.Codes, or a test's dictionary. Both
// methods append the codes of their arguments to dst, and retain none of the arguments.
type Coder interface {
	Elements(dst []uint32, ids []uuid.UUID, records [][]byte) ([]uint32, error)
	Lists(dst []uint32, lists [][]uint32) ([]uint32, error)
}

const noRow = -1

func isRow(row int32) bool { return row != noRow }

// Batch builds the batch of a profile that passed Check, with codes for its stacks. at is the time of its
// rows in Unix nanoseconds, unless Profile.SetTimes gave each sample a time. labels are the whole
// profile's labels. If zeros is true, values of 0 have rows too. The batch is valid until the next call.
// The error wraps pprof.ErrTooLarge, or schema.ErrBatch for a label's name, or comes from codes.
func (b *Batcher) Batch(f *Profile, at int64, labels map[string]string, zeros bool, codes Coder) (schema.Batch, error) {
	b.flat = f
	b.number(zeros)
	if b.rows > schema.MaxRows { // otherwise the insert would fail
		return schema.Batch{}, fmt.Errorf("%w: %d rows, at most %d", codec.ErrTooLarge, b.rows, schema.MaxRows)
	}
	columns := make(map[string]encoding.Vector, 16+len(labels)+len(f.columns.list))
	b.addShared(columns, at, labels)
	b.addValues(columns)
	if err := b.addStacks(columns, codes); err != nil {
		return schema.Batch{}, err
	}
	if err := b.addLabels(columns); err != nil {
		return schema.Batch{}, err
	}
	return schema.Batch{Rows: b.rows, Columns: columns}, nil
}

// Reset drops the profile's strings, and keeps the memory of b.
func (b *Batcher) Reset() {
	clear(b.types)
	clear(b.units)
	b.flat = nil
}

// Size returns the approximate bytes that b keeps.
func (b *Batcher) Size() int {
	return 24*(cap(b.lists)+cap(b.records)) + 40*cap(b.types) + 16*cap(b.ids) + 8*cap(b.ends) + cap(b.bytes) +
		4*(cap(b.rowOf)+cap(b.codes)+cap(b.useOf)+cap(b.stacks)+cap(b.known)+cap(b.stack))
}

// number assigns rows to values.
func (b *Batcher) number(zeros bool) {
	types, values := len(b.flat.Types), b.flat.Values
	b.rowOf, b.rows = resize(b.rowOf, len(values)), 0
	for t := range types {
		for i := t; i < len(values); i += types {
			b.rowOf[i] = noRow
			if zeros || values[i] != 0 {
				b.rowOf[i] = int32(b.rows)
				b.rows++
			}
		}
	}
}

// rowsOf returns the rows of sample i by type, with noRow for values without a row.
func (b *Batcher) rowsOf(i int) []int32 {
	types := len(b.flat.Types)
	return b.rowOf[i*types : (i+1)*types]
}

// addShared sets the values that all rows share.
func (b *Batcher) addShared(columns map[string]encoding.Vector, at int64, labels map[string]string) {
	columns[ColumnTimestamp] = encoding.Int64s(b.times(at)...)
	columns[ColumnDuration] = encoding.Int64s(b.flat.Duration)
	columns[ColumnPeriod] = encoding.Int64s(b.flat.Every)
	columns[ColumnPeriodType] = encoding.Strings(b.flat.Strings[b.flat.Period.Name])
	columns[ColumnPeriodUnit] = encoding.Strings(b.flat.Strings[b.flat.Period.Unit])
	for name, value := range labels {
		columns[ColumnLabels+"."+name] = encoding.Strings(value)
	}
}

// times returns each row's time, or a single time for all rows.
func (b *Batcher) times(at int64) []int64 {
	if b.flat.times == nil {
		return []int64{at}
	}
	times := make([]int64, b.rows)
	for i, row := range b.rowOf {
		if isRow(row) {
			times[row] = b.flat.times[i/len(b.flat.Types)]
		}
	}
	return times
}

func (b *Batcher) addValues(columns map[string]encoding.Vector) {
	text, types := b.flat.Strings, b.flat.Types
	b.types, b.units, b.values = resize(b.types, b.rows), resize(b.units, b.rows), resize(b.values, b.rows)
	for i, row := range b.rowOf {
		if isRow(row) {
			t := types[i%len(types)]
			b.types[row], b.units[row], b.values[row] = text[t.Name], text[t.Unit], b.flat.Values[i]
		}
	}
	columns[ColumnSampleType] = encoding.Strings(b.types...)
	columns[ColumnSampleUnit] = encoding.Strings(b.units...)
	columns[ColumnValue] = encoding.Int64s(b.values...)
}

// addLocations interns the locations that rows use. It encodes each location once, even if many stacks contain it. If
// several locations have the same id, the record of the first counts.
func (b *Batcher) addLocations(codes Coder) error {
	b.useOf = resize(b.useOf, len(b.flat.Locations))
	clear(b.useOf)
	b.codes = b.codes[:0]
	b.ids, b.bytes, b.ends = b.ids[:0], b.bytes[:0], b.ends[:0]
	for i := range b.flat.Samples {
		if !slices.ContainsFunc(b.rowsOf(i), isRow) {
			continue
		}
		stack, _, _ := b.flat.Sample(i)
		for _, l := range stack {
			if b.useOf[l] != 0 {
				continue
			}
			var id uuid.UUID
			b.bytes, id = b.flat.AppendLocation(b.bytes, l)
			b.ids, b.ends = append(b.ids, id), append(b.ends, len(b.bytes))
			b.useOf[l] = uint32(len(b.codes) + len(b.ids))
			if len(b.bytes) >= maxRecords {
				if err := b.internLocations(codes); err != nil {
					return err
				}
			}
		}
	}
	return b.internLocations(codes)
}

// maxRecords is the bytes of records that are interned at once, because these stay in the processor's caches.
const maxRecords = 128 << 10

// internLocations interns the locations in ids, and forgets them.
func (b *Batcher) internLocations(codes Coder) (err error) {
	b.records = b.records[:0]
	start := 0
	for _, end := range b.ends {
		b.records = append(b.records, b.bytes[start:end:end])
		start = end
	}
	b.codes, err = codes.Elements(b.codes, b.ids, b.records)
	b.ids, b.bytes, b.ends = b.ids[:0], b.bytes[:0], b.ends[:0]
	return err
}

// addStacks interns the stacks and sets their column. Locations are interned once per profile,
// stacks once per sample.
func (b *Batcher) addStacks(columns map[string]encoding.Vector, codes Coder) (err error) {
	if err := b.addLocations(codes); err != nil {
		return err
	}
	b.stacks = slices.Grow(b.stacks[:0], len(b.flat.Stack)) // it must not move, because lists share its memory
	b.lists = b.lists[:0]
	for i := range b.flat.Samples {
		if !slices.ContainsFunc(b.rowsOf(i), isRow) {
			continue
		}
		start := len(b.stacks)
		stack, _, _ := b.flat.Sample(i)
		for _, l := range stack {
			b.stacks = append(b.stacks, b.codes[b.useOf[l]-1])
		}
		b.lists = append(b.lists, b.stacks[start:len(b.stacks):len(b.stacks)])
	}
	if err := b.intern(codes); err != nil {
		return err
	}
	b.stack = resize(b.stack, b.rows)
	list := 0
	for i := range b.flat.Samples {
		has := false
		for _, row := range b.rowsOf(i) {
			if isRow(row) {
				b.stack[row], has = b.known[list], true
			}
		}
		if has {
			list++
		}
	}
	columns[ColumnStacktrace] = encoding.ListCodes(b.stack...)
	return nil
}

// maxPiece bounds the locations of the stacks that are interned at once, because the store takes 28 bytes
// of working memory for each.
const maxPiece = 1 << 20

// intern interns the stacks in pieces. Most profiles are one piece.
func (b *Batcher) intern(codes Coder) (err error) {
	b.known = slices.Grow(b.known[:0], len(b.lists))
	start, locations := 0, 0
	for i, list := range b.lists {
		if locations += len(list); locations < maxPiece && i < len(b.lists)-1 {
			continue
		}
		if b.known, err = codes.Lists(b.known, b.lists[start:i+1]); err != nil {
			return err
		}
		start, locations = i+1, 0
	}
	return nil
}

// addLabels sets the sample labels. A name that no column can have is an error, because the profile would
// come out without the label, or with another name.
func (b *Batcher) addLabels(columns map[string]encoding.Vector) error {
	f := b.flat
	at := 0
	for i := range f.Samples {
		for ; at < int(f.Samples[i].Labels); at++ {
			l, column := &f.Labels[at], &f.columns.list[f.columns.of[at]]
			for _, row := range b.rowsOf(i) {
				if !isRow(row) {
					continue
				}
				if column.values.Len() == 0 && (!schema.ValidName(column.name) || strings.HasSuffix(column.name, ".") && f.Strings[l.Name] == "") {
					return fmt.Errorf("%w: sample %d has a label named %.100q: want a name of printable UTF-8, of at most %d bytes with its column's",
						schema.ErrBatch, i, f.Strings[l.Name], schema.MaxName)
				}
				column.set(int(row), b.rows, l, f.Strings[l.Text])
			}
		}
	}
	for i := range f.columns.list {
		if c := &f.columns.list[i]; c.values.Len() > 0 {
			columns[c.name] = c.values
		}
	}
	return nil
}
