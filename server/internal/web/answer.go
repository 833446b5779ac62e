package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/gzip"

	"github.com/granarydb/granary/server/internal/fault"
)

// Route is a handler for a pattern of http.ServeMux. Metrics count its requests under the name.
type Route struct {
	Pattern, Name string
	Handler       http.Handler
	// Body is the bytes of a request, for which it has ten times as long as others, or 0 for those of others.
	Body int64
}

// maxTail bounds the bytes that a Recorder keeps.
const maxTail = 256

// Recorder is a response that records its status and size. It belongs to the goroutine of its request.
type Recorder struct {
	http.ResponseWriter
	Status int // 0: nothing was written
	Bytes  int64
	Err    error // error that the handler noted

	pace      *pace // nil: the client may read as it likes
	log       func(*http.Request, error)
	keepsTail bool
	tail      []byte // last bytes of the answer, if they are kept
}

// NewRecorder returns a recorder for an answer. Its errors go to log.
func NewRecorder(w http.ResponseWriter, log func(*http.Request, error)) *Recorder {
	return &Recorder{ResponseWriter: w, log: log}
}

// WriteHeader implements http.ResponseWriter.
func (r *Recorder) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *Recorder) Write(b []byte) (int, error) {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	if r.keepsTail {
		r.tail = append(r.tail[:0], b[max(0, len(b)-maxTail):]...)
	}
	if r.pace == nil {
		n, err := r.ResponseWriter.Write(b)
		r.Bytes += int64(n)
		return n, err
	}
	sent := 0
	for piece := range slices.Chunk(b, pieceBytes) {
		n, err := r.pace.timed(r.ResponseWriter, func() (int, error) { return r.ResponseWriter.Write(piece) })
		sent += n
		if r.Bytes += int64(n); err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// Flush sends what was written, for streams.
func (r *Recorder) Flush() {
	flush := http.NewResponseController(r.ResponseWriter).Flush
	if r.pace == nil {
		_ = flush()
		return
	}
	_, _ = r.pace.timed(r.ResponseWriter, func() (int, error) { return 0, flush() })
}

// Unwrap implements the interface that http.ResponseController uses.
func (r *Recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Note records a request's error, for metrics and the log.
func Note(w http.ResponseWriter, r *http.Request, err error) {
	if rec, ok := w.(*Recorder); ok {
		rec.Err = err
		rec.log(r, err)
	}
}

// Fail answers a request with an error, in one line of text.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	Note(w, r, err)
	if rec, ok := w.(*Recorder); ok && rec.Status != 0 {
		panic(http.ErrAbortHandler) // a part was sent: abort, because it must not be taken for whole
	}
	http.Error(w, fault.Text(err), fault.CauseOf(err).Status)
}

// Handler returns a handler for a function that returns its error.
func Handler(f func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			Fail(w, r, err)
		}
	})
}

// headerKey is the key of a request's context with its Headers.
type headerKey struct{}

// Headers are the headers of a request and its answer. Without headers in a context, lookups find none.
type Headers struct{ Request, Answer http.Header }

// Headed returns a handler that puts the headers into the request's context.
func Headed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), headerKey{}, Headers{r.Header, w.Header()})))
	})
}

// HeadersOf returns the headers in a context, and whether there are any.
func HeadersOf(ctx context.Context) (Headers, bool) {
	h, ok := ctx.Value(headerKey{}).(Headers)
	return h, ok
}

// LimitedWriter is an answer of a limited size.
type LimitedWriter struct {
	w    io.Writer
	most int64
	n    int64
	err  error // set beyond the limit
}

// NewLimitedWriter returns a writer of at most `most` bytes to w.
func NewLimitedWriter(w io.Writer, most int64) *LimitedWriter {
	return &LimitedWriter{w: w, most: most}
}

// Write implements io.Writer.
func (l *LimitedWriter) Write(b []byte) (int, error) {
	if l.n+int64(len(b)) > l.most {
		if l.err == nil {
			l.err = fault.TooCostly("an answer of more than %d bytes", l.most)
		}
		return 0, l.err
	}
	l.n += int64(len(b))
	return l.w.Write(b)
}

// End returns the final error of an answer. After a part was sent, it hides the wrapped error, because a
// retry with a new snapshot cannot mend the answer.
func (l *LimitedWriter) End(err error) error {
	if l.err != nil {
		return l.err
	}
	if err != nil && l.n > 0 {
		return fmt.Errorf("amid the answer: %v", err) //nolint:errorlint // see above
	}
	return err
}

func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.EqualFold(name, "gzip") && strings.ReplaceAll(q, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

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
