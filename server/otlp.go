package server

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"connectrpc.com/connect"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
)

// otlpProcedure is the path of the gRPC method for OTLP profiles.
const otlpProcedure = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

// otlpMessages bounds the messages of a request: of samples, locations, lines and others.
func (s *Server) otlpMessages() int { return 2 * s.limits.Profile.Samples }

// otlpRoutes registers the handlers of OTLP.
func (s *Server) otlpRoutes() {
	s.mux.Handle("POST /v1development/profiles", s.takes("otlp", s.exportHTTP))
	s.mux.Handle(otlpProcedure, s.takesInto("otlp grpc", func(sh *share) http.Handler {
		options := s.pushOptions(sh, int64(s.limits.Profile.Bytes), s.otlpMessages())
		return s.speaksConnect(connect.NewUnaryHandler(otlpProcedure, s.exportConnect, options...))
	}))
}

// exportConnect takes profiles by gRPC.
func (s *Server) exportConnect(ctx context.Context, r *connect.Request[collectorv1.ExportProfilesServiceRequest]) (*connect.Response[collectorv1.ExportProfilesServiceResponse], error) {
	answer, err := s.export(ctx, r.Header(), r.Msg)
	if err != nil {
		return nil, connectError(ctx, err)
	}
	return connect.NewResponse(answer), nil
}

// exportHTTP takes profiles by HTTP, as protobuf or JSON, and answers in the same form.
func (s *Server) exportHTTP(w http.ResponseWriter, r *http.Request) {
	media, codec, err := s.otlpCodec(shareOf(r.Context()), r.Header)
	var body []byte
	if err == nil {
		body, err = s.readOTLP(r)
	}
	var request collectorv1.ExportProfilesServiceRequest
	if err == nil {
		err = codec.Unmarshal(body, &request)
		if err != nil && !errors.Is(err, ErrLimit) {
			err = invalid("body: %w", err)
		}
	}
	var answer *collectorv1.ExportProfilesServiceResponse
	if err == nil {
		answer, err = s.export(r.Context(), r.Header, &request)
	}
	if err == nil {
		body, err = codec.Marshal(answer)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", media)
	_, _ = w.Write(body)
}

// otlpCodec returns the codec of a request's content type.
func (s *Server) otlpCodec(sh *share, h http.Header) (media string, c connect.Codec, err error) {
	switch media, _, _ = mime.ParseMediaType(h.Get("Content-Type")); media {
	case "application/x-protobuf":
		return media, protoCodec{s.otlpMessages(), sh}, nil
	case "application/json":
		return media, jsonCodec{s.otlpMessages(), sh}, nil
	}
	return "", nil, unsupported("header Content-Type: %s is not taken; application/x-protobuf and application/json are",
		quoted(h.Get("Content-Type")))
}

// readOTLP reads a body, gzipped or not, of at most Limits.Profile.Bytes.
func (s *Server) readOTLP(r *http.Request) ([]byte, error) {
	var body io.Reader = r.Body
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, s.unread(err)
		}
		body = shareOf(r.Context()).reader(z)
	default:
		return nil, unsupported("header Content-Encoding: %s is not taken; gzip is", quoted(encoding))
	}
	most := s.limits.Profile.Bytes
	data, err := s.readAll(io.LimitReader(body, int64(most)+1))
	if len(data) > most {
		return nil, tooLarge("a body of more than %d bytes when it is decompressed", most)
	}
	return data, err
}

// export commits the profiles of a request. Profiles that are refused are left out, and counted in
// the answer with the first reason.
func (s *Server) export(ctx context.Context, h http.Header, r *collectorv1.ExportProfilesServiceRequest) (*collectorv1.ExportProfilesServiceResponse, error) {
	p, err := newPush(h)
	if err != nil {
		return nil, err
	}
	p.isPartial = true
	refused, err := s.readProfiles(ctx, r, p)
	if err != nil {
		return nil, err
	}
	out, err := s.insert(ctx, p)
	if err != nil {
		return nil, err
	}
	answer := &collectorv1.ExportProfilesServiceResponse{}
	if refused = append(refused, out.refused...); len(refused) > 0 {
		s.logError(ctx, otlpProcedure, refused[0])
		answer.PartialSuccess = &collectorv1.ExportProfilesPartialSuccess{
			RejectedProfiles: int64(len(refused)), ErrorMessage: textOf(refused[0]),
		}
	}
	return answer, nil
}

// readProfiles appends the profiles of a request to a push. It returns the errors of those that
// cannot be read.
func (s *Server) readProfiles(ctx context.Context, r *collectorv1.ExportProfilesServiceRequest, p *push) (refused []error, err error) {
	d := newOTLPDictionary(r.GetDictionary(), s.limits, shareOf(ctx))
	n := 0
	for i, resource := range r.GetResourceProfiles() {
		labels, err := d.labels(resource.GetResource().GetAttributes())
		for j, scope := range resource.GetScopeProfiles() {
			for k, from := range scope.GetProfiles() {
				if n++; n > s.limits.Profiles {
					return nil, tooLarge("more than %d profiles in a request", s.limits.Profiles)
				}
				where := fmt.Sprintf("resource %d, scope %d, profile %d", i, j, k)
				if err != nil {
					refused = append(refused, at(where, err))
					continue
				}
				in, err := d.profile(from, labels)
				if busy := d.share.refusal(); busy != nil { // not for this profile's sake
					return nil, busy
				}
				if err != nil {
					refused = append(refused, at(where, err))
					continue
				}
				in.where = where
				p.profiles = append(p.profiles, in)
			}
		}
	}
	return refused, nil
}
