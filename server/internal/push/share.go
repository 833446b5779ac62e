package push

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// Upper bounds of the memory that a push takes for each byte on the wire.
const (
	readFactor   = 2  // a buffer that doubles, and the previous buffer
	insertFactor = 16 // decoding and inserting a profile: package profile keeps 1 GiB for 64 MiB
	parsedFactor = 96 // the same of a text, which is decoded in memory: in folded stacks a function with a name of 3 bytes takes 4 bytes

	locationBytes = 16 // of a stack

	shareStep = 64 << 10
)

// share is the part of the pushes' memory that a push has. It belongs to the goroutine of its request.
type share struct {
	use
	grant   web.Grant
	handler http.Handler // handles pushes with this share, one at a time

	zip gzip.Reader
	raw bytes.Buffer // output of zip
}

// use is the state of the push in progress.
type use struct {
	ctx  context.Context //nolint:containedctx // of the request, like the share
	used int64
	err  error // why take failed
}

// maxKept bounds the memory of a share that is kept, with its buffers, for another push.
const maxKept = 8 << 20

// shareKey is the key of a request's context with its share.
type shareKey struct{}

// shareOf returns the share of a push's request.
func shareOf(ctx context.Context) *share {
	sh, _ := ctx.Value(shareKey{}).(*share)
	return sh
}

// shared returns a handler for pushes, each with a share from the first byte of its body on. It makes a
// handler for each share, and keeps both for later pushes.
func (s *Pusher) shared(handler func(*share) http.Handler) http.Handler {
	shares := sync.Pool{New: func() any {
		sh := &share{grant: s.room.Grant()}
		sh.handler = handler(sh)
		return sh
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sh, _ := shares.Get().(*share)
		sh.ctx = r.Context()
		defer func() {
			isSmall := sh.grant.Held() <= maxKept
			if sh.release(); isSmall {
				shares.Put(sh)
			}
		}()
		r = r.WithContext(context.WithValue(r.Context(), shareKey{}, sh))
		r.Body = struct {
			io.Reader
			io.Closer
		}{sh.reader(r.Body), r.Body}
		sh.handler.ServeHTTP(w, r)
	})
}

// take takes bytes from the room, and waits for them. After an error it always returns the same error.
func (sh *share) take(bytes int64) error {
	if sh.err != nil {
		return sh.err
	}
	sh.used += bytes
	if lacking := sh.used - sh.grant.Held(); lacking > 0 {
		sh.err = sh.grant.Take(sh.ctx, max(lacking, shareStep))
	}
	return sh.err
}

// release returns the share for another push.
func (sh *share) release() {
	sh.grant.Release()
	sh.use = use{}
}

// sharedReader reads into memory of a share.
type sharedReader struct {
	io.Reader
	share *share
}

func (sh *share) reader(r io.Reader) io.Reader { return sharedReader{r, sh} }

// Read implements io.Reader.
func (r sharedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if refused := r.share.take(readFactor * int64(n)); refused != nil {
		return 0, web.Coded(refused)
	}
	return n, err
}

// inflate returns the decompressed bytes of a profile, in gzip, zstd or neither, valid until the next call. They
// are never compressed, because the store's decompression would not be counted.
func (sh *share) inflate(data []byte, most int) (_ []byte, err error) {
	var from io.Reader
	switch {
	case isGzip(data):
		err = sh.zip.Reset(bytes.NewReader(data))
		from = &sh.zip
	case format.IsZstd(data):
		from = format.Plain(bytes.NewReader(data))
	default:
		return data, nil
	}
	sh.raw.Reset()
	if err == nil {
		_, err = sh.raw.ReadFrom(sh.reader(io.LimitReader(from, int64(most)+1)))
	}
	switch {
	case sh.err != nil:
		return nil, sh.err
	case sh.raw.Len() > most:
		return nil, fault.TooLarge("a profile of more than %d bytes when it is decompressed", most)
	case err != nil:
		return nil, fmt.Errorf("%w: it cannot be decompressed: %w", profile.ErrProfile, err)
	case isGzip(sh.raw.Bytes()), format.IsZstd(sh.raw.Bytes()):
		return nil, fmt.Errorf("%w: it is compressed twice", profile.ErrProfile)
	}
	return sh.raw.Bytes(), nil
}

func isGzip(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }

// sharedGzip decompresses into memory of a share.
type sharedGzip struct {
	gzip.Reader
	share *share
}

// Read implements connect.Decompressor.
func (z *sharedGzip) Read(p []byte) (int, error) { return z.share.reader(&z.Reader).Read(p) }
