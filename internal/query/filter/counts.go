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

// count has the counts of one chooser until its Done. A nil count counts nothing.
type count struct {
	granules, parts, rows, chosen int64
	all                           *Counts
}

// counted returns a query's counts, or nil if ctx has no Counts.
func counted(ctx context.Context) *count {
	if all, ok := ctx.Value(countsKey{}).(*Counts); ok {
		return &count{all: all}
	}
	return nil
}

func (t *count) granule() {
	if t != nil {
		t.granules++
	}
}

func (t *count) part(rows int) {
	if t != nil {
		t.parts, t.rows = t.parts+1, t.rows+int64(rows)
	}
}

func (t *count) choose(rows int) {
	if t != nil {
		t.chosen += int64(rows)
	}
}

// done adds the counts to the context's Counts.
func (t *count) done() {
	if t == nil {
		return
	}
	t.all.Granules.Add(t.granules)
	t.all.Parts.Add(t.parts)
	t.all.Rows.Add(t.rows)
	t.all.Chosen.Add(t.chosen)
}
