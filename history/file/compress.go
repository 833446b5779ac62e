package file

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// mostRatio is the greatest ratio of raw to compressed bytes that a reader accepts.
const mostRatio = 200

// Encoders and decoders are pooled, because each is used for a moment. They start no goroutine.
var (
	encoders = sync.Pool{New: func() any {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(true),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false)) // the file has its own checksums
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

// compress returns, in the memory of room if that is enough, the compressed bytes of a block or an index.
// It returns raw itself if compression would save less than an eighth, or so much that a reader would not
// trust the result.
func compress(raw, room []byte) []byte {
	z := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(z)
	if data := z.EncodeAll(raw, room[:0]); len(data) <= len(raw)/8*7 && len(raw) <= mostRatio*len(data) {
		return data
	}
	return raw
}

// expand fills `into`, which has the uncompressed length, from compressed bytes.
func expand(data, into []byte) error {
	z := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(z)
	raw, err := z.DecodeAll(data, into[:0:len(into)])
	if err != nil || len(raw) != len(into) {
		return fmt.Errorf("%d compressed bytes have %d, not %d: %w", len(data), len(raw), len(into), err)
	}
	return nil
}
