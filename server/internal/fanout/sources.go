package fanout

import (
	"bytes"
	"fmt"
	"strconv"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/profile"
)

// A gauge mean is by source, over the times of all its profiles, and is rounded once. It is therefore
// made from the sums and the numbers of times of each source, and not from the means of nodes.

// SourcesPath is the path of a node's answer with the stacks of gauges by source: to a POST of a
// SelectMergeStacktracesRequest, or a GET with the parameters of GET /pprof. The answer is a PushRequest
// with a profile for each source, and its number of times as an annotation.
const SourcesPath = "/sources"

// SourcesHeader is the header of a front's SelectSeries that asks for sums and numbers of times by
// source.
const SourcesHeader = "Granary-Sources"

// Annotations, and labels of series in an answer to SourcesHeader.
const (
	timesKey  = "times"
	sumKey    = "sum"
	sourceKey = "source"
)

// mostTimes bounds a number of times, because the numbers of all nodes must add up without overflow.
const mostTimes = 1 << 40

// EncodeSources returns the answer of a node at SourcesPath. fits is false if its profiles have more than
// most bytes.
func EncodeSources(sources []profile.SourceProfile, most int64) (answer []byte, fits bool, err error) {
	out, size := &pushv1.PushRequest{}, int64(0)
	for _, s := range sources {
		series := &pushv1.RawProfileSeries{
			Labels:      LabelPairs(s.Labels),
			Annotations: []*typesv1.ProfileAnnotation{{Key: timesKey, Value: strconv.FormatInt(s.Times, 10)}},
		}
		if s.Profile != nil {
			var data bytes.Buffer
			if err := s.Profile.WriteUncompressed(&data); err != nil {
				return nil, true, err
			}
			series.Samples = []*pushv1.RawSample{{RawProfile: data.Bytes()}}
			size += int64(data.Len())
		}
		if size > most {
			return nil, false, nil
		}
		out.Series = append(out.Series, series)
	}
	answer, err = proto.Marshal(out)
	return answer, int64(len(answer)) <= most, err
}

// LabelPairs returns labels as labels of a message.
func LabelPairs(labels []profile.Label) []*typesv1.LabelPair {
	pairs := make([]*typesv1.LabelPair, len(labels))
	for i, l := range labels {
		pairs[i] = &typesv1.LabelPair{Name: l.Name, Value: l.Value}
	}
	return pairs
}

// sourcesOf numbers the sources on a query's sides.
type sourcesOf struct {
	numbers map[string]string // by side and labels
	pending map[string]int64  // times of a node, by number, until its answer was checked
	times   profile.Times
}

func newSourcesOf() *sourcesOf {
	return &sourcesOf{numbers: map[string]string{}, pending: map[string]int64{}, times: profile.Times{Label: sourceLabel, Of: map[string]int64{}}}
}

// commit adds a node's times.
func (of *sourcesOf) commit() {
	for number, times := range of.pending {
		of.times.Of[number] += times
	}
}

// add adds a number of times for a node's source, and returns the source's number.
func (of *sourcesOf) add(side string, labels []*typesv1.LabelPair, times int64) string {
	key := side + " " + LabelsKey(labels)
	number, known := of.numbers[key]
	if !known {
		number = strconv.Itoa(len(of.numbers))
		of.numbers[key] = number
	}
	of.pending[number] += times
	return number
}

// sourceProfile is a source's profile, or nil if it has no selected samples.
type sourceProfile struct {
	labels []*typesv1.LabelPair
	times  int64
	data   []byte
}

// decodeSources returns the profiles in a node's answer at SourcesPath.
func (s *Set) decodeSources(n *node, data []byte) ([]sourceProfile, error) {
	var answer pushv1.PushRequest
	if err := s.opts.Codec.Unmarshal(data, &answer); err != nil {
		return nil, n.away("a wrong answer: %v", err)
	}
	out := make([]sourceProfile, len(answer.GetSeries()))
	for i, series := range answer.GetSeries() {
		times, err := timesOf(series.GetAnnotations(), timesKey)
		if err != nil || times < 1 || times > mostTimes || len(series.GetSamples()) > 1 {
			return nil, n.away("a wrong answer: a source with %d profiles at %d times: %v", len(series.GetSamples()), times, err)
		}
		out[i] = sourceProfile{labels: series.GetLabels(), times: times}
		for _, sample := range series.GetSamples() {
			out[i].data = sample.GetRawProfile()
		}
	}
	return out, nil
}

// timesOf returns the number in an annotation.
func timesOf(annotations []*typesv1.ProfileAnnotation, key string) (int64, error) {
	for _, a := range annotations {
		if a.GetKey() == key {
			return strconv.ParseInt(a.GetValue(), 10, 64)
		}
	}
	return 0, fmt.Errorf("no annotation %s", key)
}

// NumberAs returns a number as annotations of a point in an answer to SourcesHeader: the sum of a source,
// or the number of profiles in an average.
func NumberAs(isSum bool, n int64) []*typesv1.ProfileAnnotation {
	key := timesKey
	if isSum {
		key = sumKey
	}
	return []*typesv1.ProfileAnnotation{{Key: key, Value: strconv.FormatInt(n, 10)}}
}

// SourcePair returns the label of a series that names its source. It is the last label. A series of
// numbers of times has no other.
func SourcePair(source []profile.Label) *typesv1.LabelPair {
	return &typesv1.LabelPair{Name: sourceKey, Value: LabelsKey(LabelPairs(source))}
}

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
