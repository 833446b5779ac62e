package perfetto

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/granarydb/granary/internal/protobuf"
)

// ErrFormat means that the bytes are no trace, or a trace without states.
var ErrFormat = errors.New("bad trace in the protobuf of Perfetto")

// Compressed packets may inflate to maxInflation times their bytes and freeInflation more bytes. Traces inflate to 10 times.
const (
	maxInflation  = 200
	freeInflation = 16 << 20
)

// packets reads the packets of a trace, one after the other.
type packets struct {
	*protobuf.Messages
	inner                *protobuf.Messages // of a compressed packet
	compressed, inflated int64              // bytes of compressed packets, and what became of them
}

func newPackets(in io.Reader) *packets {
	return &packets{Messages: protobuf.NewMessages(in, ErrFormat), inner: protobuf.NewMessages(nil, ErrFormat)}
}

// errBomb means that compressed packets have too much in them.
var errBomb = fmt.Errorf("%w: compressed packets with more than %d times their bytes", ErrFormat, maxInflation)

// inflate calls f with each packet in a compressed one. It does so up to the first fault, which it returns.
func (p *packets) inflate(compressed []byte, f func([]byte) error) error {
	p.compressed += int64(len(compressed))
	z, err := zlib.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	left := maxInflation*p.compressed + freeInflation - p.inflated
	limited := &io.LimitedReader{R: z, N: left}
	p.inner.Reset(limited)
	for {
		packet, err := p.inner.Next()
		if limited.N <= 0 {
			return errBomb
		}
		if err != nil {
			p.inflated += left - limited.N
			if errors.Is(err, io.EOF) {
				return nil
			}
			if !errors.Is(err, ErrFormat) {
				err = fmt.Errorf("%w: %w", ErrFormat, err) // of zlib
			}
			return err
		}
		if err := f(packet); err != nil {
			return err
		}
	}
}

// Magic reports whether head is the start of a trace: packets with a field that other messages do not have there.
func Magic(head []byte) bool {
	for len(head) > 0 && head[0] == 1<<3|byte(protobuf.Bytes) {
		size, n := binary.Uvarint(head[1:])
		if n <= 0 || size > protobuf.MaxMessage {
			return false
		}
		packet := head[1+n:]
		head = packet[min(uint64(len(packet)), size):]
		packet = packet[:min(uint64(len(packet)), size)]
		isCut := len(head) == 0
		m := protobuf.Read(packet)
		for m.Next() {
			if is, ok := telling[m.Number]; ok {
				return is == m.Wire
			}
		}
		if m.Bad {
			return isCut && telling[m.Number] == protobuf.Bytes && m.Wire == protobuf.Bytes
		}
	}
	return false
}

// telling are fields of packets by which a trace is known, with their wire types: a profile in pprof has the fields 1 and
// 2 as numbers in the same place, and OTLP has 1 to 3 as bytes.
var telling = map[uint64]protobuf.Wire{
	3: protobuf.Varint, 6: protobuf.Bytes, 8: protobuf.Varint, 10: protobuf.Varint, 11: protobuf.Bytes, 13: protobuf.Varint, 33: protobuf.Bytes, 36: protobuf.Bytes,
	41: protobuf.Varint, 42: protobuf.Varint, 43: protobuf.Bytes, 44: protobuf.Bytes, 50: protobuf.Bytes, 58: protobuf.Varint, 59: protobuf.Bytes, 60: protobuf.Bytes,
	79: protobuf.Varint, 87: protobuf.Varint, 89: protobuf.Bytes, 133: protobuf.Bytes,
}
