package page

import (
	"context"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// InspectAnswer is the answer to GET /api/v1/inspect: the index of the profile table, and a query's cost.
type InspectAnswer struct {
	Head
	// All describes the store now. The query touched a part of it.
	All inspectAll `json:"all"`
	// Command is the same query for a terminal. It is empty without a query, and if there is no such
	// command.
	Command string `json:"command,omitempty"`
	// Granules are entries in the index, from Offset on, ordered by key.
	Offset   int              `json:"offset"`
	Granules []InspectGranule `json:"granules"`
}

type inspectAll struct {
	Granules int   `json:"granules"`
	Parts    int   `json:"parts"`
	Rows     int64 `json:"rows"`
	Bytes    int64 `json:"bytes"` // bytes of parts in memory
}

// InspectGranule is an entry of the index: the rows between two bounds of the sorting key.
type InspectGranule struct {
	From  []string      `json:"from"` // as in columnstore.Bound
	To    []string      `json:"to"`
	Rows  int           `json:"rows"`
	Bytes int           `json:"bytes"`
	Parts []inspectPart `json:"parts"`
}

// inspectPart describes a part's rows in a granule.
type inspectPart struct {
	Base   bool   `json:"base"` // made by a compaction or a split; otherwise as inserted
	Commit uint64 `json:"commit"`
	Rows   int    `json:"rows"`
	Series int    `json:"series"`
	Bytes  int    `json:"bytes"`
	Oldest string `json:"oldest"`
	Newest string `json:"newest"`
}

// maxInspected bounds an answer's granules, because each takes time and memory for the columns and rows of
// its parts.
const maxInspected = 1000

// inspectOf answers GET /api/v1/inspect. Without the parameter t there is no query.
func inspectOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	most, offset := q.rows(50, min(maxInspected, q.page.Read.MaxNodes))
	if q.err != nil {
		return nil, q.err
	}
	stats := q.at.DB.Table().Stats()
	out := &InspectAnswer{Offset: offset, Granules: []InspectGranule{}, All: inspectAll{stats.Granules, stats.Parts, stats.Rows, stats.PartBytes}}
	if q.of.Get("t") != "" {
		p, _, _, err := q.stacks(ctx)
		if err != nil {
			return nil, err
		}
		out.Command = q.command(&p, 0)
	}
	for g, err := range q.at.DB.Table().Inspect(ctx, q.at.Snap) {
		if err != nil {
			return nil, err
		}
		if offset > 0 {
			offset--
			continue
		}
		if len(out.Granules) == most {
			break
		}
		out.Granules = append(out.Granules, NewInspectGranule(&g))
	}
	return out, nil
}

// NewInspectGranule describes an entry of the index for an answer.
func NewInspectGranule(g *columnstore.GranuleInfo) InspectGranule {
	out := InspectGranule{From: g.Lower.Values, To: g.Upper.Values, Rows: g.Rows, Bytes: g.Bytes, Parts: []inspectPart{}}
	for i := range g.Parts {
		p := &g.Parts[i]
		out.Parts = append(out.Parts, inspectPart{
			Base: p.Base, Commit: uint64(p.Commit), Rows: p.Hi - p.Lo, Series: p.Series, Bytes: p.Bytes,
			Oldest: p.MinTime.UTC().Format(time.RFC3339Nano), Newest: p.MaxTime.UTC().Format(time.RFC3339Nano),
		})
	}
	return out
}
