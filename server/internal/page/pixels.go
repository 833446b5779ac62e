package page

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/server/internal/fault"
)

// Bounds on a pixels query.
const (
	mostPixels     = 4096
	mostPixelRows  = 1000
	defaultPixels  = 1000
	mostPixelCells = 1 << 20 // rows times pixels
)

// PixelsAnswer is the answer to GET /api/v1/histories/NAME/pixels: states for a picture.
type PixelsAnswer struct {
	Head
	// From and To are the part of the range that the history has, divided into Pixels pixels: pixel i begins
	// at the fraction i/Pixels of it. They are empty if there is no such part. Floor is the first instant of
	// the history.
	From   string `json:"from"`
	To     string `json:"to"`
	Floor  string `json:"floor"`
	Pixels int    `json:"pixels"`
	// All is the number of attributes with a value in the range. Nulls is the number of attributes
	// without a value, which have no row.
	All    int `json:"all"`
	Nulls  int `json:"nulls"`
	Offset int `json:"offset"`
	// States are the states that rows refer to by index.
	States []StateText `json:"states"`
	// Rows are the rows of the attributes that change most, or wait longest; with under each is followed by those below it,
	// which All does not count.
	Rows []PixelRow `json:"rows"`
	// Wakes are, on demand, the wake-ups of the attributes of rows. WakesLeft is true if there are more.
	Wakes     []Wake `json:"wakes,omitempty"`
	WakesLeft bool   `json:"wakes_left,omitempty"`
}

// PixelRow is an attribute. Its columns have an element for each run of pixels with the same state, or, with
// shares, for each state in a pixel.
type PixelRow struct {
	Attribute string `json:"attribute"`
	Name      string `json:"name,omitempty"`    // of a goroutine or a thread: its function, or its program
	Level     int    `json:"level,omitempty"`   // how far it is below the row that it belongs to
	Intervals uint64 `json:"intervals"`         // number of intervals in the range
	Wait      uint64 `json:"wait_ns,omitempty"` // longest wait in the range, when rows are sorted by it
	// First is the first pixel of a run, which lasts until the next run.
	First []int32 `json:"first"`
	State []int   `json:"state"`
	// Share is the greatest share of the state in a pixel of the run, in percent.
	Share []int32 `json:"share,omitempty"`
	// Time is, with shares, a state's nanoseconds in the pixels.
	Time []uint64 `json:"time,omitempty"`
	// Sampled is true if the states were read only in the middle of pixels, because there are too many to add
	// up.
	Sampled bool `json:"sampled,omitempty"`
	// Samples are, on demand, the pixels in which the attribute has profiling samples.
	Samples []int32 `json:"samples,omitempty"`
}

// pixelsOf answers GET /api/v1/histories/NAME/pixels.
func pixelsOf(ctx context.Context, q *pageQuestion, h *pageHistory) (pageAnswer, error) {
	rows, offset := q.rows(200, mostPixelRows)
	pixels := q.number("pixels", defaultPixels, mostPixels)
	if pixels == 0 || rows*pixels > mostPixelCells {
		q.refuse(fault.TooCostly("%d rows of %d pixels, at most %d in all and 1 of each at least", rows, pixels, mostPixelCells))
	}
	withShares, withWakes, withSamples, choice := q.flag("shares"), q.flag("wakes"), q.flag("samples"), q.rowChoice()
	pattern := q.paths()
	asked := q.span(ctx, h.View)
	if q.err != nil {
		return nil, q.err
	}
	out := &PixelsAnswer{Floor: instantText(h.Start()), Offset: offset, States: []StateText{}, Rows: []PixelRow{}}
	in, ok := asked.of(h.View)
	if !ok {
		return out, nil
	}
	pyramid, all, err := q.activities(ctx, h, pattern, in)
	if err != nil {
		return nil, err
	}
	m := pixelMaker{q: q, pyramid: pyramid, in: in, pixels: asked.pixels(in, pixels), withShares: withShares, states: newStateTexts(), out: out}
	out.From, out.To = instantText(in.from), endText(in.to)
	made, err := m.make(ctx, choice, all, rows)
	if err == nil && withWakes {
		err = m.wakes(ctx, made)
	}
	if err == nil && withSamples {
		err = m.samples(ctx, pattern)
	}
	return out, err
}

// pixels returns the number of pixels for a part of a range, at least 1.
func (s span) pixels(part span, pixels int) int {
	of := float64(part.length()) / float64(s.length())
	return min(max(1, int(math.Round(of*float64(pixels)))), pixels)
}

// pixelMaker makes rows.
type pixelMaker struct {
	q          *pageQuestion
	pyramid    *summary.Pyramid
	in         span
	pixels     int
	withShares bool
	states     *stateTexts
	out        *PixelsAnswer

	shares *summary.Shares
	sample *history.Intervals
	cells  int                          // cells of all rows
	waited map[history.Attribute]uint64 // longest waits, if they are asked for
}

