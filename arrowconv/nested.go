package arrowconv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/google/uuid"

	"github.com/granarydb/granary/schema"
)

// idOf returns the id of a type, or -1 if there is none: ID itself panics on some nil
// pointers.
func idOf(t arrow.DataType) arrow.Type {
	absent := t == nil
	switch t := t.(type) {
	case *arrow.LargeListType:
		absent = t == nil
	case *arrow.SparseUnionType:
		absent = t == nil
	case *arrow.DenseUnionType:
		absent = t == nil
	}
	if absent {
		return -1
	}
	return t.ID()
}

// typeID returns the id of the type of an array, or -1 if it is absent.
func typeID(given arrow.ArrayData) arrow.Type {
	if data, ok := given.(*array.Data); ok && data != nil {
		return idOf(data.DataType())
	}
	return -1
}

// isInteger reports whether a type can index a dictionary.
func isInteger(t arrow.DataType) bool {
	return idOf(t) >= arrow.UINT8 && idOf(t) <= arrow.INT64
}

// typeName names a type for an error, a nested type by the outer one only: String of a type
// nested a million deep never returns.
func typeName(t arrow.DataType) string {
	switch id := idOf(t); {
	case id < 0:
		return "none"
	case arrow.IsNested(id), id == arrow.DICTIONARY, id == arrow.RUN_END_ENCODED, id == arrow.EXTENSION:
		return strings.ToLower(id.String())
	}
	return fmt.Sprintf("%.200v", t)
}

// newCodes checks rows [lo, hi) of a dictionary array. It returns the unchecked dictionary,
// and the index of each row in it, or -1 for null.
func newCodes(given arrow.ArrayData, lo, hi int) (dict arrow.ArrayData, codes []int64, err error) {
	s, err := newSpan(given, 2, 0)
	if err != nil {
		return nil, nil, err
	}
	s = s.between(lo, hi)
	return s.codes()
}

// codes is newCodes for all rows of a span.
func (s *span) codes() (dict arrow.ArrayData, codes []int64, err error) {
	typ, ok := s.typ.(*arrow.DictionaryType)
	if !ok || typ == nil || !isInteger(typ.IndexType) {
		return nil, nil, errors.New("dictionary without integer indexes")
	}
	dict = s.data.Dictionary() // never a nil interface, even without a dictionary
	if id := typeID(dict); id < 0 || id != idOf(typ.ValueType) || dict.Len() < 0 {
		return nil, nil, fmt.Errorf("dictionary is missing or of another type than %s", typeName(typ.ValueType))
	}
	indexes := *s
	indexes.typ = typ.IndexType
	if codes, err = integers[int64](&indexes); err != nil {
		return nil, nil, fmt.Errorf("dictionary indexes: %w", err)
	}
	for i, code := range codes {
		switch {
		case s.null(i):
			codes[i] = -1
		case code < 0 || code >= int64(dict.Len()):
			return nil, nil, fmt.Errorf("row %d: dictionary index %d, want less than %d", i, code, dict.Len())
		}
	}
	return dict, codes, nil
}

// gather decodes each dictionary entry in codes once, and returns one a row. Null entries make
// null rows.
func gather[T any](entries *span, codes []int64, decode func(i int) (T, error)) (out []T, valid []bool, err error) {
	out = make([]T, len(codes))
	decoded := make([]T, entries.rows)
	done := make([]bool, entries.rows)
	for i, code := range codes {
		if code < 0 || entries.null(int(code)) {
			if valid == nil {
				valid = slices.Repeat([]bool{true}, len(codes))
			}
			valid[i] = false
			continue
		}
		if !done[code] {
			if decoded[code], err = decode(int(code)); err != nil {
				return nil, nil, fmt.Errorf("dictionary entry %d: %w", code, err)
			}
			done[code] = true
		}
		out[i] = decoded[code]
	}
	return out, valid, nil
}

// texts is a checked array of strings.
type texts struct {
	span
	ends []int // value i is data[ends[i]:ends[i+1]]
	data []byte
}

// newTexts checks rows [lo, hi) of a utf8, large_utf8, binary or large_binary array, except
// for the text itself.
func newTexts(given arrow.ArrayData, lo, hi int) (texts, error) {
	s, err := newSpan(given, 3, 0)
	if err != nil {
		return texts{}, err
	}
	s = s.between(lo, hi)
	t := texts{span: s, data: s.buffer(2)}
	t.ends, err = s.offsets(len(t.data))
	return t, err
}

