package filter

import (
	"context"
	"sync/atomic"
)

// Counts counts what queries read. It is safe for concurrent use. The zero value is ready.
type Counts struct {
	Granules atomic.Int64 // that a query visited
	Parts    atomic.Int64 // of these, that can have rows of the query
	Rows     atomic.Int64 // of these parts
	Chosen   atomic.Int64 // of these, for which the condition of the query holds
}

// countsKey is the key of a context with a Counts.
type countsKey struct{}

// Counting returns a context whose queries of rows are counted in t when they end. Questions that series answer
// without rows count nothing. It costs some ns for each part.
func Counting(ctx context.Context, t *Counts) context.Context {
	return context.WithValue(ctx, countsKey{}, t)
}

// count are the counts of one chooser, until its Done. Those of nil count nothing.
type count struct {
	granules, parts, rows, chosen int64
	all                           *Counts
}

// counted returns the counts of a query, nil if nobody asks for them.
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

// done adds the counts to those of all.
func (t *count) done() {
	if t == nil {
		return
	}
	t.all.Granules.Add(t.granules)
	t.all.Parts.Add(t.parts)
	t.all.Rows.Add(t.rows)
	t.all.Chosen.Add(t.chosen)
}
