package page

import (
	"cmp"
	"context"
	"errors"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/union"
	"github.com/granarydb/granary/internal/stats"
	"github.com/granarydb/granary/server/internal/fault"
)

// StatsAnswer is the answer to GET /api/v1/histories/NAME/stats.
type StatsAnswer struct {
	Head
	// From and To are the part of the range that the history has. Intervals count with their part in it.
	From       string   `json:"from,omitempty"`
	To         string   `json:"to,omitempty"`
	By         []string `json:"by"`
	Attributes int      `json:"attributes"`
	Total      uint64   `json:"total_ns"` // of all groups
	// All is the number of groups. Rows are some of them, the greatest total first.
	All    int        `json:"all"`
	Offset int        `json:"offset"`
	Rows   []StatsRow `json:"rows"`
}

// StatsRow has the sums of a group. Durations are in nanoseconds, and exact.
type StatsRow struct {
	Key     []string    `json:"key"` // by the keys of StatsAnswer.By: states as answers spell them, and paths of attributes
	Total   uint64      `json:"total_ns"`
	Share   float64     `json:"share"`
	Count   int         `json:"count"`
	Min     uint64      `json:"min_ns"`
	Mean    uint64      `json:"mean_ns"`
	P50     uint64      `json:"p50_ns"`
	P99     uint64      `json:"p99_ns"`
	Max     uint64      `json:"max_ns"`
	Longest longestSpan `json:"longest"`
}

// longestSpan is the first of the longest parts of intervals.
type longestSpan struct {
	Attribute string `json:"attribute"`
	StateText
	Start string `json:"start"`
	End   string `json:"end"` // instant after it
}

// statsOf answers GET /api/v1/histories/NAME/stats.
func statsOf(ctx context.Context, q *pageQuestion, h *pageHistory) (pageAnswer, error) {
	rows, offset := q.rows(200, q.page.Read.MaxNodes)
	pattern := q.paths()
	by, err := stats.ParseCriteria(cmp.Or(q.of.Get("by"), "state"))
	if err != nil {
		q.refuse(fault.Invalid("parameter by: %w", err))
	}
	part := q.span(ctx, h.View)
	if q.err != nil {
		return nil, q.err
	}
	out := &StatsAnswer{By: []string{}, Offset: offset, Rows: []StatsRow{}}
	for _, key := range by {
		out.By = append(out.By, key.String())
	}
	in, ok := part.of(h.View)
	if !ok {
		return out, nil
	}
	asked := stats.Question{From: in.from, To: in.to, End: h.End(), By: by, MaxBytes: q.page.Read.QueryBytes}
	if asked.Attributes, err = pattern.Match(ctx, h.Names, history.Top); err != nil {
		return nil, err
	}
	groups, err := stats.Of(ctx, h.Names, union.Complete(h.View), asked)
	if errors.Is(err, stats.ErrLimit) {
		return nil, fault.TooCostly("statistics: %v", err)
	}
	if err != nil {
		return nil, err
	}
	out.From, out.To, out.Attributes, out.All = instantText(in.from), endText(in.to), len(asked.Attributes), len(groups)
	for _, g := range groups {
		out.Total += g.Total
	}
	groups = groups[min(offset, len(groups)):]
	for _, g := range groups[:min(rows, len(groups))] {
		out.Rows = append(out.Rows, newStatsRow(h.Names, by, g, out.Total))
	}
	return out, nil
}

func newStatsRow(names history.Names, by []stats.Criterion, g stats.Group, total uint64) StatsRow {
	row := StatsRow{
		Total: g.Total, Share: float64(g.Total) / float64(total), Count: g.Count, Min: g.Min, Mean: g.Mean, P50: g.P50, P99: g.P99, Max: g.Max,
		Longest: longestSpan{pathText(names, g.Longest.Attribute), NewStateText(g.Longest.Value), instantText(g.Longest.Start), endText(g.Longest.End)},
	}
	for i, v := range g.Keys {
		if text := StateName(v); by[i].IsAttribute() {
			row.Key = append(row.Key, pathText(names, history.Attribute(v.Int())))
		} else {
			row.Key = append(row.Key, text)
		}
	}
	return row
}
