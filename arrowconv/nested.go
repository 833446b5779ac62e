package arrowconv

import (
	"encoding/binary"
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

// idOf returns a type's id, or -1 if it is nil. It checks for nil because ID panics on some nil pointers.
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

// typeID returns the id of an array's type, or -1 if it is absent.
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

// typeName names a type for an error. It names only the outer type, because String of a type nested a
// million deep never returns.
func typeName(t arrow.DataType) string {
	switch id := idOf(t); {
	case id < 0:
		return "none"
	case arrow.IsNested(id), id == arrow.DICTIONARY, id == arrow.RUN_END_ENCODED, id == arrow.EXTENSION:
		return strings.ToLower(id.String())
	}
	return fmt.Sprintf("%.200v", t)
}

// indexes has the checked indexes of rows in a dictionary.
type indexes struct {
	span
	raw   []byte
	width int
}

// newIndexes checks rows [lo, hi) of a dictionary array. It returns the unchecked dictionary, and each
// row's index.
func newIndexes(given arrow.ArrayData, lo, hi int) (dict arrow.ArrayData, x indexes, err error) {
	s, err := newSpan(given, 2, 0)
	if err != nil {
		return nil, indexes{}, err
	}
	s = s.between(lo, hi)
	return s.indexes()
}

// indexes is newIndexes for all rows in a span.
func (s *span) indexes() (dict arrow.ArrayData, x indexes, err error) {
	typ, ok := s.typ.(*arrow.DictionaryType)
	if !ok || typ == nil || !isInteger(typ.IndexType) {
		return nil, indexes{}, errors.New("dictionary without integer indexes")
	}
	dict = s.data.Dictionary() // never a nil interface, even without a dictionary
	if id := typeID(dict); id < 0 || id != idOf(typ.ValueType) || dict.Len() < 0 {
		return nil, indexes{}, fmt.Errorf("dictionary is missing or of another type than %s", typeName(typ.ValueType))
	}
	id := typ.IndexType.ID()
	x = indexes{span: *s, width: integerWidth(id)}
	if x.raw, err = s.fixed(x.width); err != nil {
		return nil, indexes{}, fmt.Errorf("dictionary indexes: %w", err)
	}
	signed := id == arrow.INT8 || id == arrow.INT16 || id == arrow.INT32 || id == arrow.INT64
	unused := 64 - 8*x.width // bits of a word
	if most := x.most(); most < uint64(dict.Len()) && (!signed || int64(most<<unused) >= 0) {
		return dict, x, nil
	}
	for i := range x.rows { // a bad index, or the index of a null row
		code := x.word(i)
		if uint64(dict.Len()) > code && (!signed || int64(code<<unused) >= 0) || x.null(i) {
			continue
		}
		if signed {
			return nil, indexes{}, fmt.Errorf("row %d: dictionary index %d, want less than %d", i, int64(code<<unused)>>unused, dict.Len())
		}
		return nil, indexes{}, fmt.Errorf("row %d: dictionary index %d, want less than %d", i, code, dict.Len())
	}
	return dict, x, nil
}

// most returns the greatest index, read as unsigned.
func (x *indexes) most() (most uint64) {
	switch x.width {
	case 1:
		for _, code := range x.raw {
			most = max(most, uint64(code))
		}
	case 2:
		for raw := x.raw; len(raw) >= 2; raw = raw[2:] {
			most = max(most, uint64(binary.NativeEndian.Uint16(raw)))
		}
	case 4:
		var four [4]uint32 // in parallel, because each maximum waits for the previous one
		raw := x.raw
		for ; len(raw) >= 16; raw = raw[16:] {
			four[0] = max(four[0], binary.NativeEndian.Uint32(raw))
			four[1] = max(four[1], binary.NativeEndian.Uint32(raw[4:]))
			four[2] = max(four[2], binary.NativeEndian.Uint32(raw[8:]))
			four[3] = max(four[3], binary.NativeEndian.Uint32(raw[12:]))
		}
		for ; len(raw) >= 4; raw = raw[4:] {
			four[0] = max(four[0], binary.NativeEndian.Uint32(raw))
		}
		most = uint64(slices.Max(four[:]))
	default:
		for raw := x.raw; len(raw) >= 8; raw = raw[8:] {
			most = max(most, binary.NativeEndian.Uint64(raw))
		}
	}
	return most
}

// word returns the bits of the index of row i.
func (x *indexes) word(i int) uint64 {
	switch x.width {
	case 1:
		return uint64(x.raw[i])
	case 2:
		return uint64(binary.NativeEndian.Uint16(x.raw[2*i:]))
	case 4:
		return uint64(binary.NativeEndian.Uint32(x.raw[4*i:]))
	}
	return binary.NativeEndian.Uint64(x.raw[8*i:])
}

// at returns the index of row i, or -1 for null.
func (x *indexes) at(i int) int {
	if x.null(i) {
		return -1
	}
	return int(x.word(i))
}

// gather decodes each dictionary entry in codes once, and returns one value per row. Null entries make null
// rows.
func gather[T any](entries *span, codes *indexes, decode func(i int) (T, error)) (out []T, valid []bool, err error) {
	out = make([]T, codes.rows)
	decoded := make([]T, entries.rows)
	done := make([]bool, entries.rows)
	for i := range out {
		code := codes.at(i)
		if code < 0 || entries.null(code) {
			if valid == nil {
				valid = slices.Repeat([]bool{true}, codes.rows)
			}
			valid[i] = false
			continue
		}
		if !done[code] {
			if decoded[code], err = decode(code); err != nil {
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
	t.ends, err = s.offsets(nil, len(t.data))
	return t, err
}

// binaryIDs returns rows [lo, hi) of a binary array, and their bytes, if each row has the size of a UUID,
// because the bytes are then the same as in an array of UUIDs. Otherwise, and for a malformed array, it
// returns nil, and newTexts finds the cause.
func binaryIDs(given arrow.ArrayData, lo, hi int) (span, []byte) {
	s, err := newSpan(given, 3, 0)
	if err != nil || s.typ.ID() != arrow.BINARY || lo == hi {
		return s, nil
	}
	s = s.between(lo, hi)
	ends := s
	ends.rows++
	offsets, err := ends.fixed(4)
	if err != nil {
		return s, nil
	}
	first := int64(int32(binary.NativeEndian.Uint32(offsets)))
	for i := range ends.rows {
		if end := int64(int32(binary.NativeEndian.Uint32(offsets[4*i:]))); end != first+int64(i*uuidLen) {
			return s, nil
		}
	}
	data := s.buffer(2)
	if first < 0 || first+int64(s.rows*uuidLen) > int64(len(data)) {
		return s, nil
	}
	return s, data[first:][:s.rows*uuidLen]
}

// at returns value i. It checks that the value is UTF-8 and within its limit.
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

// uuids is a checked array of UUIDs, or a dictionary.
type uuids struct {
	span            // of the UUIDs, or of the dictionary's entries
	raw      []byte // of the UUIDs, if each has 16 bytes
	texts    texts  // of the UUIDs, if raw is nil
	codes    indexes
	hasCodes bool // the ids are a dictionary
	full     bool // each row has a UUID of 16 bytes
	n        int
}

// isID reports whether a type's values can be UUIDs.
func isID(id arrow.Type) bool {
	return id == arrow.FIXED_SIZE_BINARY || id == arrow.BINARY || id == arrow.LARGE_BINARY
}

// newIDs checks rows [lo, hi) of an array of UUIDs, except for the lengths of binary values.
func newIDs(given arrow.ArrayData, lo, hi int) (out uuids, err error) {
	out.n = hi - lo
	if typeID(given) == arrow.DICTIONARY {
		if given, out.codes, err = newIndexes(given, lo, hi); err != nil {
			return uuids{}, err
		}
		out.hasCodes, lo, hi = true, 0, given.Len()
	}
	switch id := typeID(given); {
	case !isID(id):
		return uuids{}, fmt.Errorf("%s, want fixed_size_binary[%d] or binary", typeName(given.DataType()), uuidLen)
	case id != arrow.FIXED_SIZE_BINARY:
		if out.span, out.raw = binaryIDs(given, lo, hi); out.raw == nil {
			out.texts, err = newTexts(given, lo, hi)
			out.span = out.texts.span
		}
	default:
		if out.span, err = newSpan(given, 2, 0); err != nil {
			break
		}
		out.span = out.between(lo, hi)
		typ, ok := out.typ.(*arrow.FixedSizeBinaryType)
		if !ok || typ == nil || typ.ByteWidth != uuidLen {
			return uuids{}, fmt.Errorf("%s, want fixed_size_binary[%d]", typeName(out.typ), uuidLen)
		}
		out.raw, err = out.fixed(uuidLen)
	}
	if err != nil && out.hasCodes {
		err = fmt.Errorf("dictionary: %w", err)
	}
	out.full = err == nil && out.raw != nil && !out.hasNulls() && (!out.hasCodes || !out.codes.hasNulls())
	return out, err
}

// at returns the UUID of row i. ok is false if it is null. The error reports a binary value of another
// length.
func (d *uuids) at(i int) (id uuid.UUID, ok bool, err error) {
	if d.hasCodes {
		if i = d.codes.at(i); i < 0 {
			return id, false, nil
		}
	}
	if d.null(i) {
		return id, false, nil
	}
	if d.raw != nil {
		return uuid.UUID(d.raw[i*uuidLen:]), true, nil
	}
	value := d.texts.data[d.texts.ends[i]:d.texts.ends[i+1]]
	if len(value) != uuidLen {
		return id, false, fmt.Errorf("binary value of %d bytes, want %d", len(value), uuidLen)
	}
	return uuid.UUID(value), true, nil
}

// copy copies the UUIDs of rows from i on to dst, and reports whether it did. It does so only if one load
// reads each id, because loads take most of the time for a record of profiles.
func (d *uuids) copy(dst []uuid.UUID, i int) bool {
	switch {
	case !d.full || d.hasCodes && d.codes.width != 4:
		return false
	case !d.hasCodes:
		copy(dst, asUUIDs(d.raw)[i:])
		return true
	}
	all, codes := asUUIDs(d.raw), d.codes.raw[4*i:][:4*len(dst)]
	for k := range dst {
		dst[k] = all[binary.NativeEndian.Uint32(codes[4*k:])]
	}
	return true
}

// lists is a checked array of lists of UUIDs.
type lists struct {
	span
	ends     []int // list i is the elements [ends[i], ends[i+1])
	elements uuids // element k is row k-ends[0]
}

// newLists checks rows [lo, hi) of a list or large_list array, except for null elements. The ends use the
// memory of dst.
func newLists(dst []int, given arrow.ArrayData, lo, hi int) (lists, error) {
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
	if l.ends, err = s.offsets(dst, child.Len()); err != nil {
		return lists{}, err
	}
	if l.elements, err = newIDs(child, l.ends[0], l.ends[len(l.ends)-1]); err != nil {
		return lists{}, fmt.Errorf("elements: %w", err)
	}
	return l, nil
}

// elemType returns the type of a list's elements, or nil.
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

// len returns the number of elements of list i. The error reports a number beyond the limit.
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
		id, ok, err := l.elements.at(k - l.ends[0])
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", k-l.ends[i], err)
		}
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
