package schema

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/granarydb/granary/encoding"
)

// errTuple reports bytes that are not a series tuple of the schema. This package makes tuples, and
// CheckTuple checks an image's tuples.
var errTuple = errors.New("malformed series tuple")

// SeriesValue is one value of a series: a concrete column and its value.
type SeriesValue struct {
	Column int    // index in Schema.Columns
	Name   string // concrete name: "sample_type", "labels.pod"
	Value  string
}

const (
	tagNull  = 0x00 // a null, or the end of a dynamic family
	tagValue = 0x01
	endName  = 0xff // names have no control characters, so no flipped byte is this high
)

// AppendBucket appends the leading part of a key: the start of the bucket, which may be any time. Tables
// without buckets have no such part.
func (s *Schema) AppendBucket(dst []byte, start int64) []byte {
	if s.bucket < 0 {
		return dst
	}
	return binary.BigEndian.AppendUint64(dst, uint64(start)^1<<63)
}

// BucketBounds returns the lowest key in the bucket that begins at start, which may be any time, and the
// lowest key above all of its rows, which belongs to a bucket that begins a nanosecond later. hi is empty
// at the end of int64. Both are empty without buckets.
func (s *Schema) BucketBounds(start int64) (lo, hi string) {
	if s.bucket < 0 {
		return "", ""
	}
	lo = string(s.AppendBucket(nil, start))
	if start < math.MaxInt64 {
		hi = string(s.AppendBucket(nil, start+1))
	}
	return lo, hi
}

// BucketEnd returns the end of the range of the bucket width that begins at start. The schema must have
// buckets. The first range of all may be cut short by the limit of int64, and the end of the last range
// overflows.
func (s *Schema) BucketEnd(start int64) int64 {
	if start == math.MinInt64 && start%s.width != 0 {
		return start - start%s.width
	}
	return start + s.width
}

// AppendTuple appends the series part of a key. Labels are in the order of Series, concrete dynamic columns
// by name; columns without a label are null.
func (s *Schema) AppendTuple(dst []byte, labels []SeriesValue) []byte {
	for _, column := range s.series {
		if !s.columns[column].Dynamic {
			if len(labels) == 0 || labels[0].Column != column {
				dst = AppendNull(dst)
				continue
			}
			dst = AppendBytes(append(dst, tagValue), []byte(labels[0].Value))
			labels = labels[1:]
			continue
		}
		for len(labels) > 0 && labels[0].Column == column {
			dst = AppendName(dst, labels[0].Name)
			dst = AppendBytes(dst, []byte(labels[0].Value))
			labels = labels[1:]
		}
		dst = AppendNull(dst)
	}
	return dst
}

// EachLabel calls f with the column and name of each label in a series tuple of this schema, up to its end
// or its first malformed byte. The name is valid only during the call.
func (s *Schema) EachLabel(key []byte, f func(column int, name []byte)) {
	var few [64]byte
	name := few[:0]
	for _, column := range s.series {
		c := &s.columns[column]
		for len(key) > 0 {
			tag := key[0]
			if key = key[1:]; tag != tagValue {
				break
			}
			name = append(name[:0], c.Name...)
			if c.Dynamic {
				end := bytes.IndexByte(key, endName)
				if end < 0 {
					return
				}
				name = name[:0]
				for _, b := range key[:end] {
					name = append(name, ^b)
				}
				key = key[end+1:]
			}
			f(column, name)
			if key = skipBytes(key); !c.Dynamic {
				break
			}
		}
	}
}

// TupleValue returns a concrete column's value in a series tuple of this schema; ok is false if it has
// none. The value may be part of the tuple and must not be changed. It costs about 10 ns for each preceding
// label.
func (s *Schema) TupleValue(key []byte, column int, name string) (value []byte, ok bool) {
	for _, at := range s.series {
		c := &s.columns[at]
		for len(key) > 0 {
			tag := key[0]
			if key = key[1:]; tag != tagValue {
				break
			}
			found := at == column
			if c.Dynamic {
				end := bytes.IndexByte(key, endName)
				if end < 0 {
					return nil, false
				}
				found = found && isName(key[:end], name)
				key = key[end+1:]
			}
			rest := skipBytes(key)
			if found && rest != nil {
				return unescaped(key[:len(key)-len(rest)-2]), true
			}
			if key = rest; !c.Dynamic {
				break
			}
		}
		if at == column {
			break
		}
	}
	return nil, false
}

// isName reports whether written is a name as AppendName writes it.
func isName(written []byte, name string) bool {
	if len(written) != len(name) {
		return false
	}
	for i, b := range written {
		if ^b != name[i] {
			return false
		}
	}
	return true
}

// unescaped returns a value written by AppendBytes, without its end.
func unescaped(written []byte) []byte {
	if bytes.IndexByte(written, 0) < 0 {
		return written
	}
	return bytes.ReplaceAll(written, []byte{0, 0xff}, []byte{0})
}

