package arrowconv

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/bitutil"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// newVector checks rows [lo, hi) of an array with a checked type and length, and copies them into a
// vector of type t. Errors do not name the column.
func (m *Importer) newVector(t encoding.Type, data arrow.ArrayData, lo, hi int) (encoding.Vector, error) {
	if !accepts(t, data.DataType()) {
		return encoding.Vector{}, fmt.Errorf("arrow type %s does not fit %v", typeName(data.DataType()), t)
	}
	v := encoding.Vector{Type: t}
	if lo == hi {
		return v, nil // buffers and dictionaries may be absent
	}
	var err error
	switch t {
	case encoding.String:
		v.Strings, v.Valid, err = newStrings(data, lo, hi)
	case encoding.UUID:
		v.UUIDs, v.Valid, err = newUUIDs(data, lo, hi)
	case encoding.UUIDList:
		v.UUIDLists, v.Valid, err = m.newUUIDLists(data, lo, hi)
	default:
		err = fillFixed(&v, data, lo, hi)
	}
	if err != nil {
		return encoding.Vector{}, err
	}
	return v, nil
}

// rowBytes returns the number of bytes that a row takes in a vector, including the row's valid flag but not the
// contents of strings and lists.
func rowBytes(t encoding.Type) int {
	switch t {
	case encoding.Bool:
		return 1 + 1
	case encoding.String, encoding.UUID:
		return 16 + 1
	case encoding.UUIDList:
		return 24 + 1
	}
	return 8 + 1
}

// accepts reports whether an array of the Arrow type can have values of type t. Inner types are checked
// when they are read.
func accepts(t encoding.Type, typ arrow.DataType) bool {
	id := idOf(typ)
	switch t {
	case encoding.Int64:
		if stamp, ok := typ.(*arrow.TimestampType); ok && stamp != nil {
			return stamp.Unit == arrow.Nanosecond
		}
		return isInteger(typ) && id != arrow.UINT64
	case encoding.Uint64:
		return id == arrow.UINT8 || id == arrow.UINT16 || id == arrow.UINT32 || id == arrow.UINT64
	case encoding.Float64:
		return id == arrow.FLOAT64 || id == arrow.FLOAT32
	case encoding.Bool:
		return id == arrow.BOOL
	case encoding.String:
		return id == arrow.DICTIONARY || isText(id)
	case encoding.UUID:
		return id == arrow.DICTIONARY || isID(id)
	case encoding.UUIDList:
		return id == arrow.DICTIONARY || isList(id)
	}
	return false
}

func isText(id arrow.Type) bool {
	return id == arrow.STRING || id == arrow.LARGE_STRING || id == arrow.BINARY || id == arrow.LARGE_BINARY
}

func isList(id arrow.Type) bool { return id == arrow.LIST || id == arrow.LARGE_LIST }

// fillFixed reads a fixed-type column.
func fillFixed(v *encoding.Vector, data arrow.ArrayData, lo, hi int) error {
	s, err := newSpan(data, 2, 0)
	if err != nil {
		return err
	}
	s = s.between(lo, hi)
	v.Valid = s.flags()
	switch v.Type {
	case encoding.Int64:
		v.Int64s, err = integers[int64](&s)
	case encoding.Uint64:
		v.Uint64s, err = integers[uint64](&s)
	case encoding.Float64:
		v.Float64s, err = newFloats(&s)
	default:
		v.Bools, err = newBools(&s)
	}
	return err
}

func newFloats(s *span) ([]float64, error) {
	width := 8
	if s.typ.ID() == arrow.FLOAT32 {
		width = 4
	}
	raw, err := s.fixed(width)
	if err != nil {
		return nil, err
	}
	out := make([]float64, s.rows)
	for i := range out {
		if width == 4 {
			out[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(raw[4*i:])))
		} else {
			out[i] = math.Float64frombits(binary.NativeEndian.Uint64(raw[8*i:]))
		}
	}
	return out, nil
}

