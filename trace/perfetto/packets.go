package perfetto

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrFormat means that the bytes are no trace, or a trace without states.
var ErrFormat = errors.New("bad trace in the protobuf of Perfetto")

const (
	// maxPacket bounds a packet. Perfetto's tools write packets of at most some MiB.
	maxPacket = 256 << 20
	// packetStep is how much memory a packet gets before its bytes are there.
	packetStep = 1 << 20
	// Compressed packets may have so many times their bytes, and so many more. Traces have 10 times.
	maxInflation  = 200
	freeInflation = 16 << 20
)

// packets reads the packets of a trace, one after the other.
type packets struct {
	in     *bufio.Reader
	packet []byte
	offset int64 // of the packet's end

	compressed, inflated int64 // bytes of compressed packets, and what became of them
}

func newPackets(in io.Reader) *packets { return &packets{in: bufio.NewReaderSize(in, 64<<10)} }

// fault returns an error in the trace's bytes.
func fault(offset int64, format string, args ...any) error {
	return fmt.Errorf("%w: byte %d: %s", ErrFormat, offset, fmt.Sprintf(format, args...))
}

// next returns the next packet, which is valid until the next call. The errors are io.EOF at the end, ErrFormat for a fault,
// and those of the input.
func (p *packets) next() ([]byte, error) {
	for {
		from := p.offset
		tag, err := p.varint(true)
		if err != nil {
			return nil, err
		}
		var size uint64
		switch tag & 7 {
		case wireVarint:
			if _, err = p.varint(false); err != nil {
				return nil, err
			}
			continue
		case wireEight:
			size = 8
		case wireFour:
			size = 4
		case wireBytes:
			if size, err = p.varint(false); err != nil {
				return nil, err
			}
		default:
			return nil, fault(from, "no packet begins here")
		}
		if size > maxPacket {
			return nil, fault(from, "a packet of %d bytes, at most %d", size, maxPacket)
		}
		if err := p.read(int(size)); err != nil {
			return nil, err
		}
		if tag == 1<<3|wireBytes {
			return p.packet, nil
		}
	}
}

// read reads the bytes of a packet. Memory grows with the bytes that are there.
func (p *packets) read(size int) error {
	p.packet = p.packet[:0]
	for len(p.packet) < size {
		step := min(size-len(p.packet), packetStep)
		at := len(p.packet)
		p.packet = append(p.packet, make([]byte, step)...)
		n, err := io.ReadFull(p.in, p.packet[at:])
		p.offset += int64(n)
		if err != nil {
			return p.cut(err)
		}
	}
	return nil
}

func (p *packets) cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault(p.offset, "the end within a packet")
	}
	return err
}

// varint reads a number. The end before it is io.EOF if a packet may end there.
func (p *packets) varint(mayEnd bool) (uint64, error) {
	v, n, err := uint64(0), 0, error(nil)
	for shift := 0; shift < 70; shift += 7 {
		var c byte
		if c, err = p.in.ReadByte(); err != nil {
			if mayEnd && n == 0 {
				return 0, err
			}
			return 0, p.cut(err)
		}
		n++
		p.offset++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, fault(p.offset, "a number of more than ten bytes")
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
	inner := newPackets(limited)
	for {
		packet, err := inner.next()
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
	for len(head) > 0 && head[0] == 1<<3|wireBytes {
		size, n := binary.Uvarint(head[1:])
		if n <= 0 || size > maxPacket {
			return false
		}
		packet := head[1+n:]
		head = packet[min(uint64(len(packet)), size):]
		packet = packet[:min(uint64(len(packet)), size)]
		isCut := len(head) == 0
		m := read(packet)
		for m.next() {
			if is, ok := telling[m.number]; ok {
				return is == m.wire
			}
		}
		if m.bad {
			return isCut && telling[m.number] == wireBytes && m.wire == wireBytes
		}
	}
	return false
}

// telling are fields of packets by which a trace is known, with their wire types: a profile in pprof has the fields 1 and
// 2 as numbers in the same place, and OTLP has 1 to 3 as bytes.
var telling = map[uint64]int{
	3: wireVarint, 6: wireBytes, 8: wireVarint, 10: wireVarint, 11: wireBytes, 13: wireVarint, 33: wireBytes, 36: wireBytes,
	41: wireVarint, 42: wireVarint, 43: wireBytes, 44: wireBytes, 50: wireBytes, 58: wireVarint, 59: wireBytes, 60: wireBytes,
	79: wireVarint, 87: wireVarint, 89: wireBytes, 133: wireBytes,
}
