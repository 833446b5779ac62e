package iceberg

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// write writes rows to a file, in groups. rows are their numbers in the order of the file.
func (c *coded) write(out *dataFile, rows []uint32) error {
	w := &leaves{texts: c.texts}
	for group := range slices.Chunk(rows, groupRows) {
		var err error
		if w.out, err = out.out.AppendRowGroupChecked(); err != nil {
			return err
		}
		for i := range c.columns {
			if err := c.columns[i].write(w, group); err != nil {
				return err
			}
		}
		if err := w.out.Close(); err != nil {
			return err
		}
		out.rows += int64(len(group))
	}
	return nil
}

// write writes the values of a group's rows.
func (of *codedColumn) write(w *leaves, rows []uint32) error {
	switch of.kind {
	case kindNumber:
		return w.ints(of.name, len(rows), func(i int) (int64, bool) { return of.numbers[rows[i]], of.valid[rows[i]] })
	case kindText:
		return w.flat(of.name, len(rows), func(i int) (uint32, bool) { return of.codes[rows[i]] - 1, of.codes[rows[i]] != 0 })
	case kindBinary:
		return of.writeBinaries(w, rows)
	}
	index, used := of.inGroup(rows)
	switch of.kind {
	case kindMap:
		var pairs []pair
		return w.labels(of.name, index, len(used), func(i int) []pair {
			pairs = pairs[:0]
			for p := range slices.Chunk(of.sets.of(used[i]), 2) {
				pairs = append(pairs, pair{p[0], p[1]})
			}
			return pairs
		})
	case kindNumberMap:
		var numbers []number
		return w.numberMaps(of.name, index, len(used), func(i int) []number {
			numbers = numbers[:0]
			for n := range slices.Chunk(of.sets.of(used[i]), 3) {
				numbers = append(numbers, number{n[0], int64(uint64(n[1]) | uint64(n[2])<<32)})
			}
			return numbers
		})
	}
	return w.nested(of.name, index, len(used), func(i int) []uint32 { return of.sets.of(used[i]) })
}

// inGroup returns the sets that a group's rows have, and by row which of these it has.
func (of *codedColumn) inGroup(rows []uint32) (index, used []uint32) {
	places := make([]uint32, len(of.sets.ends)) // in used, plus 1
	index = make([]uint32, len(rows))
	for i, row := range rows {
		code := of.codes[row] - 1 // no list or map is null
		if places[code] == 0 {
			used = append(used, code)
			places[code] = uint32(len(used))
		}
		index[i] = places[code] - 1
	}
	return index, used
}

// writeBinaries writes bytes that are no text.
func (of *codedColumn) writeBinaries(w *leaves, rows []uint32) error {
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	places := map[uint32]uint32{}
	index, valid := make([]uint32, len(rows)), make([]bool, len(rows))
	for i, row := range rows {
		code := of.codes[row]
		if code == 0 {
			continue
		}
		at, ok := places[code]
		if !ok {
			at = uint32(len(places))
			places[code] = at
			b.AppendString(w.texts.all[code-1][len(bytesMark):])
		}
		index[i], valid[i] = at, true
	}
	return w.coded(of.name, b.NewArray(), index, valid)
}