func newBools(s *span) ([]bool, error) {
	bits, err := s.bits()
	if err != nil {
		return nil, err
	}
	out := make([]bool, s.rows)
	for i := range out {
		out[i] = bitutil.BitIsSet(bits, s.offset+i)
	}
	return out, nil
}

// newStrings copies strings. A plain array is copied in one piece, and a dictionary entry by entry, only
// for entries that rows have.
func newStrings(data arrow.ArrayData, lo, hi int) ([]string, []bool, error) {
	if typeID(data) == arrow.DICTIONARY {
		dict, codes, err := newIndexes(data, lo, hi)
		if err != nil {
			return nil, nil, err
		}
		if !isText(typeID(dict)) {
			return nil, nil, fmt.Errorf("dictionary of %s, want strings", typeName(dict.DataType()))
		}
		entries, err := newTexts(dict, 0, dict.Len())
		if err != nil {
			return nil, nil, fmt.Errorf("dictionary: %w", err)
		}
		return gather(&entries.span, &codes, func(i int) (string, error) {
			text, err := entries.at(i)
			return string(text), err
		})
	}
	t, err := newTexts(data, lo, hi)
	if err != nil {
		return nil, nil, err
	}
	first := t.ends[0]
	whole := string(t.data[first:t.ends[t.rows]])
	out := make([]string, t.rows)
	for i := range out {
		if t.null(i) {
			continue
		}
		if _, err := t.at(i); err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", i, err)
		}
		out[i] = whole[t.ends[i]-first : t.ends[i+1]-first]
	}
	return out, t.flags(), nil
}

func newUUIDs(data arrow.ArrayData, lo, hi int) (out []uuid.UUID, valid []bool, err error) {
	d, err := newIDs(data, lo, hi)
	if err != nil {
		return nil, nil, err
	}
	out = make([]uuid.UUID, d.n)
	for i := range out {
		id, ok, err := d.at(i)
		if err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", i, err)
		}
		if !ok && valid == nil {
			valid = slices.Repeat([]bool{true}, d.n)
		}
		if !ok {
			valid[i] = false
		}
		out[i] = id
	}
	return out, valid, nil
}

// newUUIDLists copies lists. A plain array is copied into one piece of memory, and a dictionary list by
// list, so that equal rows share them.
func (m *Importer) newUUIDLists(data arrow.ArrayData, lo, hi int) ([][]uuid.UUID, []bool, error) {
	if typeID(data) == arrow.DICTIONARY {
		dict, codes, err := newIndexes(data, lo, hi)
		if err != nil {
			return nil, nil, err
		}
		if !isList(typeID(dict)) {
			return nil, nil, fmt.Errorf("dictionary of %s, want lists", typeName(dict.DataType()))
		}
		entries, err := newLists(nil, dict, 0, dict.Len())
		if err != nil {
			return nil, nil, fmt.Errorf("dictionary: %w", err)
		}
		return gather(&entries.span, &codes, entries.at)
	}
	l, err := newLists(m.ends, data, lo, hi)
	if err != nil {
		return nil, nil, err
	}
	m.ends = l.ends
	total := 0
	for i := range l.rows {
		if l.null(i) {
			continue
		}
		n, err := l.len(i)
		if err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", i, err)
		}
		total += n
	}
	out, all := m.room(l.rows, total)
	if first := l.ends[0]; !l.hasNulls() && l.elements.copy(all[:total], 0) {
		for i := range out {
			out[i] = all[l.ends[i]-first : l.ends[i+1]-first : l.ends[i+1]-first]
		}
		return out, nil, nil
	}
	for i := range out {
		if out[i] = nil; l.null(i) {
			continue
		}
		begin := len(all)
		if all, err = l.append(all, i); err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", i, err)
		}
		out[i] = all[begin:len(all):len(all)]
	}
	return out, l.flags(), nil
}
