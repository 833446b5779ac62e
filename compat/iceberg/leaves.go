package iceberg

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// batchRows is the number of rows whose levels and indexes are in memory at a time.
const batchRows = 16 << 10

// leaves writes a group's columns in the order of the schema.
type leaves struct {
	out   file.SerialRowGroupWriter
	texts *texts
	local []uint32 // by text code: index in the dictionary being made plus 1, or 0
	node  string
	seal  int64

	lists lists // of the column being written; reuses memory
}

// lists are lists of dictionary indexes, end to end, and a batch of rows that have them.
type lists struct {
	index  []uint32
	ends   []int
	batch  []uint32
	levels levels
}

// column writes a table column. Unknown columns are not in the schema of files.
func (w *leaves) column(g *group, name string) error {
	switch name {
	case columnNode, columnSeal, columnTime:
		return w.ofUnit(name, g.rows(), func(i int) int64 { return g.times[i] })
	case columnTimeNanos:
		return w.ints(name, g.rows(), func(i int) (int64, bool) { return g.times[i], true })
	case "span_id":
		return w.ints(name, g.rows(), func(i int) (int64, bool) { return g.spans[i], g.hasSpan[i] })
	case "trace_id":
		return w.traces(g)
	case columnStackID:
		return w.stackIDs(g)
	case columnStack:
		return w.nested(name, g.stacks, len(g.stackSet.ids), func(i int) []uint32 { return g.stackSet.frames(uint32(i)) })
	case "labels":
		return w.labels(name, g.series, len(g.seriesSets.all), func(i int) []pair { return g.seriesSets.all[i].pairs[len(typeColumns):] })
	case columnSampleText:
		return w.labels(name, g.samples, len(g.sampleSets.all), func(i int) []pair { return g.sampleSets.all[i].pairs })
	case columnSampleNum:
		return w.numbers(g)
	}
	if of := slices.Index(measures[:], name); of >= 0 {
		return w.ints(name, g.rows(), func(i int) (int64, bool) { return g.measures[of][i], true })
	}
	return w.ofSeries(g, name)
}

// ofUnit writes a column that all tables have: a row's node, seal or time.
func (w *leaves) ofUnit(name string, rows int, at func(i int) int64) error {
	switch name {
	case columnNode:
		return w.flat(name, rows, func(int) (uint32, bool) { return w.texts.code(w.node), true })
	case columnSeal:
		return w.ints(name, rows, func(int) (int64, bool) { return w.seal, true })
	}
	return w.ints(name, rows, func(i int) (int64, bool) { return floorMicros(at(i)), true })
}

// ofSeries writes a series' type, or one of its labels as a column.
func (w *leaves) ofSeries(g *group, name string) error {
	label, isLabel := strings.CutPrefix(name, labelPrefix)
	want, skip := w.texts.code(name), 0
	if isLabel {
		want, skip = w.texts.code(label), len(typeColumns)
	}
	bySeries := make([]uint32, len(g.seriesSets.all)) // code plus 1, 0 is null
	for i, set := range g.seriesSets.all {
		for j, p := range set.pairs {
			if p.name == want && (j >= len(typeColumns)) == isLabel && j >= skip {
				bySeries[i] = p.value + 1
			}
		}
	}
	return w.flat(name, g.rows(), func(i int) (uint32, bool) {
		v := bySeries[g.series[i]]
		return v - 1, v != 0
	})
}

// floorMicros returns a time's microseconds, rounded down also before 1970.
func floorMicros(nanos int64) int64 {
	micros := nanos / 1000
	if nanos%1000 < 0 {
		micros--
	}
	return micros
}

// next returns the next column's writer.
func next[W file.ColumnChunkWriter](w *leaves, name string) (W, error) {
	var none W
	out, err := w.out.NextColumn()
	if err != nil {
		return none, err
	}
	typed, ok := out.(W)
	if !ok {
		return none, fmt.Errorf("%w: column %q is of type %s", ErrTable, name, out.Type())
	}
	return typed, nil
}

