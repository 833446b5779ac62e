package columnstore

import (
	"cmp"
	"context"
	"iter"

	"github.com/granarydb/granary/query"
)

// Inspect yields a description of each granule of the table in a snapshot, in key order: the
// sparse index, for people and tools.
//
// It describes one granule at a time, so a caller who stops early pays only for the granules
// received. Each part costs O(columns), and O(rows) for its series and for each nullable
// column. It is safe for concurrent use and delays no writer.
//
// An error is the last element: ErrSnapshotClosed, ErrSnapshotExpired, ErrTable for a snapshot
// of another store, or the error of ctx. A table that is newer than the snapshot has no
// granules.
func (t *Table) Inspect(ctx context.Context, snap *Snapshot) iter.Seq2[GranuleInfo, error] {
	return func(yield func(GranuleInfo, error) bool) {
		r, err := snap.read(t)
		if err != nil {
			yield(GranuleInfo{}, err)
			return
		}
		defer r.Use.Done()
		if r.State == nil {
			return
		}
		for _, g := range r.State.Granules.All() {
			if err := cmp.Or(ctx.Err(), r.Use.Err()); err != nil {
				yield(GranuleInfo{}, err)
				return
			}
			if !yield(query.DescribeGranule(t.schema, g), nil) {
				return
			}
		}
	}
}
