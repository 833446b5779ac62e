package stats

import (
	"cmp"
	"context"
	"slices"

	"github.com/granarydb/granary/history"
)

// Longest returns the n longest intervals in a state that `is` accepts, the longest first, and of equal ones the first,
// and the number of all of them. It does not use Question.By and MaxBytes. The errors are those of the source.
func Longest(ctx context.Context, from Ranger, q Question, is func(history.Value) bool, n int) (longest []Span, all int, err error) {
	err = from.RangeAll(ctx, q.Attributes, q.From, q.To, func(a history.Attribute, in history.Interval) error {
		if in.Value.IsNull() || !is(in.Value) {
			return nil
		}
		all++
		longest = append(longest, clipped(a, in, q.From, q.To))
		if len(longest) >= 2*n+10 {
			longest = first(longest, n)
		}
		return nil
	})
	return first(longest, n), all, err
}

// first returns the n longest spans in their order.
func first(spans []Span, n int) []Span {
	slices.SortFunc(spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(b.Length()-1, a.Length()-1), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Attribute, b.Attribute))
	})
	return spans[:min(n, len(spans))]
}
