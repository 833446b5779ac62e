package server

import (
	"io"
	"runtime"
	"slices"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/gzip"
)

// A question can hold a processor for 100 ms. A push that waits for one that a question has gets it after
// 10 ms at the earliest, unless the question gives way. So long loops of questions call runtime.Gosched.

// How far a loop goes before it gives way: about 0.3 ms.
const (
	stacksAtOnce = 64
	nodesAtOnce  = 4096
	zippedAtOnce = 16 << 10 // bytes
)

// zip compresses answers by gzip. It gives way.
type zip struct{ *gzip.Writer }

// newZip returns a compressor, which writes nowhere until its Reset.
func newZip() connect.Compressor { return zip{gzip.NewWriter(io.Discard)} }

// Write implements connect.Compressor.
func (z zip) Write(b []byte) (n int, err error) {
	for some := range slices.Chunk(b, zippedAtOnce) {
		written, err := z.Writer.Write(some)
		if n += written; err != nil {
			return n, err
		}
		runtime.Gosched()
	}
	return n, nil
}
