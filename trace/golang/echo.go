package golang

import (
	"io"

	"github.com/klauspost/compress/s2"
)

// echo has bytes that are read once after they were written, compressed meanwhile.
type echo struct {
	blocks [][]byte
	plain  []byte // what is left of the block that is read
	buffer []byte
	isOff  bool // they are not kept
}

// Write implements io.Writer.
func (b *echo) Write(p []byte) (int, error) {
	if b.isOff {
		return len(p), nil
	}
	b.buffer = s2.Encode(b.buffer[:cap(b.buffer)], p)
	b.blocks = append(b.blocks, append([]byte(nil), b.buffer...))
	return len(p), nil
}

// Read implements io.Reader.
func (b *echo) Read(p []byte) (n int, err error) {
	for len(b.plain) == 0 {
		if len(b.blocks) == 0 {
			return 0, io.EOF
		}
		if b.plain, err = s2.Decode(b.buffer[:cap(b.buffer)], b.blocks[0]); err != nil {
			return 0, err
		}
		b.buffer = b.plain
		b.blocks[0] = nil
		b.blocks = b.blocks[1:]
	}
	n = copy(p, b.plain)
	b.plain = b.plain[n:]
	return n, nil
}
