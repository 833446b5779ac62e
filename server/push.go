package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
)

// pushRoutes registers the handlers of pushes.
func (s *Server) pushRoutes() {
	s.mux.Handle(pushv1connect.PusherServicePushProcedure, s.takes("push", s.speaksConnect(
		connect.NewUnaryHandler(pushv1connect.PusherServicePushProcedure, s.push,
			// A message is a series, a profile or a label.
			s.connectOptions(s.limits.Body, s.limits.Profiles*(s.limits.Labels+3))...))))
	s.mux.Handle("POST /ingest", s.takes("ingest", http.HandlerFunc(s.ingest)))
	s.mux.Handle("POST /pprof", s.takes("pprof push", http.HandlerFunc(s.pushPprof)))
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

// errorKey is the key of a request's context with the place for its error.
type errorKey struct{}

// speaksConnect is a handler of the protocols of Connect, whose errors are noted, also those that
// its library finds.
func (s *Server) speaksConnect(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), errorKey{}, &err)))
		if rec, ok := w.(*recorder); ok && err == nil {
			err = refusedByConnect(rec)
		}
		if err != nil {
			s.note(w, r, err)
		}
	})
}

// refusedByConnect returns an error for an answer whose status says that the library refused the
// request. The answers of gRPC-Web have it in their body, so they are not found.
func refusedByConnect(w *recorder) error {
	if w.status >= http.StatusBadRequest {
		return invalid("status %d", w.status)
	}
	for _, name := range []string{"Grpc-Status", http.TrailerPrefix + "Grpc-Status"} {
		if code := w.Header().Get(name); code != "" && code != "0" {
			return invalid("gRPC status %s: %s", code, quoted(w.Header().Get(http.TrailerPrefix+"Grpc-Message")))
		}
	}
	return nil
}

// connectError returns an error as one of Connect, and leaves it for the log.
func connectError(ctx context.Context, err error) error {
	if place, ok := ctx.Value(errorKey{}).(*error); ok {
		*place = err
	}
	if c, ok := errors.AsType[*connect.Error](err); ok {
		return c
	}
	return connect.NewError(causeOf(err).code, errors.New(textOf(err)))
}

// connectOptions returns the options of a handler whose decompressed requests have limits on
// their bytes, and on the messages inside.
func (s *Server) connectOptions(bytes int64, messages int) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithReadMaxBytes(int(bytes)),
		connect.WithCodec(protoCodec{messages}), connect.WithCodec(jsonCodec{messages}),
	}
}
