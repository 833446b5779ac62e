package parca

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	profilestorepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	pb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/parca-dev/parca/pkg/profile"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/granarydb/granary/columnstore"
)

// errNothing is the answer for a range without data. Parca's page knows its code, and its tests its text.
var errNothing = status.Error(codes.NotFound,
	"No data found for the query, try a different query or time range or no data has been written to be queried yet.")

// QueryRange returns a query's lines over time, between start and end, both included. Profiles with a
// duration are added up in each step, by the values of the labels sumBy. Profiles without a duration, such
// as heaps, have a line for each set of labels, and the earliest in each step stands for the step. Without a
// step each time is a step of its own. The limit is ignored, as by Parca's own querier.
func (q *Querier) QueryRange(ctx context.Context, query string, start, end time.Time, step time.Duration, _ uint32, sumBy []string) ([]*pb.MetricsSeries, error) {
	parts, where, err := selectorOf(query)
	if err != nil {
		return nil, err
	}
	where, step = columnstore.And(where, within(start, end)), max(step, 1)
	var series []*pb.MetricsSeries
	if parts.Delta {
		series, err = q.rangeOfDeltas(ctx, parts.Meta, where, step, sumBy)
	} else {
		series, err = q.rangeOfStates(ctx, where, step)
	}
	if err == nil && len(series) == 0 {
		err = errNothing
	}
	return series, err
}

// point is the sum of one series' rows in one step.
type point struct {
	value, count, duration int64
	first, last            int64 // times
}

// rangeOfDeltas is QueryRange for profiles with a duration.
func (q *Querier) rangeOfDeltas(ctx context.Context, meta profile.Meta, where columnstore.Expr, step time.Duration, sumBy []string) ([]*pb.MetricsSeries, error) {
	by := []string{profile.ColumnTimeNanos, profile.ColumnPeriod}
	for _, label := range sumBy {
		if column := profile.ColumnLabelsPrefix + label; !slices.Contains(by, column) {
			by = append(by, column)
		}
	}
	// One group for each time, because whether a step has several times decides its duration.
	groups, err := q.group(ctx, columnstore.AggregateOptions{Where: where, By: append(by, profile.ColumnDuration), Sum: profile.ColumnValue})
	if err != nil {
		return nil, err
	}
	out, points := newLines(groups), map[int]map[int64]*point{}
	result := meta.SampleType
	counted := isSamplesCount(meta.SampleType)
	if counted {
		result = meta.PeriodType
	}
	times, periods := groups.Column(profile.ColumnTimeNanos).Values.Int64s, groups.Column(profile.ColumnPeriod).Values.Int64s
	durations := groups.Column(profile.ColumnDuration).Values.Int64s
	for i, at := range times {
		value := groups.Sums[i]
		if counted {
			value *= periods[i] // a sample stands for a period
		}
		line := out.line(i)
		if points[line] == nil {
			points[line] = map[int64]*point{}
		}
		bucket := at / int64(step) * int64(step)
		p := points[line][bucket]
		if p == nil {
			p = &point{duration: durations[i], first: at, last: at}
			points[line][bucket] = p
		}
		p.value, p.count = p.value+value, p.count+groups.Counts[i]
		p.duration, p.first, p.last = min(p.duration, durations[i]), min(p.first, at), max(p.last, at)
	}
	for line, of := range points {
		series := out.series[line]
		series.PeriodType = &pb.ValueType{Type: meta.PeriodType.Type, Unit: meta.PeriodType.Unit}
		series.SampleType = &pb.ValueType{Type: result.Type, Unit: result.Unit}
		for at, p := range of {
			series.Samples = append(series.Samples, p.sample(at, int64(step), result))
		}
	}
	return out.sorted(), nil
}

