package file

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// mostRatio is the most bytes of which a reader takes one compressed byte for true.
const mostRatio = 200

// Encoders and decoders are used for a moment each. They start no goroutine.
var (
	encoders = sync.Pool{New: func() any {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(true),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false)) // it has ours
		if err != nil {
			panic(err) // the options are right
		}
		return z
	}}
	decoders = sync.Pool{New: func() any {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic(err) // the options are right
		}
		return z
	}}
)

// compress returns, in the memory of room if that is enough, the compressed bytes of a block or an index, or the same bytes if not an eighth would be
// saved, or so much that a reader would not trust them.
func compress(raw, room []byte) []byte {
	z := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(z)
	if data := z.EncodeAll(raw, room[:0]); len(data) <= len(raw)/8*7 && len(raw) <= mostRatio*len(data) {
		return data
	}
	return raw
}

// expand fills a slice with the bytes that were compressed. They are as many.
func expand(data, into []byte) error {
	z := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(z)
	raw, err := z.DecodeAll(data, into[:0:len(into)])
	if err != nil || len(raw) != len(into) {
		return fmt.Errorf("%d compressed bytes have %d, not %d: %w", len(data), len(raw), len(into), err)
	}
	return nil
}
