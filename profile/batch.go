package profile

import (
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// batcher turns flat profiles into batches: sample type by sample type, so that
// rows of a series are neighbours. The next batch takes the memory of the last:
// the store keeps nothing of what it is given.
type batcher struct {
	flat *flat
	rows int
	// rowOf has the row of each value of each sample, or noRow.
	rowOf []int32

	types, units []string
	values       []int64

	used     []usedLocation
	ids      []uuid.UUID // by location; zero for one that no row has
	records  []byte
	recordOf map[uuid.UUID][]byte // parts of records

	stacks []uuid.UUID
	lists  [][]uuid.UUID // parts of stacks, by row
}

// usedLocation is a location that a row has, in the order of their first use.
type usedLocation struct {
	location uint32
	end      int // of its record, in batcher.records
}

const noRow = -1

func isRow(row int32) bool { return row != noRow }

// batch makes the batch of a profile. It is good until the next one is made.
func (b *batcher) batch(f *flat, kind Kind, opts InsertOptions, zeros bool) schema.Batch {
	b.flat = f
	b.number(zeros)
	columns := make(map[string]encoding.Vector, 16+len(opts.Labels)+len(f.columns.list))
	b.addShared(columns, kind, opts)
	b.addValues(columns, kind)
	b.identify()
	b.addStacks(columns)
	b.addLabels(columns)
	return schema.Batch{Rows: b.rows, Columns: columns, Records: b.recordsByID()}
}

// reset lets go of the strings of a profile.
func (b *batcher) reset() {
	clear(b.types)
	clear(b.units)
	b.flat = nil
}

// size returns the bytes of memory that b keeps, about.
func (b *batcher) size() int {
	return 64*cap(b.lists) + 64*cap(b.used) + 16*(cap(b.ids)+cap(b.stacks)) + cap(b.records) + 4*cap(b.rowOf)
}

// resize returns a slice of n elements that are whatever they were.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// number gives values their rows.
func (b *batcher) number(zeros bool) {
	types, values := len(b.flat.types), b.flat.values
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

// rowsOf returns the rows of sample i: by type, with noRow in between.
func (b *batcher) rowsOf(i int) []int32 {
	types := len(b.flat.types)
	return b.rowOf[i*types : (i+1)*types]
}

// addShared sets what all rows have in common.
func (b *batcher) addShared(columns map[string]encoding.Vector, kind Kind, opts InsertOptions) {
	at := b.flat.time
	if at == 0 && !opts.Time.IsZero() {
		at = opts.Time.UnixNano()
	}
	columns[ColumnTimestamp] = encoding.Int64s(at)
	columns[ColumnDuration] = encoding.Int64s(b.flat.duration)
	columns[ColumnPeriod] = encoding.Int64s(b.flat.every)
	columns[ColumnPeriodType] = encoding.Strings(kind.Types[0].Period)
	columns[ColumnPeriodUnit] = encoding.Strings(kind.Types[0].PeriodUnit)
	for name, value := range opts.Labels {
		columns[ColumnLabels+"."+name] = encoding.Strings(value)
	}
}

func (b *batcher) addValues(columns map[string]encoding.Vector, kind Kind) {
	b.types, b.units, b.values = resize(b.types, b.rows), resize(b.units, b.rows), resize(b.values, b.rows)
	for i, row := range b.rowOf {
		if isRow(row) {
			t := &kind.Types[i%len(kind.Types)]
			b.types[row], b.units[row], b.values[row] = t.Sample, t.SampleUnit, b.flat.values[i]
		}
	}
	columns[ColumnSampleType] = encoding.Strings(b.types...)
	columns[ColumnSampleUnit] = encoding.Strings(b.units...)
	columns[ColumnValue] = encoding.Int64s(b.values...)
}

// identify finds the locations that rows have, and sets their ids and records:
// once for a location, however many stacks it is in.
func (b *batcher) identify() {
	b.ids = resize(b.ids, len(b.flat.locations))
	clear(b.ids)
	b.used, b.records = b.used[:0], b.records[:0]
	for i := range b.flat.samples {
		if !slices.ContainsFunc(b.rowsOf(i), isRow) {
			continue
		}
		stack, _, _ := b.flat.sample(i)
		for _, l := range stack {
			if b.ids[l] == (uuid.UUID{}) { // no id is all zero
				b.records, b.ids[l] = b.flat.appendLocation(b.records, l)
				b.used = append(b.used, usedLocation{l, len(b.records)})
			}
		}
	}
}

// recordsByID returns the records of the locations that rows have. Of locations
// with one id the first in a stack counts.
func (b *batcher) recordsByID() map[uuid.UUID][]byte {
	if b.recordOf == nil {
		b.recordOf = map[uuid.UUID][]byte{}
	}
	clear(b.recordOf)
	start := 0
	for _, u := range b.used {
		id := b.ids[u.location]
		if _, known := b.recordOf[id]; !known {
			b.recordOf[id] = b.records[start:u.end:u.end]
		}
		start = u.end
	}
	return b.recordOf
}

// addStacks sets the stacks. Rows of one sample share the list, which is how the
// store sees it once.
func (b *batcher) addStacks(columns map[string]encoding.Vector) {
	b.lists = resize(b.lists, b.rows)
	b.stacks = slices.Grow(b.stacks[:0], len(b.flat.stack)) // lists are parts: it must not move
	for i := range b.flat.samples {
		start := len(b.stacks)
		for _, row := range b.rowsOf(i) {
			if !isRow(row) {
				continue
			}
			if start == len(b.stacks) { // the first row, or an empty stack
				stack, _, _ := b.flat.sample(i)
				for _, l := range stack {
					b.stacks = append(b.stacks, b.ids[l])
				}
			}
			b.lists[row] = b.stacks[start:len(b.stacks):len(b.stacks)]
		}
	}
	columns[ColumnStacktrace] = encoding.UUIDLists(b.lists...)
}

// addLabels sets the labels of samples.
func (b *batcher) addLabels(columns map[string]encoding.Vector) {
	f := b.flat
	for i := range f.samples {
		_, _, labels := f.sample(i)
		for k := range labels {
			l := &labels[k]
			for _, row := range b.rowsOf(i) {
				if isRow(row) {
					f.columns.list[l.column].set(int(row), b.rows, l, f.strings[l.text])
				}
			}
		}
	}
	for i := range f.columns.list {
		if c := &f.columns.list[i]; c.values.Len() > 0 {
			columns[c.name] = c.values
		}
	}
}
