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
	began bool  // the message was decoded
	err   error // error of the method
}

// Speaks returns a handler for the protocols of Connect that notes errors: errors of methods, errors that
// Connect's library finds, and the error of busy that prevented the decoding of a message. busy can be
// nil.
func Speaks(h http.Handler, busy func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{}
		rec, _ := w.(*Recorder) // all answers are recorders
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

// noteCall notes that Connect's library has decoded a message, and the method's error. Before that, the
// library answers errors itself, and a status of 200 says nothing, because errors of gRPC are in
// trailers, and errors of gRPC-Web in the body.
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

// refusedByConnect returns the error of an answer with which the library refused a request.
func refusedByConnect(w *Recorder) error {
	if code := w.Header().Get(http.TrailerPrefix + "Grpc-Status"); code != "" {
		return fault.Invalid("gRPC status %s: %s", code, fault.Quoted(w.Header().Get(http.TrailerPrefix+"Grpc-Message")))
	}
	return fault.Invalid("status %d: %s", w.Status, fault.Quoted(string(w.tail)))
}

// Error converts an error to Connect, and keeps it for the log.
func Error(ctx context.Context, err error) error {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.err = err
	}
	if c, ok := errors.AsType[*connect.Error](err); ok {
		return c
	}
	return connect.NewError(fault.CauseOf(err).Code, errors.New(fault.Text(err)))
}

// Refuse answers a request, of which it reads no body, with an error, in the protocol of Connect that a call speaks.
func Refuse(w http.ResponseWriter, r *http.Request, isCall bool, err error) {
	if connects := connect.NewErrorWriter(); isCall && connects.IsSupported(r) {
		Note(w, r, err)
		if _, isCoded := errors.AsType[*connect.Error](err); !isCoded {
			err = Coded(err)
		}
		_ = connects.Write(w, r, err) // an error means that the client has gone
		return
	}
	Fail(w, r, err)
}

// Coded converts an error to Connect. The library has its own codes for other errors that a body returns.
func Coded(err error) error { return connect.NewError(fault.CauseOf(err).Code, err) }

// ConnectOptions returns the options of a handler that limits the bytes of decompressed requests, and the
// messages inside.
func ConnectOptions(bytes int64, messages int) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithReadMaxBytes(int(bytes)), connect.WithInterceptors(connect.UnaryInterceptorFunc(noteCall)),
		connect.WithCodec(ProtoCodec{Most: messages}), connect.WithCodec(JSONCodec{Most: messages}),
		connect.WithCompression("gzip", func() connect.Decompressor { return new(gzip.Reader) }, NewZip),
	}
}
