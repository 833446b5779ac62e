package querier

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"connectrpc.com/connect"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/question"
	"github.com/granarydb/granary/server/internal/source"
)

// SelectHeatmap returns how many profiles or spans have which values over time. To a front it returns the points themselves.
func (q *querier) SelectHeatmap(ctx context.Context, r *connect.Request[querierv1.SelectHeatmapRequest]) (*connect.Response[querierv1.SelectHeatmapResponse], error) {
	return answered(ctx, q, func(ctx context.Context, out *querierv1.SelectHeatmapResponse) error {
		id, err := q.typeID(ctx, r.Msg)
		if err != nil {
			return err
		}
		r.Msg.ProfileTypeID = id
		_, _, step, err := q.Read.Points(r.Msg)
		if err != nil {
			return err
		}
		if out.Series, err = q.Source.Points(ctx, r.Msg); err != nil || source.AsksSources(ctx) {
			return err
		}
		withExemplars := r.Msg.GetExemplarType() > typesv1.ExemplarType_EXEMPLAR_TYPE_NONE
		out.Series = greatestSeries(out.Series, int(min(r.Msg.GetLimit(), math.MaxInt32)))
		g := newGrid(out.Series, step.Milliseconds())
		for _, s := range out.Series {
			s.Slots = g.slots(s.GetSlots()[0].GetExemplars(), withExemplars)
		}
		return nil
	})
}

// greatestSeries returns the series sorted by their labels: all, or the `most` with the greatest sums.
func greatestSeries(series []*typesv1.HeatmapSeries, most int) []*typesv1.HeatmapSeries {
	sum := func(s *typesv1.HeatmapSeries) (sum float64) {
		for _, e := range s.GetSlots()[0].GetExemplars() {
			sum += float64(e.GetValue())
		}
		return sum
	}
	byLabels := func(a, b *typesv1.HeatmapSeries) int {
		return cmp.Compare(fanout.LabelsKey(a.GetLabels()), fanout.LabelsKey(b.GetLabels()))
	}
	slices.SortFunc(series, byLabels)
	if most > 0 && len(series) > most {
		slices.SortStableFunc(series, func(a, b *typesv1.HeatmapSeries) int { return cmp.Compare(sum(b), sum(a)) })
		series = series[:most]
		slices.SortFunc(series, byLabels)
	}
	return series
}

// grid has the equal cells of time and value that a heat map counts points in.
type grid struct {
	step   int64     // milliseconds
	starts []float64 // the least value of each cell of a slot
	width  float64   // of the values of a cell
}

// valueCells is the greatest number of cells of a slot.
const valueCells = 20

// newGrid returns the grid for the points of series. Values are whole numbers, so a cell has at least one. A slot has at least
// two cells, because clients see the height of a cell in their distance.
func newGrid(series []*typesv1.HeatmapSeries, step int64) grid {
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, s := range series {
		for _, e := range s.GetSlots()[0].GetExemplars() {
			least, most = min(least, e.GetValue()), max(most, e.GetValue())
		}
	}
	width, count := 1.0, 2
	if span := float64(most) - float64(least); span >= valueCells {
		width, count = span/valueCells, valueCells
	} else if span > 1 {
		count = int(span) + 1
	}
	g := grid{step: step, starts: make([]float64, count), width: width}
	for i := range g.starts {
		g.starts[i] = float64(least) + float64(i)*width
	}
	return g
}

// of returns the cell of a value.
func (g *grid) of(value int64) int {
	return max(0, min(int((float64(value)-g.starts[0])/g.width), len(g.starts)-1))
}

// slots returns the counts of points in each step that has one, and the greatest point of each cell as its exemplar. A slot
// has the time of its end, and the points after the end of the previous step up to its own.
func (g *grid) slots(points []*typesv1.Exemplar, withExemplars bool) (out []*typesv1.HeatmapSlot) {
	of, greatest := map[int64]*typesv1.HeatmapSlot{}, map[int64][]*typesv1.Exemplar{}
	for _, p := range points {
		end := schema.RoundDown(p.GetTimestamp()-1, g.step) + g.step
		slot := of[end]
		if slot == nil {
			slot = &typesv1.HeatmapSlot{Timestamp: end, YMin: g.starts, Counts: make([]int32, len(g.starts))}
			of[end], greatest[end] = slot, make([]*typesv1.Exemplar, len(g.starts))
		}
		cell := g.of(p.GetValue())
		slot.Counts[cell]++
		if best := &greatest[end][cell]; *best == nil || compareExemplars(p, *best) < 0 {
			*best = p
		}
	}
	for _, end := range slices.Sorted(maps.Keys(of)) {
		if withExemplars {
			of[end].Exemplars = slices.DeleteFunc(greatest[end], func(e *typesv1.Exemplar) bool { return e == nil })
		}
		out = append(out, of[end])
	}
	return out
}

// compareExemplars orders points by their values, the greatest first.
func compareExemplars(a, b *typesv1.Exemplar) int {
	return cmp.Or(cmp.Compare(b.GetValue(), a.GetValue()), cmp.Compare(a.GetTimestamp(), b.GetTimestamp()),
		cmp.Compare(a.GetProfileId(), b.GetProfileId()), cmp.Compare(a.GetSpanId(), b.GetSpanId()), cmp.Compare(a.GetTraceId(), b.GetTraceId()))
}

// addExemplars adds to each point of lines the profile or span with the greatest value in its step.
func (q *querier) addExemplars(ctx context.Context, m *querierv1.SelectSeriesRequest, lines []*typesv1.Series) error {
	ask := question.PointsOf(m)
	_, _, step, err := q.Read.Points(ask)
	if err != nil {
		return err
	}
	points, err := q.Source.Points(ctx, ask)
	if err != nil {
		return err
	}
	type place struct {
		labels string
		at     int64
	}
	greatest := map[place]*typesv1.Exemplar{}
	for _, s := range points {
		labels := fanout.LabelsKey(s.GetLabels())
		for _, e := range s.GetSlots()[0].GetExemplars() {
			at := place{labels, schema.RoundDown(e.GetTimestamp(), step.Milliseconds())}
			if best := greatest[at]; best == nil || compareExemplars(e, best) < 0 {
				greatest[at] = e
			}
		}
	}
	for _, line := range lines {
		labels := fanout.LabelsKey(line.GetLabels())
		for _, p := range line.GetPoints() {
			if e := greatest[place{labels, p.GetTimestamp()}]; e != nil {
				p.Exemplars = []*typesv1.Exemplar{e}
			}
		}
	}
	return nil
}
