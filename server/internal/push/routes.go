package push

import (
	"net/http"

	"connectrpc.com/connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"

	"github.com/granarydb/granary/server/internal/web"
)

// Routes returns the handlers for pushes.
func (s *Pusher) Routes() []web.Route {
	return []web.Route{
		{Pattern: pushv1connect.PusherServicePushProcedure, Name: "push", Handler: s.takesInto(func(sh *share) http.Handler {
			// A message is a series, a profile or a label.
			options := s.options(sh, s.Limits.Body, s.Limits.Profiles*(s.Limits.Labels+3))
			return speaks(connect.NewUnaryHandler(pushv1connect.PusherServicePushProcedure, s.push, options...))
		})},
		{Pattern: "POST /ingest", Name: "ingest", Handler: s.takes(s.ingest)},
		{Pattern: "POST /pprof", Name: "pprof push", Handler: s.takes(s.pushPprof)},
		{Pattern: "POST /v1development/profiles", Name: "otlp", Handler: s.takes(s.exportHTTP)},
		{Pattern: OTLPProcedure, Name: "otlp grpc", Handler: s.takesInto(func(sh *share) http.Handler {
			options := s.options(sh, int64(s.Limits.Profile.Bytes), s.otlpMessages())
			return speaks(connect.NewUnaryHandler(OTLPProcedure, s.exportConnect, options...))
		})},
	}
}

// options is web.ConnectOptions for pushes with a share, which they decompress and decode into.
func (s *Pusher) options(sh *share, bytes int64, messages int) []connect.HandlerOption {
	return append(web.ConnectOptions(bytes, messages),
		connect.WithCodec(web.ProtoCodec{Most: messages, Take: sh.take, Mended: s.hasMended}),
		connect.WithCodec(web.JSONCodec{Most: messages, Take: sh.take, Mended: s.hasMended}),
		connect.WithCompression("gzip", func() connect.Decompressor { return &sharedGzip{share: sh} }, web.NewZip))
}
