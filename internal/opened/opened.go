// Package opened says what a page shows first of a store that was filled from files: all of their time, or the difference of
// two sides.
package opened

import (
	"context"
	"math"
	"net/url"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// The label with the side of a profile in a difference, and its values.
const (
	SideLabel = "side"
	Before    = "before"
	After     = "after"
)

// Query returns the query of a page's address that shows all profiles and histories of a store, or with sides their
// difference. Without a range the page begins with the hour before the newest profile. The range is widened to whole
// milliseconds, the resolution of the page. The range of a single instant begins one second earlier. The query of an empty
// store is empty.
func Query(ctx context.Context, db *profile.DB, hasSides bool) (string, error) {
	from, to, err := span(ctx, db)
	if err != nil || from > to {
		return "", err
	}
	start, end := time.Unix(0, from).UTC().Truncate(time.Millisecond), time.Unix(0, to).UTC().Truncate(time.Millisecond).Add(time.Millisecond) // the range excludes its end
	if end.Sub(start) <= time.Millisecond {
		start = start.Add(-time.Second)
	}
	query := "?from=" + start.Format(time.RFC3339Nano) + "&to=" + end.Format(time.RFC3339Nano)
	if hasSides {
		side := func(value string) []string { return []string{"{" + SideLabel + `="` + value + `"}`} }
		query += "&v=difference&" + url.Values{"q": side(After), "bq": side(Before)}.Encode()
	}
	return query, nil
}

// span returns the time of all profiles and histories, in Unix nanoseconds. Without any, from is after to.
func span(ctx context.Context, db *profile.DB) (from, to int64, err error) {
	from, to = math.MaxInt64, math.MinInt64
	cover := func(start, end int64) { from, to = min(from, start), max(to, end) }
	err = db.Store().View(ctx, func(snap *columnstore.Snapshot) error {
		times, err := db.Table().Aggregate(ctx, snap, columnstore.AggregateOptions{By: []string{profile.ColumnTimestamp, profile.ColumnDuration}})
		if err != nil {
			return err
		}
		for row := range times.Counts {
			at, lasts := times.Columns[0].Values.Int64s[row], times.Columns[1].Values.Int64s[row]
			cover(at, max(at, at+max(0, lasts))) // the sum wraps around if it exceeds 64 bits
		}
		for _, handle := range db.Store().Histories() {
			v, err := snap.History(handle)
			if err != nil {
				return err
			}
			if v.Instants() {
				cover(v.Start(), v.End())
			}
		}
		return nil
	})
	return from, to, err
}