// skipBytes skips a value written by AppendBytes.
func skipBytes(key []byte) []byte {
	for {
		i := bytes.IndexByte(key, 0)
		if i < 0 || i+1 >= len(key) {
			return nil
		}
		ended := key[i+1] == 0
		if key = key[i+2:]; ended {
			return key
		}
	}
}

// ReadTuple is the inverse of AppendTuple.
func (s *Schema) ReadTuple(key []byte) ([]SeriesValue, error) {
	var labels []SeriesValue
	for _, column := range s.series {
		c := &s.columns[column]
		for {
			if len(key) == 0 {
				return nil, errTuple
			}
			tag := key[0]
			key = key[1:]
			if tag == tagNull {
				break
			}
			if tag != tagValue {
				return nil, errTuple
			}
			label := SeriesValue{Column: column, Name: c.Name}
			if c.Dynamic {
				if label.Name, key = readName(key); key == nil {
					return nil, errTuple
				}
			}
			if label.Value, key = readBytes(key); key == nil {
				return nil, errTuple
			}
			labels = append(labels, label)
			if !c.Dynamic {
				break
			}
		}
	}
	if len(key) != 0 {
		return nil, errTuple
	}
	return labels, nil
}

// CheckTuple returns an error unless the bytes, which may be from anywhere, are a series tuple of
// rows that pass Check. Its text does not name the tuple.
func (s *Schema) CheckTuple(key []byte) error {
	labels, err := s.ReadTuple(key)
	if err != nil {
		return err
	}
	last := SeriesValue{Column: -1}
	for _, l := range labels {
		dynamic := s.columns[l.Column].Dynamic
		switch column, ok := s.Resolve(l.Name); {
		case !ok || column != l.Column || !ValidName(l.Name):
			return fmt.Errorf("%w: %.100q is no name of its column", errTuple, l.Name)
		case l.Column == last.Column && l.Name <= last.Name:
			return fmt.Errorf("%w: %.100q follows %.100q", errTuple, l.Name, last.Name)
		case dynamic && l.Value == "":
			return fmt.Errorf("%w: %.100q is empty", errTuple, l.Name)
		case len(l.Value) > MaxString || !utf8.ValidString(l.Value):
			return fmt.Errorf("%w: %.100q has %d bytes, or not valid UTF-8", errTuple, l.Name, len(l.Value))
		}
		last = l
	}
	return nil
}

// AppendNull appends a null for a fixed column, or closes a dynamic family.
func AppendNull(dst []byte) []byte { return append(dst, tagNull) }

// AppendName opens a concrete dynamic column's value.
func AppendName(dst []byte, name string) []byte {
	dst = append(dst, tagValue)
	for i := range len(name) {
		dst = append(dst, ^name[i])
	}
	return append(dst, endName)
}

// AppendPresent opens a fixed column's value that is not null.
func AppendPresent(dst []byte) []byte { return append(dst, tagValue) }

// AppendWord appends a value of a fixed type, or a list's code, in a form that sorts like the value.
func AppendWord(dst []byte, t encoding.Type, word uint64) []byte {
	if t == encoding.UUIDList {
		return binary.BigEndian.AppendUint32(dst, uint32(word))
	}
	return binary.BigEndian.AppendUint64(dst, OrderedWord(t, word))
}

// OrderedWord returns a word that compares, as an unsigned integer, like a value of a fixed type or a
// list's code.
func OrderedWord(t encoding.Type, word uint64) uint64 {
	switch {
	case t == encoding.Int64:
		return word ^ 1<<63
	case t == encoding.Float64 && word>>63 == 1:
		return ^word // negative floats sort by their bits in reverse
	case t == encoding.Float64:
		return word | 1<<63
	}
	return word
}

// AppendBytes appends a string or a UUID in a form that sorts like its bytes and marks its own end.
func AppendBytes(dst, value []byte) []byte {
	for {
		i := bytes.IndexByte(value, 0)
		if i < 0 {
			dst = append(dst, value...)
			return append(dst, 0, 0)
		}
		dst = append(dst, value[:i]...)
		dst = append(dst, 0, 0xff)
		value = value[i+1:]
	}
}

// readBytes reads a value written by AppendBytes; rest is nil if key does not begin with one.
func readBytes(key []byte) (value string, rest []byte) {
	var out []byte
	for {
		i := bytes.IndexByte(key, 0)
		if i < 0 || i+1 == len(key) {
			return "", nil
		}
		out = append(out, key[:i]...)
		switch key[i+1] {
		case 0:
			return string(out), key[i+2:]
		case 0xff:
			out = append(out, 0)
		default:
			return "", nil
		}
		key = key[i+2:]
	}
}

func readName(key []byte) (name string, rest []byte) {
	i := bytes.IndexByte(key, endName)
	if i < 0 {
		return "", nil
	}
	out := make([]byte, i)
	for k := range out {
		out[k] = ^key[k]
	}
	return string(out), key[i+1:]
}