// sample returns a step's point. Values at several times count for the whole step; values at one time count
// for the profile's duration.
func (p *point) sample(at, step int64, result profile.ValueType) *pb.MetricsSample {
	duration := p.duration
	if p.first != p.last {
		duration = step
	}
	over := float64(duration)
	if result.Type != "cpu" || result.Unit != "nanoseconds" {
		over /= float64(time.Second)
	}
	return &pb.MetricsSample{
		Timestamp: timestamppb.New(time.Unix(0, at)), Value: p.value, ValuePerSecond: float64(p.value) / over,
		Duration: duration, Count: int32(p.count),
	}
}

// rangeOfStates is QueryRange for profiles without a duration.
func (q *Querier) rangeOfStates(ctx context.Context, where columnstore.Expr, step time.Duration) ([]*pb.MetricsSeries, error) {
	groups, err := q.group(ctx, columnstore.AggregateOptions{
		Where: where, By: []string{profile.ColumnTimeNanos, profile.ColumnLabels}, Sum: profile.ColumnValue, NoCounts: true,
	})
	if err != nil {
		return nil, err
	}
	out, times := newLines(groups), groups.Column(profile.ColumnTimeNanos).Values.Int64s
	for i, at := range times {
		series := out.series[out.line(i)]
		series.Samples = append(series.Samples, &pb.MetricsSample{
			Timestamp: timestamppb.New(time.Unix(0, at)), Value: groups.Sums[i], ValuePerSecond: float64(groups.Sums[i]), Count: 1,
		})
	}
	all := out.sorted()
	for _, series := range all {
		series.Samples = firstOfSteps(series.Samples, step)
	}
	return all, nil
}

// firstOfSteps returns the first sample in each step, with the number of the step's samples. Samples are in
// order of time.
func firstOfSteps(samples []*pb.MetricsSample, step time.Duration) []*pb.MetricsSample {
	kept := samples[:0]
	last := int64(0)
	for _, s := range samples {
		bucket := s.Timestamp.AsTime().UnixNano() / int64(step)
		if len(kept) > 0 && bucket == last {
			kept[len(kept)-1].Count++
			continue
		}
		kept, last = append(kept, s), bucket
	}
	return kept
}

// lines are an answer's series, one for each set of labels in its groups.
type lines struct {
	labels []columnstore.GroupColumn // sorted by name
	series []*pb.MetricsSeries
	byText map[string]int
	text   []byte
}

func newLines(groups *columnstore.Groups) *lines {
	l := &lines{byText: map[string]int{}}
	for _, c := range groups.Columns {
		if strings.HasPrefix(c.Name, profile.ColumnLabelsPrefix) {
			l.labels = append(l.labels, c)
		}
	}
	slices.SortFunc(l.labels, func(a, b columnstore.GroupColumn) int { return cmp.Compare(a.Name, b.Name) })
	return l
}

// line returns the index of a group's series.
func (l *lines) line(i int) int {
	l.text = l.text[:0]
	for j := range l.labels {
		if v := &l.labels[j].Values; !v.Null(i) {
			l.text = append(append(append(append(l.text, l.labels[j].Name...), 0), v.Strings[i]...), 0)
		}
	}
	if line, ok := l.byText[string(l.text)]; ok {
		return line
	}
	set := make([]*profilestorepb.Label, 0, len(l.labels))
	for j := range l.labels {
		if v := &l.labels[j].Values; !v.Null(i) {
			set = append(set, &profilestorepb.Label{Name: strings.TrimPrefix(l.labels[j].Name, profile.ColumnLabelsPrefix), Value: v.Strings[i]})
		}
	}
	line := len(l.series)
	l.series = append(l.series, &pb.MetricsSeries{Labelset: &profilestorepb.LabelSet{Labels: set}})
	l.byText[string(l.text)] = line
	return line
}

// sorted returns the series with their samples in order of time.
func (l *lines) sorted() []*pb.MetricsSeries {
	for _, series := range l.series {
		slices.SortFunc(series.Samples, func(a, b *pb.MetricsSample) int { return a.Timestamp.AsTime().Compare(b.Timestamp.AsTime()) })
	}
	return l.series
}

func isSamplesCount(t profile.ValueType) bool { return t.Type == "samples" && t.Unit == "count" }
