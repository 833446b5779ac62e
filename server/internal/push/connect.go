package push

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"

	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// push handles push.v1.PusherService/Push.
func (s *Pusher) push(ctx context.Context, r *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	if _, err := s.take(ctx, r.Header(), func(p *push) error { return readPush(r.Msg, p) }); err != nil {
		return nil, web.Error(ctx, err)
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

// readPush appends the profiles in a request to a push.
func readPush(r *pushv1.PushRequest, p *push) error {
	for i, series := range r.GetSeries() {
		labels := make(map[string]string, len(series.GetLabels()))
		for _, l := range series.GetLabels() {
			if _, twice := labels[l.GetName()]; twice {
				return fault.Invalid("series %d: label %s is given twice", i, fault.Quoted(l.GetName()))
			}
			labels[l.GetName()] = l.GetValue()
		}
		for j, sample := range series.GetSamples() {
			p.profiles = append(p.profiles, pushed{
				where: fmt.Sprintf("series %d, sample %d", i, j), labels: labels, id: sample.GetID(),
				Decoded: format.Decoded{Encoded: sample.GetRawProfile()}, size: len(sample.GetRawProfile()),
			})
		}
	}
	return nil
}
