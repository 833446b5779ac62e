package page

import (
	"context"
	"errors"
	"fmt"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// newestProfiles has a query's profiles in a time range: the times of all, and the complete last profiles.
type newestProfiles struct {
	most   int
	newest []profile.ProfileInfo // at most `most`, by time
	times  []int64               // sorted
}

// collect adds a query's profiles, which are before the profiles of n. If they need more memory than a query
// may take, it divides their time range in halves, and collects the later half first. Each division costs up
// to twice as much; the memory is limited to the profiles of one time and the times of all.
func (n *newestProfiles) collect(ctx context.Context, q *pageQuestion, typ profile.Type, query profile.Query) error {
	infos, err := q.at.DB.Profiles(ctx, q.at.Snap, typ, query)
	if err == nil {
		return n.add(infos, query.MaxBytes)
	}
	if !errors.Is(err, columnstore.ErrQueryMemory) {
		return err
	}
	bounds, failed := q.at.DB.Table().Aggregate(ctx, q.at.Snap, columnstore.AggregateOptions{
		Aggregates: []columnstore.Aggregate{
			{Op: columnstore.Min, Column: profile.ColumnTimestamp}, {Op: columnstore.Max, Column: profile.ColumnTimestamp},
		},
		Where: query.Expr(typ), NoCounts: true, MaxBytes: query.MaxBytes,
	})
	if failed != nil {
		return failed
	}
	least, greatest := &bounds.Aggregates[0].Values, &bounds.Aggregates[1].Values
	if len(least.Int64s) == 0 || least.Null(0) { // not even enough memory for an answer without profiles
		return err
	}
	first, last := least.Int64s[0], greatest.Int64s[0]
	middle := first + int64((uint64(last)-uint64(first)+1)/2)
	if first == last || middle == 0 { // 0 would mean no bound
		return err
	}
	early, late := query, query
	early.To, late.From = middle, middle
	if err := n.collect(ctx, q, typ, late); err != nil {
		return err
	}
	return n.collect(ctx, q, typ, early)
}

// add adds profiles before the profiles of n.
func (n *newestProfiles) add(infos []profile.ProfileInfo, maxBytes int64) error {
	if bytes := 8 * int64(len(infos)+len(n.times)); maxBytes > 0 && bytes > maxBytes {
		return fmt.Errorf("%w: %d bytes for the times of %d profiles, at most %d", columnstore.ErrQueryMemory, bytes, bytes/8, maxBytes)
	}
	times := make([]int64, 0, len(infos)+len(n.times))
	for i := range infos {
		times = append(times, infos[i].Time)
	}
	n.times = append(times, n.times...)
	last := infos[max(0, len(infos)-(n.most-len(n.newest))):]
	n.newest = append(append(make([]profile.ProfileInfo, 0, len(last)+len(n.newest)), last...), n.newest...)
	return nil
}
