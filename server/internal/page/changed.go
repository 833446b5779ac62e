package page

import (
	"context"
	"strconv"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/source"
)

// ChangedFunction is the function whose share of own values changed most from the side before, in the way of the total.
type ChangedFunction struct {
	Name string `json:"name"`
	// Flat are the function's own values, before and after, and Of what they are a share of.
	Flat [2]int64 `json:"flat"`
	Of   [2]int64 `json:"of"`
}

// changed returns the function that changed most in the profiles with a value of the label, or nil if a side has none.
func (s *services) changed(ctx context.Context, value string) (*ChangedFunction, error) {
	only, err := profile.ParseSelector("{" + strconv.Quote(s.label) + "=" + strconv.Quote(value) + "}")
	if err != nil {
		return nil, err
	}
	flats, of := map[string]*[2]int64{}, [2]int64{}
	for side, query := range []profile.Query{s.sides[s.ago], s.query} {
		query.Selector = query.Selector.And(only)
		ask := source.Side{Query: query, Name: s.of.Get("t"), Selector: query.Selector.String()}
		var stacks *profile.Stacks
		err := s.view.Stacks(ctx, s.typ, []source.Side{ask}, func(found *source.Profiles) (err error) {
			stacks, err = found.DB.Merge(ctx, found.Snap, s.typ.Type, found.Queries[0])
			return err
		})
		if err != nil {
			return nil, err
		}
		if of[side] = stacks.Magnitude; of[side] == 0 {
			return nil, nil
		}
		costs, err := tree.Top(ctx, query.MaxBytes, stacks) // of one side, as that of two omits functions whose value stays
		if err != nil {
			return nil, err
		}
		for _, c := range costs {
			if flats[c.Function] == nil {
				flats[c.Function] = &[2]int64{}
			}
			flats[c.Function][side] = c.Flat[0]
		}
	}
	return mostChangedOf(flats, of), nil
}

// mostChangedOf returns the function whose share changed most in the way of the total: grew most if that grew. It says why: the share
// of a function that costs as much as before shrinks too. It returns nil if no share differs. Among equal ones it is the first by name.
func mostChangedOf(flats map[string]*[2]int64, of [2]int64) *ChangedFunction {
	way := 1.0
	if of[1] < of[0] {
		way = -1
	}
	var most *ChangedFunction
	greatest := 0.0
	for name, flat := range flats {
		d := way * (float64(flat[1])/float64(of[1]) - float64(flat[0])/float64(of[0]))
		if d > greatest || most != nil && d == greatest && name < most.Name {
			most, greatest = &ChangedFunction{name, *flat, of}, d
		}
	}
	return most
}
