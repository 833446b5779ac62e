package web

import (
	"bytes"
	"errors"
	"iter"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/granarydb/granary/server/internal/fault"
)

// A request's messages are counted before any is decoded, because a message of two bytes takes more than
// a hundred in memory. Repeated strings count as messages.

// ProtoCodec is the codec of Connect for protobuf, with a limit on a request's messages.
type ProtoCodec struct {
	Most int
	// Take reserves memory for a decoded message, or returns an error. After an error the message is left
	// empty, because Connect would report an error of the codec as a malformed message; the owner of Take
	// reports it instead. nil reserves nothing.
	Take func(bytes int64) error
	// Mended, if not nil, has strings that are not UTF-8 mended: the wrong bytes become U+FFFD, and Mended is called with
	// the number of such strings. nil refuses the message.
	Mended func(n int)
	// Upgrade, if not nil, returns a request of an older protocol in today's. It reserves memory by take.
	Upgrade func(data []byte, take func(bytes int64) error) ([]byte, error)
}

// Upper bounds of the memory that a request takes.
const (
	MessageBytes = 512 // a message, and the parts of pprof made from it
	valueBytes   = 32  // a value in a JSON list
)

func (c ProtoCodec) has(bytes int64) bool { return c.Take == nil || c.Take(bytes) == nil }

// Name implements connect.Codec.
func (ProtoCodec) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (ProtoCodec) Marshal(m any) ([]byte, error) { return proto.Marshal(m.(proto.Message)) }

// Unmarshal implements connect.Codec.
func (c ProtoCodec) Unmarshal(data []byte, to any) error {
	if c.Upgrade != nil {
		isBusy := false
		upgraded, err := c.Upgrade(data, func(bytes int64) error {
			if isBusy = !c.has(bytes); isBusy {
				return fault.ErrLimit
			}
			return nil
		})
		if err != nil && !isBusy {
			return err
		}
		if data = upgraded; isBusy {
			return nil // the error of Take is reported elsewhere
		}
	}
	m := to.(proto.Message)
	n := countMessages(data, m.ProtoReflect().Descriptor(), c.Most, 0)
	if n > c.Most {
		return fault.TooLarge("more than %d messages in a request", c.Most)
	}
	if !c.has(int64(len(data) + n*MessageBytes)) {
		return nil // as above
	}
	options := proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxNesting}
	err := options.Unmarshal(data, m)
	if _, odd := errors.AsType[interface {
		error
		InvalidUTF8() bool
	}](err); !odd || c.Mended == nil {
		return err
	}
	if !c.has(int64(len(data)) * mendedBytes) {
		proto.Reset(m)
		return nil // as above
	}
	mended, strings := mend(nil, data, m.ProtoReflect().Descriptor(), 0)
	c.Mended(strings)
	return options.Unmarshal(mended, m)
}

// mendedBytes bounds the bytes that a byte of a message takes while it is mended, level by level of a message.
const mendedBytes = 3 * 4

// mend appends an encoded message to dst, with strings that are UTF-8. It returns how many were not.
func mend(dst, data []byte, of protoreflect.MessageDescriptor, depth int) (out []byte, n int) {
	for f, err := range Fields(data) {
		if err != nil {
			return dst, n // decoding finds it again
		}
		dst = protowire.AppendTag(dst, f.Number, f.Type)
		field := of.Fields().ByNumber(f.Number)
		switch {
		case field != nil && f.Type == protowire.BytesType && field.Kind() == protoreflect.StringKind && !utf8.Valid(f.Bytes()):
			dst = protowire.AppendBytes(dst, bytes.ToValidUTF8(f.Bytes(), []byte(string(utf8.RuneError))))
			n++
		case field != nil && f.Type == protowire.BytesType && field.Message() != nil && depth < maxNesting:
			inner, more := mend(nil, f.Bytes(), field.Message(), depth+1)
			dst = protowire.AppendBytes(dst, inner)
			n += more
		default:
			dst = append(dst, f.value...)
		}
	}
	return dst, n
}

// JSONCodec is ProtoCodec for JSON.
type JSONCodec ProtoCodec

// Name implements connect.Codec.
func (JSONCodec) Name() string { return "json" }

// Marshal implements connect.Codec.
func (JSONCodec) Marshal(m any) ([]byte, error) { return protojson.Marshal(m.(proto.Message)) }

// Unmarshal implements connect.Codec.
func (c JSONCodec) Unmarshal(data []byte, to any) error {
	messages, values := bytes.Count(data, []byte("{")), bytes.Count(data, []byte(","))
	if messages+values > 4*c.Most {
		return fault.TooLarge("more than %d values in a request", 4*c.Most)
	}
	if !ProtoCodec(c).has(int64(len(data) + messages*MessageBytes + values*valueBytes)) {
		return nil // as above
	}
	if c.Mended != nil && !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte(string(utf8.RuneError)))
		c.Mended(1) // or more
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxNesting}).Unmarshal(data, to.(proto.Message)); err != nil {
		return errors.New(fault.Text(err)) // it repeats values that are not numbers, however long
	}
	return nil
}

// maxNesting bounds the depth of nested messages.
const maxNesting = 100

// countMessages counts the messages and strings inside an encoded message, up to one more than most. It
// stops at the first error, which decoding finds again.
func countMessages(data []byte, of protoreflect.MessageDescriptor, most, depth int) (n int) {
	if depth > maxNesting {
		return 0
	}
	for f, err := range Fields(data) {
		if err != nil || n > most {
			break
		}
		field := of.Fields().ByNumber(f.Number)
		if field == nil || f.Type != protowire.BytesType {
			continue
		}
		if m := field.Message(); m != nil {
			n += 1 + countMessages(f.Bytes(), m, most-n, depth+1)
		} else if field.IsList() && (field.Kind() == protoreflect.StringKind || field.Kind() == protoreflect.BytesKind) {
			n++
		}
	}
	return n
}

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

// Append appends the field to an encoded message, with a number.
func (f Field) Append(dst []byte, number protowire.Number) []byte {
	return append(protowire.AppendTag(dst, number, f.Type), f.value...)
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
