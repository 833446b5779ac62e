package fanout

import (
	"fmt"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"

	"github.com/granarydb/granary/profile"
)

// A query for all types gets gauge means in its answers, which cannot be joined. It is answered only if a
// single node has gauges. A profile counts even if none of its samples is selected. The answers do not
// tell which nodes have profiles, but their series do.

// gaugeNode is the node that has gauges, or nil if none of the nodes so far has any.
type gaugeNode struct{ *node }

// gaugeQuestion returns the query for the sources that a selector can select.
func gaugeQuestion(selector string, start, end int64) Question {
	return Question{
		Path: querierv1connect.QuerierServiceSeriesProcedure, Media: ProtoMedia,
		Message: &querierv1.SeriesRequest{Matchers: []string{selector}, Start: start, End: end},
	}
}

// add adds a node's sources. It returns an error if another node has gauges too.
func (g *gaugeNode) add(s *Set, n *node, r reply) error {
	var all querierv1.SeriesResponse
	if err := s.opts.Codec.Unmarshal(r.body, &all); err != nil {
		return n.away("a wrong answer: %v", err)
	}
	for _, source := range all.GetLabelsSet() {
		var t profile.Type
		for _, l := range source.GetLabels() {
			if l.GetName() == "__type__" {
				t.Sample = l.GetValue()
			}
		}
		if !t.IsGauge() {
			continue
		}
		if g.node != nil && g.node != n {
			return connect.NewError(connect.CodeUnimplemented, fmt.Errorf(
				"%s: a mean over nodes is not computed for all types at once: choose a type, or the profiles of one node; %s and %s have some", t.Sample, g.url, n.url))
		}
		g.node = n
	}
	return nil
}
