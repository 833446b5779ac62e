package states

import (
	"context"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/stats"
	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/golang"
)

// Sum is how long the goroutines of a function were in a state, in nanoseconds.
type Sum struct {
	Function, State string // Function is "" for goroutines whose function is not known
	Total           uint64
}

// maxSumBytes bounds the memory of sums.
const maxSumBytes = 1 << 30

// Sums sums up the states of goroutines, as history stats --by function,state does. It returns nothing for a history that is not of a Go
// trace. Its memory is bounded, and beyond it the error is stats.ErrLimit.
func Sums(ctx context.Context, view *history.View) ([]Sum, error) {
	l := newRecording(&trace.Recording{View: view})
	if !isGoHistory(l.Names) {
		return nil, nil
	}
	by, err := stats.ParseCriteria("function,state")
	if err != nil {
		return nil, err
	}
	attributes, err := match(ctx, l.Names, []string{golang.Goroutines + "/*"})
	if err != nil {
		return nil, err
	}
	groups, err := stats.Of(ctx, l.Names, l, stats.Question{From: l.Start(), To: l.End(), Attributes: attributes, By: by, MaxBytes: maxSumBytes})
	if err != nil {
		return nil, err
	}
	var sums []Sum
	for _, g := range groups {
		s := Sum{State: plainValue(g.Keys[1]), Total: g.Total}
		if !g.Keys[0].IsNull() {
			s.Function = plainValue(g.Keys[0])
		}
		sums = append(sums, s)
	}
	return sums, nil
}
