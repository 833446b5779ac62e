package debuginfo

import (
	"bytes"
	"encoding/binary"
)

// dwarfReader reads numbers and texts of DWARF. After bytes that are too few all are zero.
type dwarfReader struct {
	rest  []byte
	order binary.ByteOrder
	wide  bool // offsets have 8 bytes
	bad   bool
}

func (r *dwarfReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *dwarfReader) uint8() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *dwarfReader) uint16() uint16 {
	if b := r.bytes(2); b != nil {
		return r.order.Uint16(b)
	}
	return 0
}

func (r *dwarfReader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return r.order.Uint32(b)
	}
	return 0
}

func (r *dwarfReader) uint64() uint64 {
	if b := r.bytes(8); b != nil {
		return r.order.Uint64(b)
	}
	return 0
}

// offset reads an offset in another section.
func (r *dwarfReader) offset() uint64 {
	if r.wide {
		return r.uint64()
	}
	return uint64(r.uint32())
}

func (r *dwarfReader) uleb() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// sleb reads a signed number: its highest bit is the 64 of its last byte.
func (r *dwarfReader) sleb() int64 {
	v, shift := int64(0), uint(0)
	for {
		b := r.uint8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if shift += 7; b&0x80 != 0 && !r.bad {
			continue
		}
		if b&0x40 != 0 && shift < 64 {
			v |= -1 << shift
		}
		return v
	}
}

// text reads a text that ends with a zero. It shares memory with the input.
func (r *dwarfReader) text() []byte {
	s, rest, ok := bytes.Cut(r.rest, []byte{0})
	if !ok {
		r.bad, r.rest = true, nil
		return nil
	}
	r.rest = rest
	return s
}