// ints writes a column of numbers, dense where rows lack one.
func (w *leaves) ints(name string, rows int, value func(i int) (int64, bool)) error {
	out, err := next[*file.Int64ColumnChunkWriter](w, name)
	if err != nil {
		return err
	}
	most := out.Descr().MaxDefinitionLevel()
	values, levels := make([]int64, 0, batchRows), make([]int16, 0, batchRows)
	for from := 0; from < rows; from += batchRows {
		values, levels = values[:0], levels[:0]
		for i := from; i < min(from+batchRows, rows); i++ {
			v, ok := value(i)
			if ok {
				values, levels = append(values, v), append(levels, most)
			} else {
				levels = append(levels, 0)
			}
		}
		if most == 0 {
			levels = nil
		}
		if _, err := out.WriteBatch(values, levels, nil); err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
	}
	return out.Close()
}

// dictionary is one column's dictionary in a group: the texts of its rows, and for stacks also its last
// record's.
type dictionary struct {
	values *array.StringBuilder
	codes  []uint32 // text codes, by index
}

// index returns a text's index in the dictionary being made.
func (w *leaves) index(d *dictionary, code uint32) uint32 {
	for int(code) >= len(w.local) {
		w.local = append(w.local, 0)
	}
	if w.local[code] == 0 {
		d.values.Append(w.texts.all[code])
		d.codes = append(d.codes, code)
		w.local[code] = uint32(len(d.codes))
	}
	return w.local[code] - 1
}

// finish returns the values and makes room for the next dictionary.
func (w *leaves) finish(d *dictionary) arrow.Array {
	for _, code := range d.codes {
		w.local[code] = 0
	}
	return d.values.NewArray()
}

func newDictionary() *dictionary {
	return &dictionary{values: array.NewStringBuilder(memory.DefaultAllocator)}
}

// flat writes a column of texts.
func (w *leaves) flat(name string, rows int, code func(i int) (uint32, bool)) error {
	d := newDictionary()
	index := make([]uint32, rows)
	valid := make([]bool, rows)
	for i := range rows {
		if c, ok := code(i); ok {
			index[i], valid[i] = w.index(d, c), true
		}
	}
	return w.coded(name, w.finish(d), index, valid)
}

// coded writes a column that is not nested, as dictionary indexes.
func (w *leaves) coded(name string, values arrow.Array, index []uint32, valid []bool) error {
	out, err := next[file.ColumnChunkWriter](w, name)
	if err != nil {
		return err
	}
	most := out.Descr().MaxDefinitionLevel()
	var levels []int16
	for from := 0; from < len(index); from += batchRows {
		to := min(from+batchRows, len(index))
		levels = levels[:0]
		for _, ok := range valid[from:to] {
			level := int16(0)
			if ok {
				level = most
			}
			levels = append(levels, level)
		}
		defined := levels
		if most == 0 {
			defined = nil
		}
		if err := put(out, values, index[from:to], valid[from:to], defined, nil); err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
	}
	return out.Close()
}

// put writes a batch of indexes. valid, if not nil, is false where there is no value. All batches of a
// column have the same dictionary. The array uses the indexes without a copy, because the writer copies
// them.
func put(out file.ColumnChunkWriter, values arrow.Array, index []uint32, valid []bool, defined, repeated []int16) error {
	var bits *memory.Buffer
	nulls := 0
	if slices.Contains(valid, false) {
		bitmap := make([]byte, bitutil.BytesForBits(int64(len(valid))))
		for i, ok := range valid {
			if ok {
				bitutil.SetBit(bitmap, i)
			} else {
				nulls++
			}
		}
		bits = memory.NewBufferBytes(bitmap)
	}
	buffers := []*memory.Buffer{bits, memory.NewBufferBytes(arrow.Uint32Traits.CastToBytes(index))}
	indexes := array.NewUint32Data(array.NewData(arrow.PrimitiveTypes.Uint32, len(index), buffers, nil, nulls, 0))
	a := array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: values.DataType()}, indexes, values)
	props := pqarrow.DefaultWriterProps()
	return pqarrow.WriteArrowToColumn(pqarrow.NewArrowWriteContext(context.Background(), &props), out, a, defined, repeated,
		out.Descr().SchemaNode().RepetitionType() != parquet.Repetitions.Required)
}

