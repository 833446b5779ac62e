package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	"github.com/klauspost/compress/gzip"
)

// pushRoutes registers the handlers of pushes.
func (s *Server) pushRoutes() {
	s.mux.Handle(pushv1connect.PusherServicePushProcedure, s.takesInto("push", func(sh *share) http.Handler {
		// A message is a series, a profile or a label.
		options := s.pushOptions(sh, s.limits.Body, s.limits.Profiles*(s.limits.Labels+3))
		return s.speaksConnect(connect.NewUnaryHandler(pushv1connect.PusherServicePushProcedure, s.push, options...))
	}))
	s.mux.Handle("POST /ingest", s.takes("ingest", s.ingest))
	s.mux.Handle("POST /pprof", s.takes("pprof push", s.pushPprof))
	s.otlpRoutes()
}

// push takes the profiles of a collector: push.v1.PusherService/Push.
func (s *Server) push(ctx context.Context, r *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	p, err := newPush(r.Header())
	if err == nil {
		err = readPush(r.Msg, p)
	}
	if err == nil {
		_, err = s.insert(ctx, p)
	}
	if err != nil {
		return nil, connectError(ctx, err)
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

// readPush appends the profiles of a request to a push.
func readPush(r *pushv1.PushRequest, p *push) error {
	for i, series := range r.GetSeries() {
		labels := make(map[string]string, len(series.GetLabels()))
		for _, l := range series.GetLabels() {
			if _, twice := labels[l.GetName()]; twice {
				return invalid("series %d: label %s is given twice", i, quoted(l.GetName()))
			}
			labels[l.GetName()] = l.GetValue()
		}
		for j, sample := range series.GetSamples() {
			p.profiles = append(p.profiles, pushed{
				where: fmt.Sprintf("series %d, sample %d", i, j), labels: labels, id: sample.GetID(),
				data: sample.GetRawProfile(), size: len(sample.GetRawProfile()),
			})
		}
	}
	return nil
}

// callKey is the key of a request's context with its call.
type callKey struct{}

// call is a request in a protocol of Connect.
type call struct {
	began bool  // its message was decoded
	err   error // of the method
}

// speaksConnect is a handler of the protocols of Connect, whose errors are noted, also those that
// its library finds.
func (s *Server) speaksConnect(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{}
		rec, _ := w.(*recorder) // of measured
		rec.keepsTail = true
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
		err := cmp.Or(c.err, shareOf(r.Context()).refusal())
		if err == nil && (!c.began || rec.status >= http.StatusBadRequest) {
			err = refusedByConnect(rec)
		}
		if err != nil {
			s.note(w, r, err)
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
func refusedByConnect(w *recorder) error {
	if code := w.Header().Get(http.TrailerPrefix + "Grpc-Status"); code != "" {
		return invalid("gRPC status %s: %s", code, quoted(w.Header().Get(http.TrailerPrefix+"Grpc-Message")))
	}
	return invalid("status %d: %s", w.status, quoted(string(w.tail)))
}

// connectError returns an error as one of Connect, and leaves it for the log.
func connectError(ctx context.Context, err error) error {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.err = err
	}
	if c, ok := errors.AsType[*connect.Error](err); ok {
		return c
	}
	return connect.NewError(causeOf(err).code, errors.New(textOf(err)))
}

// coded returns an error of Connect. Its library has codes of its own for others that a body returns.
func coded(err error) error { return connect.NewError(causeOf(err).code, err) }

// connectOptions returns the options of a handler whose decompressed requests have limits on
// their bytes, and on the messages inside.
func (s *Server) connectOptions(bytes int64, messages int) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithReadMaxBytes(int(bytes)), connect.WithInterceptors(connect.UnaryInterceptorFunc(noteCall)),
		connect.WithCodec(protoCodec{messages, nil}), connect.WithCodec(jsonCodec{messages, nil}),
		connect.WithCompression("gzip", func() connect.Decompressor { return new(gzip.Reader) }, newZip),
	}
}

// pushOptions is connectOptions for pushes with a share, which they decompress and decode into.
func (s *Server) pushOptions(sh *share, bytes int64, messages int) []connect.HandlerOption {
	return append(s.connectOptions(bytes, messages),
		connect.WithCodec(protoCodec{messages, sh}), connect.WithCodec(jsonCodec{messages, sh}),
		connect.WithCompression("gzip", func() connect.Decompressor { return &sharedGzip{share: sh} }, newZip))
}
