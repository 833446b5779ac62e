package filter

import (
	"context"
	"sync/atomic"
)

// Counts counts the granules, parts and rows that queries read. It is safe for concurrent use. The zero
// value is ready.
type Counts struct {
	Granules atomic.Int64 // visited granules
	Parts    atomic.Int64 // parts that can have matching rows
	Rows     atomic.Int64 // rows of these parts
	Chosen   atomic.Int64 // rows for which the query's condition holds
}

// countsKey is the context key of a Counts.
type countsKey struct{}

// Counting returns a context whose queries add their counts to t when they end. Queries that series
// answer without rows count nothing. It costs some ns for each part.
func Counting(ctx context.Context, t *Counts) context.Context {
	return context.WithValue(ctx, countsKey{}, t)
}

// count has the counts of one chooser until its Done.
type count struct {
	granules, parts, rows, chosen int64
	all                           *Counts // nil: counts are not wanted
}

func (t *count) done() {
	if t.all == nil {
		return
	}
	t.all.Granules.Add(t.granules)
	t.all.Parts.Add(t.parts)
	t.all.Rows.Add(t.rows)
	t.all.Chosen.Add(t.chosen)
}
