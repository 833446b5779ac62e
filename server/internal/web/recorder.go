package web

import (
	"net/http"

	"github.com/granarydb/granary/server/internal/fault"
)

// Route is a handler for a pattern of http.ServeMux. Metrics count its requests under the name.
type Route struct {
	Pattern, Name string
	Handler       http.Handler
}

// maxTail bounds the bytes that a Recorder keeps.
const maxTail = 256

// Recorder is a response that records its status and size. It belongs to the goroutine of its request.
type Recorder struct {
	http.ResponseWriter
	Status int // 0: nothing was written
	Bytes  int64
	Err    error // error that the handler noted

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
	n, err := r.ResponseWriter.Write(b)
	r.Bytes += int64(n)
	return n, err
}

// Flush sends what was written, for streams.
func (r *Recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

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