// nested writes a column of text lists: a list's elements, or a map's keys or values. rows has by row which
// of the n lists it has.
func (w *leaves) nested(name string, rows []uint32, n int, list func(i int) []uint32) error {
	out, err := next[*file.ByteArrayColumnChunkWriter](w, name)
	if err != nil {
		return err
	}
	d, of := newDictionary(), &w.lists
	of.index, of.ends = of.index[:0], of.ends[:0]
	for i := range n {
		for _, code := range list(i) {
			of.index = append(of.index, w.index(d, code))
		}
		of.ends = append(of.ends, len(of.index))
	}
	values := w.finish(d)
	for some := range slices.Chunk(rows, batchRows) {
		of.batch = of.batch[:0]
		of.levels.reset(out)
		for _, i := range some {
			from := 0
			if i > 0 {
				from = of.ends[i-1]
			}
			of.levels.add(of.ends[i] - from)
			of.batch = append(of.batch, of.index[from:of.ends[i]]...)
		}
		if len(of.batch) == 0 { // because an array without buffers would panic there
			_, err = out.WriteBatch(nil, of.levels.defined, of.levels.repeated)
		} else {
			err = put(out, values, of.batch, nil, of.levels.defined, of.levels.repeated)
		}
		if err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
	}
	return out.Close()
}

// levels are the definition and repetition levels of lists.
type levels struct {
	defined, repeated []int16
	full, empty       int16
}

func (l *levels) reset(out file.ColumnChunkWriter) {
	info := out.LevelInfo()
	l.defined, l.repeated = l.defined[:0], l.repeated[:0]
	l.full, l.empty = info.DefLevel, info.RepeatedAncestorDefLevel-1
}

// add adds a list of n elements.
func (l *levels) add(n int) {
	if n == 0 {
		l.defined, l.repeated = append(l.defined, l.empty), append(l.repeated, 0)
		return
	}
	at := len(l.defined)
	l.defined, l.repeated = slices.Grow(l.defined, n)[:at+n], slices.Grow(l.repeated, n)[:at+n]
	for i := range n {
		l.defined[at+i], l.repeated[at+i] = l.full, 1
	}
	l.repeated[at] = 0
}

// labels writes a text map's two columns. rows has by row which of the n sets it has.
func (w *leaves) labels(name string, rows []uint32, n int, pairs func(i int) []pair) error {
	var codes []uint32
	part := func(value func(p pair) uint32) func(i int) []uint32 {
		return func(i int) []uint32 {
			codes = codes[:0]
			for _, p := range pairs(i) {
				codes = append(codes, value(p))
			}
			return codes
		}
	}
	if err := w.nested(name, rows, n, part(func(p pair) uint32 { return p.name })); err != nil {
		return err
	}
	return w.nested(name, rows, n, part(func(p pair) uint32 { return p.value }))
}

// numbers writes the numeric label map's two columns.
func (w *leaves) numbers(g *group) error {
	return w.numberMaps(columnSampleNum, g.samples, len(g.sampleSets.all), func(i int) []number { return g.sampleSets.all[i].numbers })
}

// numberMaps writes the two columns of a map of numbers. rows has by row which of the n maps it has.
func (w *leaves) numberMaps(name string, rows []uint32, n int, of func(i int) []number) error {
	var codes []uint32
	err := w.nested(name, rows, n, func(i int) []uint32 {
		codes = codes[:0]
		for _, n := range of(i) {
			codes = append(codes, n.name)
		}
		return codes
	})
	if err != nil {
		return err
	}
	out, err := next[*file.Int64ColumnChunkWriter](w, name)
	if err != nil {
		return err
	}
	var values []int64
	var lv levels
	for some := range slices.Chunk(rows, batchRows) {
		values = values[:0]
		lv.reset(out)
		for _, i := range some {
			numbers := of(int(i))
			lv.add(len(numbers))
			for _, n := range numbers {
				values = append(values, n.value)
			}
		}
		if _, err := out.WriteBatch(values, lv.defined, lv.repeated); err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
	}
	return out.Close()
}

func (w *leaves) traces(g *group) error {
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	for _, id := range g.traceIDs {
		b.Append(id[:])
	}
	index, valid := make([]uint32, g.rows()), make([]bool, g.rows())
	for i, c := range g.traces {
		if c != 0 {
			index[i], valid[i] = c-1, true
		}
	}
	return w.coded("trace_id", b.NewArray(), index, valid)
}

func (w *leaves) stackIDs(g *group) error {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(g.stackSet.ids, nil)
	valid := make([]bool, g.rows())
	for i := range valid {
		valid[i] = true
	}
	return w.coded(columnStackID, b.NewArray(), g.stacks, valid)
}
