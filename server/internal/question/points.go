package question

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// Points returns the query of a request for a heat map, with the labels of profiles and samples to group by, and the step.
func (r *Reader) Points(m *querierv1.SelectHeatmapRequest) (a Asked, by []string, step time.Duration, err error) {
	if a, err = r.ask(m.GetProfileTypeID(), m.GetLabelSelector(), m.GetStart(), m.GetEnd()); err != nil {
		return a, nil, 0, err
	}
	if err := r.checkSteps(m); err != nil {
		return a, nil, 0, err
	}
	exemplars := map[typesv1.ExemplarType]bool{typesv1.ExemplarType_EXEMPLAR_TYPE_UNSPECIFIED: true, typesv1.ExemplarType_EXEMPLAR_TYPE_NONE: true}
	switch m.GetQueryType() {
	case querierv1.HeatmapQueryType_HEATMAP_QUERY_TYPE_UNSPECIFIED, querierv1.HeatmapQueryType_HEATMAP_QUERY_TYPE_INDIVIDUAL:
		exemplars[typesv1.ExemplarType_EXEMPLAR_TYPE_INDIVIDUAL] = true
	case querierv1.HeatmapQueryType_HEATMAP_QUERY_TYPE_SPAN:
		exemplars[typesv1.ExemplarType_EXEMPLAR_TYPE_SPAN] = true
	default:
		return a, nil, 0, fault.Refused("query_type: %s is not computed; profiles and spans are", m.GetQueryType())
	}
	if !exemplars[m.GetExemplarType()] {
		return a, nil, 0, fault.Invalid("exemplar_type: %s does not fit the query_type %s", m.GetExemplarType(), m.GetQueryType())
	}
	a.Query.SumGauges = true // a point is of one time
	return a, slices.DeleteFunc(slices.Clone(m.GetGroupBy()), IsTypeLabel), stepOf(m.GetStep()), nil
}

// PointsOf returns the request for the points whose greatest are the exemplars of a request for values over time.
func PointsOf(m *querierv1.SelectSeriesRequest) *querierv1.SelectHeatmapRequest {
	kind := querierv1.HeatmapQueryType_HEATMAP_QUERY_TYPE_INDIVIDUAL
	if m.GetExemplarType() == typesv1.ExemplarType_EXEMPLAR_TYPE_SPAN {
		kind = querierv1.HeatmapQueryType_HEATMAP_QUERY_TYPE_SPAN
	}
	return &querierv1.SelectHeatmapRequest{
		ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(),
		Step: m.GetStep(), GroupBy: m.GetGroupBy(), QueryType: kind,
	}
}

// The id of a profile is made from its time and its labels, because no id is stored. It is a UUID of version 8, whose
// free bits are the time in Unix nanoseconds and a hash of the labels.

// LabelHash is a hash of a profile's labels, of 58 bits.
type LabelHash uint64

// HashLabels returns the hash of labels, which are sorted by name.
func HashLabels(labels []profile.Label) LabelHash {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", labels))
	return LabelHash(binary.BigEndian.Uint64(sum[:]) >> 6)
}

// ProfileID returns the id of the profile with a time and labels.
func ProfileID(at int64, labels LabelHash) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], uint64(at)>>16<<16|8<<12|uint64(at)>>4&0xfff)
	binary.BigEndian.PutUint64(id[8:], 2<<62|uint64(at)&0xf<<58|uint64(labels))
	return id.String()
}

// ParseProfileID is the inverse of ProfileID. Other ids are errors.
func ParseProfileID(text string) (at int64, labels LabelHash, err error) {
	id, err := uuid.Parse(text)
	if err != nil || id.Version() != 8 || id.Variant() != uuid.RFC4122 {
		return 0, 0, fault.Invalid("profile_id_selector: want the id of an exemplar, not %s", fault.Quoted(text))
	}
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	return int64(high>>16<<16 | high&0xfff<<4 | low>>58&0xf), LabelHash(low & (1<<58 - 1)), nil
}

// checkProfileIDs returns an error if ids are not one id of a profile, or none.
func checkProfileIDs(ids []string) error {
	switch len(ids) {
	case 0:
		return nil
	case 1:
		_, _, err := ParseProfileID(ids[0])
		return err
	}
	return fault.Refused("profile_id_selector: %d ids; ask for one profile at a time", len(ids))
}
