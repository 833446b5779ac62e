package page

import (
	"context"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/server/internal/fault"
)

// LinesAnswer is the answer to GET /api/v1/histories/NAME/lines: the time of attributes in each state,
// over time.
type LinesAnswer struct {
	Head
	// From, To, Floor and Pixels are as in PixelsAnswer. A line has a point for each pixel.
	From   string `json:"from"`
	To     string `json:"to"`
	Floor  string `json:"floor"`
	Pixels int    `json:"pixels"`
	// Attributes is the number of attributes of p.
	Attributes int `json:"attributes"`
	// States are the states of the lines. Null has no line.
	States []StateText `json:"states"`
	// Counts has, for each state and pixel, the number of attributes in the state, as a mean over the pixel's
	// time.
	Counts [][]float64 `json:"counts"`
}

// stateLinesOf answers GET /api/v1/histories/NAME/lines. It costs the same as the pixels of all attributes of
// p.
func stateLinesOf(ctx context.Context, q *pageQuestion, h *pageHistory) (pageAnswer, error) {
	pixels := q.number("pixels", 120, mostPixels)
	if pixels == 0 {
		q.refuse(fault.TooCostly("%d pixels, at least 1", pixels))
	}
	pattern := q.paths()
	asked := q.span(ctx, h.View)
	if q.err != nil {
		return nil, q.err
	}
	out := &LinesAnswer{Floor: instantText(h.Start()), States: []StateText{}, Counts: [][]float64{}}
	in, ok := asked.of(h.View)
	if !ok {
		return out, nil
	}
	pyramid, all, err := q.activities(ctx, h, pattern, in)
	if err != nil {
		return nil, err
	}
	out.From, out.To, out.Attributes = instantText(in.from), endText(in.to), len(all)
	m := lineMaker{q: q, out: out, states: newStateTexts()}
	for _, a := range all {
		switch most := uint64(q.page.Read.QueryBytes / 4 / 16 / 3); { // as in pixelMaker.row
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case a.time == 0:
			continue
		case a.intervals > most:
			return nil, fault.TooCostly("the memory of a query, at most %d bytes: %d intervals of one attribute", q.page.Read.QueryBytes, a.intervals)
		}
		if m.shares, err = pyramid.SharesInto(m.shares, []history.Attribute{a.attribute}, in.from, in.to, asked.pixels(in, pixels)); err != nil {
			return nil, err
		}
		if err := m.add(); err != nil {
			return nil, err
		}
	}
	out.States = m.states.list
	return out, nil
}

// lineMaker adds up the shares of attributes.
type lineMaker struct {
	q      *pageQuestion
	out    *LinesAnswer
	states *stateTexts
	shares *summary.Shares
}

// add adds an attribute's shares.
func (m *lineMaker) add() error {
	s := m.shares
	m.out.Pixels = s.Len()
	all := s.Attribute(0)
	for i, x := range all {
		value := s.State(x.State)
		if value.IsNull() {
			continue
		}
		line := m.states.number(value)
		if line == len(m.out.Counts) {
			const point = 20 // bytes of a count, and of its JSON
			if int64(line+1)*int64(s.Len())*point > m.q.page.Read.QueryBytes {
				return fault.TooCostly("the memory of a query, at most %d bytes: more than %d lines of %d pixels", m.q.page.Read.QueryBytes, line, s.Len())
			}
			m.out.Counts = append(m.out.Counts, make([]float64, s.Len()))
		}
		next := s.Len()
		if i+1 < len(all) {
			next = int(all[i+1].First)
		}
		counts := m.out.Counts[line]
		if next <= int(x.First)+1 && x.Time != 0 { // it can share its pixel with other states
			first, last := s.Of(int(x.First))
			counts[x.First] += float64(x.Time) / float64(span{first, last}.length())
			continue
		}
		for pixel := int(x.First); pixel < next; pixel++ {
			counts[pixel]++
		}
	}
	return nil
}
