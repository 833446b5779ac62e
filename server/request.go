package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// maxTail bounds the bytes that a recorder keeps.
const maxTail = 256

// recorder is a response whose status and size are known afterwards.
type recorder struct {
	http.ResponseWriter
	status int // 0: nothing was written
	bytes  int64
	err    error // of the answer, if the handler named one

	keepsTail bool
	tail      []byte // the last bytes of the answer, if they are kept
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if r.keepsTail {
		r.tail = append(r.tail[:0], b[max(0, len(b)-maxTail):]...)
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Flush sends what was written, for streams.
func (r *recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// asks is a handler of questions: it wants a token to read, and its requests are measured under
// a name.
func (s *Server) asks(name string, h http.Handler) http.Handler {
	return s.measured(name, func(t *Tokens) []string { return t.Read }, h)
}

// takes is asks for a handler of pushes, which share Limits.PushBytes.
func (s *Server) takes(name string, h http.HandlerFunc) http.Handler {
	return s.takesInto(name, func(*share) http.Handler { return h })
}

// takesInto is takes for handlers that know their share.
func (s *Server) takesInto(name string, h func(*share) http.Handler) http.Handler {
	if s.front != nil {
		h = func(*share) http.Handler { return http.HandlerFunc(s.refusePush) }
	}
	return s.measured(name, func(t *Tokens) []string { return t.Write }, s.shared(h))
}

// measured is a handler whose requests need one of some tokens, and are counted. Bodies beyond Limits.Body are
// refused as they are read, and the client has Limits.ReadTime to send one.
func (s *Server) measured(name string, tokens func(*Tokens) []string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec, ok := w.(*recorder)
		if !ok {
			rec = &recorder{ResponseWriter: w}
		}
		// net/http looks at the body of its own request, whether the rest of a body comes before the next request.
		r = r.WithContext(r.Context())
		start := time.Now()
		defer func() { s.metrics.request(name, rec, time.Since(start)) }()
		s.setDeadline(rec, r)
		defer s.limitWrites(rec)()
		if !allowed(r, tokens(s.tokens.Load())) {
			rec.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(rec, "token: a bearer token is missing or unknown", http.StatusUnauthorized)
			return
		}
		if r.ContentLength > s.limits.Body {
			s.fail(rec, r, tooLarge("a body of %d bytes, at most %d", r.ContentLength, s.limits.Body))
			return
		}
		r.Body = http.MaxBytesReader(rec, r.Body, s.limits.Body)
		h.ServeHTTP(rec, r)
	})
}

// setDeadline lets the reading of a body fail after Limits.ReadTime. The deadline ends with the
// body: it is one of the connection, whose end cancels the request. A request without a body has
// none.
func (s *Server) setDeadline(w *recorder, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	// Errors are of servers without deadlines, such as those of tests.
	set := http.NewResponseController(w.ResponseWriter).SetReadDeadline
	_ = set(time.Now().Add(s.limits.ReadTime))
	r.Body = &timedBody{r.Body, s.limits.ReadTime, func() { _ = set(time.Time{}) }}
}

// limitWrites lets the writing of an answer fail when a request and a query have had their time: a client that
// does not read would keep its snapshot, and its place among the queries. The function that it returns removes
// the deadline, which is one of the connection.
func (s *Server) limitWrites(w *recorder) (end func()) {
	set := http.NewResponseController(w.ResponseWriter).SetWriteDeadline // errors as in setDeadline
	_ = set(time.Now().Add(s.limits.ReadTime + s.limits.QueryTime))
	return func() { _ = set(time.Time{}) }
}

// timedBody is a body with a deadline.
type timedBody struct {
	io.ReadCloser
	time  time.Duration
	clear func() // removes the deadline
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.clear()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = coded(&limitError{http.StatusRequestTimeout, fmt.Sprintf("limit: a body that takes more than %s", b.time)})
	}
	return n, err
}

// allowed reports whether a request has one of the tokens, or none is asked for. It takes the
// same time whichever token is wrong.
func allowed(r *http.Request, tokens []string) bool {
	if len(tokens) == 0 {
		return true
	}
	given, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum, found := sha256.Sum256([]byte(given)), 0
	for _, t := range tokens {
		want := sha256.Sum256([]byte(t))
		found |= subtle.ConstantTimeCompare(sum[:], want[:])
	}
	return isBearer && found == 1
}

// fail answers a request with an error, in one line of text.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.note(w, r, err)
	if rec, ok := w.(*recorder); ok && rec.status != 0 {
		panic(http.ErrAbortHandler) // a part of the answer has gone: cut it, so that it is not taken for whole
	}
	http.Error(w, textOf(err), causeOf(err).status)
}

// note records the error of a request, for metrics and the log.
func (s *Server) note(w http.ResponseWriter, r *http.Request, err error) {
	if rec, ok := w.(*recorder); ok {
		rec.err = err
	}
	s.logError(r.Context(), r.URL.Path, err)
}

// logError logs an error: as an error of the server, or as one of its client.
func (s *Server) logError(ctx context.Context, path string, err error) {
	c := causeOf(err)
	if c.status >= http.StatusInternalServerError && c.status != http.StatusNotImplemented {
		s.opts.Log.ErrorContext(ctx, "request failed", "path", path, "cause", c.name, "error", textOf(err))
		return
	}
	s.opts.Log.InfoContext(ctx, "request refused", "path", path, "cause", c.name, "error", textOf(err))
}

// query calls f with a snapshot, as inTime does. If the store takes the snapshot's memory back
// for its budget, f is called once more with a new one, so f must not have answered yet.
func (s *Server) query(ctx context.Context, f func(context.Context, *columnstore.Snapshot) error) error {
	return s.inTime(ctx, func(ctx context.Context) error {
		view := func(snap *columnstore.Snapshot) error { return f(ctx, snap) }
		err := s.db.Store().View(ctx, view)
		if errors.Is(err, columnstore.ErrSnapshotExpired) {
			err = s.db.Store().View(ctx, view)
		}
		return err
	})
}

// inTime calls f within the limits on the number of queries and on their time. It waits for a place
// as long as the query may take.
func (s *Server) inTime(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.QueryTime, context.DeadlineExceeded)
	defer cancel()
	select {
	case s.queries <- struct{}{}:
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return tooMany("%d queries at once", s.limits.Queries)
	}
	defer func() { <-s.queries }()
	err := f(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return tooCostly("the time of a query, at most %s", s.limits.QueryTime)
	}
	if errors.Is(err, columnstore.ErrQueryMemory) {
		return tooCostly("the memory of a query, at most %d bytes: %v", s.limits.QueryBytes, err)
	}
	return err
}

// quoted returns a text of a request for an error, without an end if it is long.
func quoted(text string) string {
	if len(text) > 100 {
		return strconv.QuoteToASCII(text[:100]) + "..."
	}
	return strconv.QuoteToASCII(text)
}
