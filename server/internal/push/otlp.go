package push

import (
	"context"
	"errors"
	"mime"
	"net/http"

	"connectrpc.com/connect"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"

	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
	"github.com/granarydb/granary/server/otlp"
)

// OTLPProcedure is the gRPC method's path for OTLP profiles.
const OTLPProcedure = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

// otlpMessages bounds the messages in a request: samples, locations, lines and others.
func (s *Pusher) otlpMessages() int { return 2 * s.Limits.Profile.Samples }

// exportConnect handles OTLP profiles by gRPC.
func (s *Pusher) exportConnect(ctx context.Context, r *connect.Request[collectorv1.ExportProfilesServiceRequest]) (*connect.Response[collectorv1.ExportProfilesServiceResponse], error) {
	answer, err := s.export(ctx, r.Header(), r.Msg)
	if err != nil {
		return nil, web.Error(ctx, err)
	}
	return connect.NewResponse(answer), nil
}

// exportHTTP handles OTLP profiles by HTTP, as protobuf or JSON, and answers in the same form.
func (s *Pusher) exportHTTP(w http.ResponseWriter, r *http.Request) error {
	media, codec, err := s.otlpCodec(shareOf(r.Context()), r.Header)
	if err != nil {
		return err
	}
	body, err := s.readEncoded(r, int64(s.Limits.Profile.Bytes))
	if err != nil {
		return err
	}
	var request collectorv1.ExportProfilesServiceRequest
	if err := codec.Unmarshal(body, &request); errors.Is(err, fault.ErrLimit) {
		return err
	} else if err != nil {
		return fault.Invalid("body: %w", err)
	}
	answer, err := s.export(r.Context(), r.Header, &request)
	if err != nil {
		return err
	}
	if body, err = codec.Marshal(answer); err != nil {
		return err
	}
	w.Header().Set("Content-Type", media)
	_, _ = w.Write(body)
	return nil
}

// otlpProto returns the codec of requests in protobuf.
func (s *Pusher) otlpProto(sh *share) web.ProtoCodec {
	return web.ProtoCodec{Most: s.otlpMessages(), Take: sh.take, Mended: s.hasMended, Upgrade: otlp.Upgrade}
}

// otlpCodec returns the codec for a request's content type.
func (s *Pusher) otlpCodec(sh *share, h http.Header) (media string, c connect.Codec, err error) {
	switch media, _, _ = mime.ParseMediaType(h.Get("Content-Type")); media {
	case "application/x-protobuf":
		return media, s.otlpProto(sh), nil
	case "application/json":
		return media, web.JSONCodec{Most: s.otlpMessages(), Take: sh.take, Mended: s.hasMended}, nil
	}
	return "", nil, fault.Unsupported("header Content-Type: %s is not taken; application/x-protobuf and application/json are",
		fault.Quoted(h.Get("Content-Type")))
}

// export commits a request's profiles. Refused profiles are omitted, and counted in the answer with the
// first reason.
func (s *Pusher) export(ctx context.Context, h http.Header, r *collectorv1.ExportProfilesServiceRequest) (*collectorv1.ExportProfilesServiceResponse, error) {
	var refused []error
	out, err := s.take(ctx, h, func(p *push) (err error) {
		p.isPartial = true
		refused, err = s.readProfiles(ctx, r, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := &collectorv1.ExportProfilesServiceResponse{}
	if refused = append(refused, out.refused...); len(refused) > 0 {
		s.Log(ctx, OTLPProcedure, refused[0])
		answer.PartialSuccess = &collectorv1.ExportProfilesPartialSuccess{
			RejectedProfiles: int64(len(refused)), ErrorMessage: fault.Text(refused[0]),
		}
	}
	return answer, nil
}

// readProfiles appends the profiles in a request to a push. It returns the errors of profiles that cannot
// be read.
func (s *Pusher) readProfiles(ctx context.Context, r *collectorv1.ExportProfilesServiceRequest, p *push) (refused []error, err error) {
	sh, n := shareOf(ctx), 0
	for from, err := range (otlp.Options{Limits: s.Limits.Profile, Take: sh.take}).Profiles(r) {
		n++
		switch {
		case n > s.Limits.Profiles:
			return nil, fault.TooLarge("more than %d profiles in a request", s.Limits.Profiles)
		case sh.err != nil: // the whole push is out of memory, not just this profile
			return nil, sh.err
		case err != nil:
			refused = append(refused, fault.At(from.Where, err))
			continue
		}
		in := pushed{where: from.Where, labels: from.Labels, id: from.ID, size: from.Size, Decoded: from.Decoded}
		if in.Labels = nil; in.Encoded != nil {
			in.only = format.PPROF
		}
		p.profiles = append(p.profiles, in)
	}
	return refused, nil
}