// at returns value i, after a check that it is UTF-8 within its limit.
func (t *texts) at(i int) ([]byte, error) {
	text := t.data[t.ends[i]:t.ends[i+1]]
	if len(text) > schema.MaxString {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", schema.ErrLimit, len(text), schema.MaxString)
	}
	if !utf8.Valid(text) {
		return nil, errors.New("not valid UTF-8")
	}
	return text, nil
}

// ids is checked UUIDs: an array of them, or a dictionary.
type ids struct {
	span  // of the UUIDs, or of the dictionary's entries
	raw   []byte
	codes []int64 // by row; nil unless a dictionary
	n     int
}

// newIDs checks rows [lo, hi) of an array of UUIDs.
func newIDs(given arrow.ArrayData, lo, hi int) (ids, error) {
	if id := typeID(given); id != arrow.DICTIONARY && id != arrow.FIXED_SIZE_BINARY {
		return ids{}, fmt.Errorf("%s, want fixed_size_binary[%d]", typeName(given.DataType()), uuidLen)
	}
	s, err := newSpan(given, 2, 0)
	if err != nil {
		return ids{}, err
	}
	s = s.between(lo, hi)
	out := ids{span: s, n: s.rows}
	if s.typ.ID() == arrow.DICTIONARY {
		var dict arrow.ArrayData
		if dict, out.codes, err = s.codes(); err != nil {
			return ids{}, err
		}
		if out.span, err = newSpan(dict, 2, 0); err != nil {
			return ids{}, fmt.Errorf("dictionary: %w", err)
		}
	}
	typ, ok := out.typ.(*arrow.FixedSizeBinaryType)
	if !ok || typ == nil || typ.ByteWidth != uuidLen {
		return ids{}, fmt.Errorf("%s, want fixed_size_binary[%d]", typeName(out.typ), uuidLen)
	}
	out.raw, err = out.fixed(uuidLen)
	return out, err
}

// at returns the UUID of row i; ok is false if it is null.
func (d *ids) at(i int) (id uuid.UUID, ok bool) {
	if d.codes != nil {
		if i = int(d.codes[i]); i < 0 {
			return id, false
		}
	}
	if d.null(i) {
		return id, false
	}
	return uuid.UUID(d.raw[i*uuidLen:]), true
}

// lists is a checked array of lists of UUIDs.
type lists struct {
	span
	ends     []int // list i is the elements [ends[i], ends[i+1])
	elements ids   // element k is row k-ends[0]
}

// newLists checks rows [lo, hi) of a list or large_list array, except for null elements.
func newLists(given arrow.ArrayData, lo, hi int) (lists, error) {
	s, err := newSpan(given, 2, 1)
	if err != nil {
		return lists{}, err
	}
	s = s.between(lo, hi)
	child := s.data.Children()[0]
	if typeID(child) < 0 || child.Len() < 0 {
		return lists{}, fmt.Errorf("elements: %w", errNoData)
	}
	if idOf(elemType(s.typ)) != typeID(child) {
		return lists{}, fmt.Errorf("elements are of another type than %s", typeName(elemType(s.typ)))
	}
	l := lists{span: s}
	if l.ends, err = s.offsets(child.Len()); err != nil {
		return lists{}, err
	}
	if l.elements, err = newIDs(child, l.ends[0], l.ends[len(l.ends)-1]); err != nil {
		return lists{}, fmt.Errorf("elements: %w", err)
	}
	return l, nil
}

// elemType returns the type of a list's elements, nil if there is none.
func elemType(list arrow.DataType) arrow.DataType {
	switch t := list.(type) {
	case *arrow.ListType:
		if t != nil {
			return t.Elem()
		}
	case *arrow.LargeListType:
		if t != nil {
			return t.Elem()
		}
	}
	return nil
}

// len returns the number of elements of list i, or an error beyond the limit.
func (l *lists) len(i int) (int, error) {
	n := l.ends[i+1] - l.ends[i]
	if n > schema.MaxList {
		return 0, fmt.Errorf("%w: list of %d, at most %d", schema.ErrLimit, n, schema.MaxList)
	}
	return n, nil
}

// append appends the elements of list i to dst.
func (l *lists) append(dst []uuid.UUID, i int) ([]uuid.UUID, error) {
	for k := l.ends[i]; k < l.ends[i+1]; k++ {
		id, ok := l.elements.at(k - l.ends[0])
		if !ok {
			return nil, fmt.Errorf("element %d is null", k-l.ends[i])
		}
		dst = append(dst, id)
	}
	return dst, nil
}

// at returns list i in its own memory.
func (l *lists) at(i int) ([]uuid.UUID, error) {
	n, err := l.len(i)
	if err != nil {
		return nil, err
	}
	return l.append(make([]uuid.UUID, 0, n), i)
}
