package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/gzip"

	"github.com/granarydb/granary/server/internal/fault"
)

// callKey is the key of a request's context with its call.
type callKey struct{}

// call is a request in a protocol of Connect.
type call struct {
	began bool  // its message was decoded
	err   error // of the method
}

// Speaks is a handler of the protocols of Connect, whose errors are noted, also those that
// its library finds, and that of busy, with which a message was not decoded. busy can be nil.
func Speaks(h http.Handler, busy func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{}
		rec, _ := w.(*Recorder) // as all answers are
		rec.keepsTail = true
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
		err := c.err
		if err == nil && busy != nil {
			err = busy(r.Context())
		}
		if err == nil && (!c.began || rec.Status >= http.StatusBadRequest) {
			err = refusedByConnect(rec)
		}
		if err != nil {
			Note(w, r, err)
		}
	})
}

// noteCall notes that Connect's library has decoded a message, and the error of the method. Before that the
// library answers errors itself, and a status of 200 says nothing: the errors of gRPC are in trailers, those of
// gRPC-Web in the body.
func noteCall(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		c, ok := ctx.Value(callKey{}).(*call)
		if !ok {
			return next(ctx, r)
		}
		c.began = true
		answer, err := next(ctx, r)
		c.err = cmp.Or(c.err, err)
		return answer, err
	}
}

// refusedByConnect returns the error of an answer by which the library refused a request.
func refusedByConnect(w *Recorder) error {
	if code := w.Header().Get(http.TrailerPrefix + "Grpc-Status"); code != "" {
		return fault.Invalid("gRPC status %s: %s", code, fault.Quoted(w.Header().Get(http.TrailerPrefix+"Grpc-Message")))
	}
	return fault.Invalid("status %d: %s", w.Status, fault.Quoted(string(w.tail)))
}

// Error returns an error as one of Connect, and leaves it for the log.
func Error(ctx context.Context, err error) error {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.err = err
	}
	if c, ok := errors.AsType[*connect.Error](err); ok {
		return c
	}
	return connect.NewError(fault.CauseOf(err).Code, errors.New(fault.Text(err)))
}

// Coded returns an error of Connect. Its library has codes of its own for others that a body returns.
func Coded(err error) error { return connect.NewError(fault.CauseOf(err).Code, err) }

// ConnectOptions returns the options of a handler whose decompressed requests have limits on
// their bytes, and on the messages inside.
func ConnectOptions(bytes int64, messages int) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithReadMaxBytes(int(bytes)), connect.WithInterceptors(connect.UnaryInterceptorFunc(noteCall)),
		connect.WithCodec(ProtoCodec{Most: messages}), connect.WithCodec(JSONCodec{Most: messages}),
		connect.WithCompression("gzip", func() connect.Decompressor { return new(gzip.Reader) }, NewZip),
	}
}
