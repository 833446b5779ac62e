package web

import (
	"io"
	"runtime"
	"slices"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/gzip"
)

// A query can hold a processor for 100 ms. A waiting push gets that processor after 10 ms at the
// earliest, unless the query yields. So long loops in queries call runtime.Gosched.

// zippedAtOnce is the number of bytes that are compressed before the loop yields: about 0.3 ms.
const zippedAtOnce = 16 << 10

// Zip compresses answers by gzip. It yields to other goroutines.
type Zip struct{ *gzip.Writer }

// NewZip returns a compressor. It discards its output until Reset.
func NewZip() connect.Compressor { return Zip{gzip.NewWriter(io.Discard)} }

// Write implements connect.Compressor.
func (z Zip) Write(b []byte) (n int, err error) {
	for some := range slices.Chunk(b, zippedAtOnce) {
		written, err := z.Writer.Write(some)
		if n += written; err != nil {
			return n, err
		}
		runtime.Gosched()
	}
	return n, nil
}