// make makes the rows of the first attributes, and returns these.
func (m *pixelMaker) make(ctx context.Context, choice rowChoice, all []activity, rows int) (made []activity, err error) {
	attributes := len(all)
	withValue := 0
	for _, a := range all {
		if a.time > 0 {
			withValue++
		}
	}
	if all, err = m.choose(ctx, choice, all); err != nil {
		return nil, err
	}
	m.out.All, m.out.Nulls = len(all), attributes-withValue
	all = all[min(m.out.Offset, len(all)):]
	for _, a := range all {
		some := []activity{a}
		if choice.under && len(made) < rows {
			below, err := m.below(a.attribute)
			if err != nil {
				return nil, err
			}
			some = append(some, below...)
		}
		for _, a := range some[:min(rows-len(made), len(some))] {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := m.row(a, some[0].attribute); err != nil {
				return nil, err
			}
			made = append(made, a)
		}
		if len(made) == rows {
			break
		}
	}
	m.out.States = m.states.list
	return made, nil
}

// row makes the row of an attribute, which is at or below another one.
func (m *pixelMaker) row(a activity, top history.Attribute) (err error) {
	const cell = 100 // bytes per cell in the answer and in its JSON
	v := m.pyramid.View()
	row := PixelRow{Attribute: pathText(v.Names, a.attribute), Name: nameOf(v, a.attribute, m.in), Intervals: a.intervals, Wait: m.waited[a.attribute], First: []int32{}, State: []int{}}
	for above := a.attribute; above != top; row.Level++ {
		if above, err = v.Parent(above); err != nil {
			return err
		}
	}
	if MostShares := m.q.page.Read.QueryBytes / 4 / 16; a.intervals > uint64(MostShares)/3 { // package summary makes three shares for each interval
		err = m.sampled(&row, a.attribute)
	} else {
		err = m.shared(&row, a.attribute)
	}
	if err != nil {
		return err
	}
	if m.cells += len(row.First); int64(m.cells)*cell > m.q.page.Read.QueryBytes {
		return fault.TooCostly("the memory of a query, at most %d bytes: %d states of pixels", m.q.page.Read.QueryBytes, m.cells)
	}
	m.out.Rows = append(m.out.Rows, row)
	return nil
}

// shared fills a row with shares of states.
func (m *pixelMaker) shared(row *PixelRow, a history.Attribute) (err error) {
	if m.shares, err = m.pyramid.SharesInto(m.shares, []history.Attribute{a}, m.in.from, m.in.to, m.pixels); err != nil {
		return err
	}
	s := m.shares
	m.out.Pixels = s.Len()
	values := make([]history.Value, s.States())
	for i := range values {
		values[i] = s.State(int32(i))
	}
	shares := s.Attribute(0)
	if m.withShares {
		slices.SortStableFunc(shares, func(x, y summary.Share) int {
			return cmp.Or(cmp.Compare(x.First, y.First), values[x.State].Compare(values[y.State]))
		})
		for _, x := range shares {
			row.First, row.State, row.Time = append(row.First, x.First), append(row.State, m.states.number(values[x.State])), append(row.Time, x.Time)
		}
		return nil
	}
	for len(shares) > 0 {
		most, n := shares[0], 1
		for ; n < len(shares) && shares[n].First == most.First; n++ {
			x := shares[n]
			if x.Time > most.Time || x.Time == most.Time && values[x.State].Compare(values[most.State]) < 0 {
				most = x
			}
		}
		share := int32(100)
		if n > 1 {
			first, last := s.Of(int(most.First))
			share = int32(min(99, max(1, math.Round(100*float64(most.Time)/float64(span{first, last}.length())))))
		}
		row.add(most.First, m.states.number(values[most.State]), share)
		shares = shares[n:]
	}
	return nil
}

// add adds a run of pixels, which can extend the last run.
func (r *PixelRow) add(first int32, state int, share int32) {
	if n := len(r.First); n > 0 && r.State[n-1] == state && r.Share[n-1] == share {
		return
	}
	r.First, r.State, r.Share = append(r.First, first), append(r.State, state), append(r.Share, share)
}

// sampled fills a row with the states in the middle of pixels.
func (m *pixelMaker) sampled(row *PixelRow, a history.Attribute) (err error) {
	if m.sample, err = m.pyramid.View().PixelsInto(m.sample, []history.Attribute{a}, m.in.from, m.in.to, m.pixels); err != nil {
		return err
	}
	times := history.PixelTimes(m.in.from, m.in.to, m.pixels)
	m.out.Pixels, row.Sampled = len(times), true
	k := 0
	for i := range m.sample.Len() {
		_, in := m.sample.At(i)
		if k < len(times) {
			row.add(int32(k), m.states.number(in.Value), 100)
		}
		for k < len(times) && times[k] <= in.End {
			k++
		}
	}
	return nil
}
