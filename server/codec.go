package server

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A message of two bytes takes more than a hundred in memory. So the messages of a request are
// counted before any is decoded. Repeated strings count as messages.

// protoCodec is the codec of Connect for protobuf, with a limit on the messages of a request.
type protoCodec struct {
	most  int
	share *share // of the push, or nil
}

// Name implements connect.Codec.
func (protoCodec) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (protoCodec) Marshal(m any) ([]byte, error) { return proto.Marshal(m.(proto.Message)) }

// Unmarshal implements connect.Codec.
func (c protoCodec) Unmarshal(data []byte, to any) error {
	m := to.(proto.Message)
	n := countMessages(data, m.ProtoReflect().Descriptor(), c.most, 0)
	if n > c.most {
		return tooLarge("more than %d messages in a request", c.most)
	}
	if c.share.take(int64(len(data)+n*messageBytes)) != nil {
		return nil // Connect would call it a bad message. Server.insert has the error
	}
	return proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxNesting}.Unmarshal(data, m)
}

// jsonCodec is protoCodec for JSON.
type jsonCodec protoCodec

// Name implements connect.Codec.
func (jsonCodec) Name() string { return "json" }

// Marshal implements connect.Codec.
func (jsonCodec) Marshal(m any) ([]byte, error) { return protojson.Marshal(m.(proto.Message)) }

// Unmarshal implements connect.Codec.
func (c jsonCodec) Unmarshal(data []byte, to any) error {
	messages, values := bytes.Count(data, []byte("{")), bytes.Count(data, []byte(","))
	if messages+values > 4*c.most {
		return tooLarge("more than %d values in a request", 4*c.most)
	}
	if c.share.take(int64(len(data)+messages*messageBytes+values*valueBytes)) != nil {
		return nil // as above
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxNesting}).Unmarshal(data, to.(proto.Message)); err != nil {
		return errors.New(textOf(err)) // it repeats values that are no numbers, however long
	}
	return nil
}

// maxNesting bounds the depth of a request's messages.
const maxNesting = 100

// countMessages counts the messages and strings inside an encoded message, up to one more than a
// limit. It stops at the first error, which decoding finds again.
func countMessages(data []byte, of protoreflect.MessageDescriptor, most, depth int) (n int) {
	if depth > maxNesting {
		return 0
	}
	for len(data) > 0 && n <= most {
		number, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return n
		}
		data = data[size:]
		if size = protowire.ConsumeFieldValue(number, kind, data); size < 0 {
			return n
		}
		field := of.Fields().ByNumber(number)
		if field != nil && kind == protowire.BytesType {
			if m := field.Message(); m != nil {
				value, _ := protowire.ConsumeBytes(data)
				n += 1 + countMessages(value, m, most-n, depth+1)
			} else if field.IsList() && (field.Kind() == protoreflect.StringKind || field.Kind() == protoreflect.BytesKind) {
				n++
			}
		}
		data = data[size:]
	}
	return n
}
