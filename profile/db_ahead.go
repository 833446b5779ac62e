package profile

import (
	"context"
	"math"
	"time"

	"github.com/granarydb/granary/columnstore"
)

// newestProfiles is the time whose stacks ReadAhead sums.
const newestProfiles = time.Minute

// ReadAhead brings what most queries need first into memory: the labels and the stacks' dictionary of the newest profiles, with
// the functions of its locations, at most 32 MiB. Without it, the first query does that. It costs as much
// as Types, a Merge of the newest minute, and 0.5 us for each location of the dictionary. The error is that of a query.
func (db *DB) ReadAhead(ctx context.Context, snap *columnstore.Snapshot) error {
	types, err := db.Types(ctx, snap)
	if err != nil || len(types) == 0 {
		return err
	}
	units, _, err := db.Table().Units(snap)
	if err != nil {
		return err
	}
	last := int64(math.MinInt64)
	for _, u := range units {
		last = max(last, u.Last)
	}
	for _, t := range types {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		stacks, err := db.Merge(ctx, snap, t, Query{From: max(last, math.MinInt64+int64(newestProfiles)) - int64(newestProfiles)})
		if err != nil {
			return err
		}
		if stacks.Len() > 0 {
			stacks.symbols.ReadAhead()
			return nil
		}
	}
	return nil
}
