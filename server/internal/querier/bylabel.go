package querier

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/granarydb/granary/server/internal/fanout"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// mostSides bounds the ranges to compare with in a question for sums by a label.
const mostSides = 8

// byLabel handles fanout.ByLabelPath: the sums of a type by a label and by source, or the time of the oldest profile.
func (s *sources) byLabel(w http.ResponseWriter, r *http.Request) error {
	p, err := s.Read.Parameters(r.URL.RawQuery, "label", "step", "means", "sides")
	if err != nil {
		return err
	}
	ask, err := byLabelOf(&p)
	if err != nil {
		return err
	}
	var out *fanout.ByLabelAnswer
	err = s.Gate.InTime(r.Context(), func(ctx context.Context) error {
		return s.store.At(ctx, func(v *source.At) error {
			oldest, err := v.Oldest(ctx)
			if err != nil || ask.Label == "" {
				out = &fanout.ByLabelAnswer{Oldest: oldest}
				return err
			}
			if err := s.Read.Bounds(&p, func() (int64, error) { return v.Newest(ctx) }); err != nil {
				return err
			}
			if p.Query.From == 0 || p.Query.To == 0 {
				return fault.Invalid("parameters from and to: want both")
			}
			ask.Query.From, ask.Query.To = p.Query.From, p.Query.To
			if ask.Type, err = v.DB.FindTypeIn(ctx, v.Snap, ask.Query, p.Type); err != nil {
				return fault.In("parameter type", err)
			}
			out, err = v.PartsByLabel(ctx, ask)
			return err
		})
	})
	if err != nil {
		return err
	}
	return web.SendJSON(w, r, s.ResultBytes, out)
}

// byLabelOf returns the question in parameters, without times and type.
func byLabelOf(p *question.Parameters) (*source.ByLabel, error) {
	ask := &source.ByLabel{Query: p.Query, Label: p.Rest.Get("label")}
	if ask.Label == "" {
		return ask, nil
	}
	ask.Query.SumGauges = p.Rest.Get("means") != "1"
	var err error
	if ask.Step, err = strconv.ParseInt(p.Rest.Get("step"), 10, 64); err != nil || ask.Step < 1 {
		return nil, fault.Invalid("parameter step: want nanoseconds, at least 1, not %s", fault.Quoted(p.Rest.Get("step")))
	}
	for text := range strings.SplitSeq(p.Rest.Get("sides"), ",") {
		if text == "" {
			continue
		}
		var side [2]int64
		if n, err := fmt.Sscanf(text, "%d--%d", &side[0], &side[1]); err != nil || n != 2 || side[0] < 1 || side[1] <= side[0] || len(ask.Sides) == mostSides {
			return nil, fault.Invalid("parameter sides: want FROM--TO, at most %d of them, not %s", mostSides, fault.Quoted(text))
		}
		ask.Sides = append(ask.Sides, side)
	}
	return ask, nil
}
