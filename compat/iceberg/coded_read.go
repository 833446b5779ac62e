package iceberg

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/zeebo/xxh3"
)

// read appends the rows of a record that keep chooses, nil for all. The error is ErrRecord for values that the writer cannot write as
// they are. After an error the rows are unusable.
func (c *coded) read(rec arrow.RecordBatch, keep func(row int) bool) error {
	rows := numbered(int(rec.NumRows()))
	if keep != nil {
		kept := rows[:0]
		for _, row := range rows {
			if keep(int(row)) {
				kept = append(kept, row)
			}
		}
		rows = kept
	}
	for i := range c.columns {
		of := &c.columns[i]
		at := rec.Schema().FieldIndices(of.name)
		if len(at) != 1 {
			return fmt.Errorf("%w: no column %q", ErrRecord, of.name)
		}
		if err := c.readColumn(of, rec.Column(at[0]), rows); err != nil {
			return fmt.Errorf("column %q: %w", of.name, err)
		}
	}
	c.rows += len(rows)
	return nil
}

// readColumn appends the values of some rows of an array.
func (c *coded) readColumn(of *codedColumn, a arrow.Array, rows []uint32) error {
	switch a := a.(type) {
	case *array.Int64:
		if of.kind == kindNumber {
			of.read(a, rows, a.Value)
			return nil
		}
	case *array.Timestamp:
		if of.kind == kindNumber && a.DataType().(*arrow.TimestampType).Unit == arrow.Microsecond {
			of.read(a, rows, func(row int) int64 { return int64(a.Value(row)) })
			return nil
		}
	case *array.String:
		if of.kind == kindText {
			return c.readTexts(of, a, rows, a.Value)
		}
	case *array.Binary:
		if of.kind == kindBinary {
			return c.readTexts(of, a, rows, a.ValueString)
		}
	case *array.List:
		if texts, ok := a.ListValues().(*array.String); ok && of.kind == kindList {
			return c.readSets(of, a, rows, setReader{names: texts})
		}
	case *array.Map:
		return c.readMaps(of, a, rows)
	}
	return fmt.Errorf("%w: type %s", ErrRecord, a.DataType())
}

// readMaps appends the maps of some rows.
func (c *coded) readMaps(of *codedColumn, a *array.Map, rows []uint32) error {
	r := setReader{}
	r.names, _ = a.Keys().(*array.String)
	r.texts, _ = a.Items().(*array.String)
	r.numbers, _ = a.Items().(*array.Int64)
	if r.names == nil || of.kind == kindMap && r.texts == nil || of.kind == kindNumberMap && r.numbers == nil || of.kind < kindMap {
		return fmt.Errorf("%w: type %s", ErrRecord, a.DataType())
	}
	return c.readSets(of, a, rows, r)
}

// read appends numbers.
func (of *codedColumn) read(a arrow.Array, rows []uint32, value func(row int) int64) {
	for _, row := range rows {
		n, ok := int64(0), a.IsValid(int(row))
		if ok {
			n = value(int(row))
		}
		of.numbers, of.valid = append(of.numbers, n), append(of.valid, ok)
	}
}

// readTexts appends texts, or bytes.
func (c *coded) readTexts(of *codedColumn, a arrow.Array, rows []uint32, value func(row int) string) error {
	for _, row := range rows {
		if a.IsNull(int(row)) {
			of.codes = append(of.codes, 0)
			continue
		}
		if s := value(int(row)); of.lastCode == 0 || s != of.last {
			code, err := c.text(s, of.kind == kindText)
			if err != nil {
				return err
			}
			of.lastCode, of.last = code+1, c.texts.all[code]
			if of.kind == kindBinary {
				of.last = of.last[len(bytesMark):]
			}
		}
		of.codes = append(of.codes, of.lastCode)
	}
	return nil
}

// setReader reads the items of lists or maps.
type setReader struct {
	names   *array.String // the items of lists, the keys of maps
	texts   *array.String // or numbers, of maps
	numbers *array.Int64
}

// readSets appends lists or maps.
func (c *coded) readSets(of *codedColumn, a array.ListLike, rows []uint32, r setReader) error {
	for _, row := range rows {
		if a.IsNull(int(row)) {
			return fmt.Errorf("%w: null", ErrRecord)
		}
		from, to := a.ValueOffsets(int(row))
		code, place, ok := of.sets.find(r.hash(int(from), int(to)), func(items []uint32) bool { return r.same(c.texts, items, int(from), int(to)) })
		if !ok {
			var err error
			if code, err = c.addSet(of.sets, place, r, int(from), int(to)); err != nil {
				return err
			}
		}
		of.codes = append(of.codes, code+1)
	}
	return nil
}

// addSet adds a set that is new.
func (c *coded) addSet(s *sets, place uint64, r setReader, from, to int) (uint32, error) {
	for i := from; i < to; i++ {
		if r.names.IsNull(i) || r.texts != nil && r.texts.IsNull(i) || r.numbers != nil && r.numbers.IsNull(i) {
			return 0, fmt.Errorf("%w: null in a list or a map", ErrRecord)
		}
		name, err := c.text(r.names.Value(i), true)
		if err != nil {
			return 0, err
		}
		s.items = append(s.items, name)
		switch {
		case r.texts != nil:
			text, err := c.text(r.texts.Value(i), true)
			if err != nil {
				return 0, err
			}
			s.items = append(s.items, text)
		case r.numbers != nil:
			n := uint64(r.numbers.Value(i))
			s.items = append(s.items, uint32(n), uint32(n>>32))
		}
	}
	code := s.add(place)
	c.memory += 4*len(s.of(code)) + textBytes
	return code, nil
}

// width is the number of items of an entry.
func (r *setReader) width() int {
	switch {
	case r.texts != nil:
		return 2
	case r.numbers != nil:
		return 3
	}
	return 1
}

// hash hashes the entries in a range. Those of others can have it too.
func (r *setReader) hash(from, to int) uint64 {
	h := mixed(textsHash(r.names, from, to), uint64(to-from))
	switch {
	case r.texts != nil:
		h = mixed(h, textsHash(r.texts, from, to))
	case r.numbers != nil:
		for i := from; i < to; i++ {
			h = mixed(h, uint64(r.numbers.Value(i)))
		}
	}
	return h
}

// textsHash hashes the bytes of neighbouring texts.
func textsHash(a *array.String, from, to int) uint64 {
	if from == to {
		return 0
	}
	ends := a.ValueOffsets()
	return xxh3.Hash(a.ValueBytes()[ends[from]-ends[0] : ends[to]-ends[0]])
}

// same reports whether a set has the entries in a range. A null entry is never the same.
func (r *setReader) same(t *texts, items []uint32, from, to int) bool {
	width := r.width()
	if len(items) != width*(to-from) {
		return false
	}
	for i := from; i < to; i++ {
		of := items[width*(i-from):]
		switch {
		case r.names.IsNull(i) || t.all[of[0]] != r.names.Value(i):
			return false
		case r.texts != nil && (r.texts.IsNull(i) || t.all[of[1]] != r.texts.Value(i)):
			return false
		case r.numbers != nil && (r.numbers.IsNull(i) || uint64(of[1])|uint64(of[2])<<32 != uint64(r.numbers.Value(i))):
			return false
		}
	}
	return true
}
