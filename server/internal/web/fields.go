package web

import (
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field is a field of an encoded message of protobuf.
type Field struct {
	Number protowire.Number
	Type   protowire.Type
	value  []byte // with its length, if it has one
}

// Bytes returns the content of a length-delimited field.
func (f Field) Bytes() []byte {
	content, _ := protowire.ConsumeBytes(f.value)
	return content
}

// Varint returns the content of a field of type varint.
func (f Field) Varint() uint64 {
	content, _ := protowire.ConsumeVarint(f.value)
	return content
}

// Fields returns the fields of an encoded message. An error is the last element.
func Fields(data []byte) iter.Seq2[Field, error] {
	return func(yield func(Field, error) bool) {
		for len(data) > 0 {
			number, kind, n := protowire.ConsumeTag(data)
			if n >= 0 {
				data = data[n:]
				n = protowire.ConsumeFieldValue(number, kind, data)
			}
			if n < 0 {
				yield(Field{}, protowire.ParseError(n))
				return
			}
			if !yield(Field{number, kind, data[:n]}, nil) {
				return
			}
			data = data[n:]
		}
	}
}
