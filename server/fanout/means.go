package fanout

import (
	"fmt"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"

	"github.com/granarydb/granary/profile"
)

// A mean of gauges is by source, over the times of all of its profiles, and is rounded once. So it is not
// the sum of the means of two nodes. A profile counts that has none of the selected samples: the
// answers do not tell which nodes have profiles, but their series do.

// means are the sources of gauges, or of another type whose mean is asked for, on the nodes so far.
type means struct {
	typ profile.Type // the zero value is all gauges
	// bySource lets each node have sources of its own. Otherwise one node alone can have any.
	bySource bool
	nodes    map[string]*node // by source
}

// question returns the question for the sources that a selector can select.
func (m *means) question(selector string, start, end int64) Question {
	return Question{
		Path: querierv1connect.QuerierServiceSeriesProcedure, Media: protoMedia,
		Message: &querierv1.SeriesRequest{Matchers: []string{selector}, Start: start, End: end},
	}
}

// add adds the sources of a node, or returns an error if another node has some.
func (m *means) add(s *Set, n *node, r reply) error {
	var all querierv1.SeriesResponse
	if err := s.opts.Codec.Unmarshal(r.body, &all); err != nil {
		return n.away("a wrong answer: %v", err)
	}
	for _, source := range all.GetLabelsSet() {
		labels := map[string]string{}
		for _, l := range source.GetLabels() {
			labels[l.GetName()] = l.GetValue()
		}
		t := profile.Type{Sample: labels["__type__"], SampleUnit: labels["__unit__"], Period: labels["__period_type__"], PeriodUnit: labels["__period_unit__"]}
		if m.typ != t && (m.typ != profile.Type{} || !t.IsGauge()) {
			continue
		}
		key := ""
		if m.bySource {
			key = LabelsKey(source.GetLabels())
		}
		if other := m.nodes[key]; other != nil && other != n {
			return meanError(t, other, n)
		}
		m.nodes[key] = n
	}
	return nil
}

// meanError returns the error of a mean over two nodes.
func meanError(t profile.Type, a, b *node) error {
	return connect.NewError(connect.CodeUnimplemented, fmt.Errorf(
		"%s: a mean over nodes is not computed: select the profiles of one node, or ask one; %s and %s have some", t.Sample, a.url, b.url))
}
