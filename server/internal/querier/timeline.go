package querier

import (
	"context"
	"math"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"

	"github.com/granarydb/granary/server/internal/fault"
)

// timeline has values over time at equal distances. A step without a profile has 0.
type timeline struct {
	StartTime     int64   `json:"startTime"` // Unix seconds
	Samples       []int64 `json:"samples"`
	DurationDelta int64   `json:"durationDelta"` // seconds
}

// The greatest number of values in a timeline, about, and the least number of seconds between two.
const (
	timelineValues = 1500
	timelineStep   = 10
)

// timelines returns the timelines of a query's profiles by the values of a label, or that of all profiles, under
// the name "", if label is "".
func (q *querier) timelines(ctx context.Context, m *querierv1.SelectMergeStacktracesRequest, label string) (map[string]*timeline, error) {
	from, until := m.GetStart()/1000, m.GetEnd()/1000
	step := max(timelineStep, (until-from)/timelineValues+1)
	start := from - from%step
	count := (until-start)/step + 1
	ask := &querierv1.SelectSeriesRequest{ProfileTypeID: m.GetProfileTypeID(), LabelSelector: m.GetLabelSelector(), Start: m.GetStart(), End: m.GetEnd(), Step: float64(step)}
	if label != "" {
		ask.GroupBy = []string{label}
	}
	series, err := q.Source.Lines(ctx, ask)
	if err != nil {
		return nil, err
	}
	const value = 8
	if bytes := value * count * int64(len(series)); bytes > q.Read.QueryBytes {
		return nil, fault.TooCostly("the memory of a query, at most %d bytes: %d timelines take %d", q.Read.QueryBytes, len(series), bytes)
	}
	out := map[string]*timeline{}
	if label == "" {
		out[""] = newTimeline(start, step, count)
	}
	for _, s := range series {
		name := ""
		for _, l := range s.GetLabels() {
			name = l.GetValue() // of the only label
		}
		if out[name] == nil {
			out[name] = newTimeline(start, step, count)
		}
		for _, p := range s.GetPoints() {
			if i := (p.GetTimestamp()/1000 - start) / step; i >= 0 && i < count {
				out[name].Samples[i] += int64(math.Round(p.GetValue()))
			}
		}
	}
	return out, nil
}

func newTimeline(start, step, count int64) *timeline {
	return &timeline{StartTime: start, Samples: make([]int64, count), DurationDelta: step}
}
