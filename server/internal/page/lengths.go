package page

import (
	"context"
	"math"
	"time"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/source"
)

// sideTimes are the times of the profiles of a side of a difference, whatever samples the query chooses of them.
type sideTimes struct {
	starts []int64 // distinct, ascending, rounded down to steps of which there are at most mostStarts
	// length is the time that the profiles stand for, in nanoseconds: from the first one to the last, and as much more as two of
	// them are apart on average. A single profile has none.
	length int64
}

// mostStarts bounds the times of a side, which are rounded to the least step of a power of ten that is long enough.
const mostStarts = 1 << 17

// timesOf returns the times of a side's profiles.
func timesOf(ctx context.Context, found *source.Profiles, typ profile.Type, side int) (out sideTimes, err error) {
	q := found.Queries[side]
	q.Function, q.Frames, q.Hide, q.Show, q.Under = nil, nil, nil, nil, nil
	q.SumGauges, q.SumKinds = true, true
	at := func(step int64) (points []profile.Point, err error) {
		lines, err := found.DB.Range(ctx, found.Snap, typ, q, profile.RangeOptions{Step: time.Duration(step)})
		if err != nil || len(lines) == 0 {
			return nil, err
		}
		return lines[0].Points, nil
	}
	span := q.To - q.From
	if q.From == 0 || q.To == 0 || span <= 0 {
		const day = 24 * time.Hour
		points, err := at(int64(day))
		if err != nil || len(points) == 0 {
			return out, err
		}
		span = points[len(points)-1].Time - points[0].Time + int64(day)
	}
	step := int64(1)
	for span/step >= mostStarts {
		step *= 10
	}
	points, err := at(step)
	for _, p := range points {
		out.starts = append(out.starts, max(p.Time, q.From))
	}
	if n := int64(len(out.starts)); n > 1 {
		apart := out.starts[n-1] - out.starts[0]
		out.length = apart + apart/(n-1)
	}
	return out, err
}

// leastScale is the difference of lengths, as a factor, from which on a side is scaled: less comes of the edges of profiles.
const leastScale = 1.02

// compareTimes finds the times of both sides of a difference, and the factor that makes the side before as long as the side
// after: 0 for none. Gauges are means, which no length changes. A front has no times.
func (q *pageQuestion) compareTimes(ctx context.Context, p *pageSides) (factor float64, err error) {
	at, err := q.view.Store(source.Times)
	if err != nil {
		return 0, nil // the answer has totals, and no lengths
	}
	found := at.Profiles(p.queries...)
	for i := range p.queries {
		if p.times[i], err = timesOf(ctx, found, p.typ, i); err != nil {
			return 0, err
		}
	}
	before, after := &p.times[0], &p.times[1]
	for _, pair := range [][2]*sideTimes{{before, after}, {after, before}} { // a single profile stands for as much as one of the other side
		if one, other := pair[0], pair[1]; len(one.starts) == 1 && other.length > 0 {
			one.length = other.length / int64(len(other.starts))
		}
	}
	isMean := p.typ.IsGauge() && !p.queries[0].SumGauges
	if before.length == 0 || after.length == 0 || isMean || p.norm || !p.rate {
		return 0, nil
	}
	factor = float64(after.length) / float64(before.length)
	if max(factor, 1/factor) < leastScale {
		return 0, nil
	}
	return factor, nil
}

// scaleRates makes values of both sides of a difference be for equally long times, if the query asks for it, and notes the
// times.
func (q *pageQuestion) scaleRates(ctx context.Context, p *pageSides, all []*profile.Stacks) (of Type, err error) {
	factor, err := q.compareTimes(ctx, p)
	if err != nil {
		return of, err
	}
	if factor != 0 {
		if all[0], err = all[0].Scale(factor); err != nil {
			return of, err
		}
	}
	of = newPageType(p.typ, p.queries[0], all)
	if before, after := &p.times[0], &p.times[1]; len(before.starts)+len(after.starts) > 0 {
		of.Profiles, of.Covered = []int{len(before.starts), len(after.starts)}, []int64{before.length, after.length}
	}
	of.Scaled = math.Round(1e6*factor) / 1e6
	return of, nil
}
