package workloads

import (
	"cmp"
	"fmt"

	"github.com/granarydb/granary/bench/fleet"
)

// scaled is a larger fleet.
type scaled struct {
	About   string          `json:"about"`
	Fleet   filled          `json:"fleet"`
	Queries []scaledFigure  `json:"queries"`
	Cancel  []cancelFigures `json:"cancel"`
}

type scaledFigure struct {
	queryFigure
	Ratio      float64 `json:"ratio"`
	MustRatio  float64 `json:"must_ratio"`
	SameAnswer bool    `json:"same_answer"`
}

// scaleQueries asks the same questions of two larger fleets.
func scaleQueries(v fleet.Variant, base []queryFigure, rows int64, repeat, scale int) (all []scaled, err error) {
	wide := v
	wide.Jobs = scale * cmp.Or(v.Jobs, fleet.Jobs)
	for _, of := range []struct {
		about   string
		variant fleet.Variant
		more    func(y yardstick) bool
	}{
		{fmt.Sprintf("wide: %d times the jobs and pods, for as long", scale), wide, func(y yardstick) bool { return y.wide }},
		{fmt.Sprintf("long: the same jobs and pods, for %d times as long", scale), v, func(y yardstick) bool { return y.long }},
	} {
		s := scaled{About: of.about}
		err := WithFleet(of.variant, int64(scale)*rows, func(q *FilledFleet) error {
			s.Fleet = q.about
			figures, err := askAll(q, repeat)
			if err != nil {
				return err
			}
			for i, f := range figures {
				one := scaledFigure{queryFigure: f, Ratio: f.CPUms / base[i].CPUms, MustRatio: 1.5, SameAnswer: f.answer == base[i].answer}
				if of.more(yardsticks[i]) {
					one.MustRatio = float64(scale)
				}
				s.Queries = append(s.Queries, one)
			}
			s.Cancel, err = cancelAll(q)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of.about, err)
		}
		all = append(all, s)
	}
	return all, nil
}
