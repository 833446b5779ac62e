package profile

import (
	"context"

	"github.com/granarydb/granary/columnstore"
)

// Delete deletes the samples that a query chooses, of the given types or of all, and returns the number of their rows. A profile
// without samples is gone with them. Its conditions mean the same as in a question of now: gauges are rows like others, and
// Hide and Show choose by frames. The symbols of stacks and the values of labels stay in the dictionaries, which no
// answer lists, until their time ranges are dropped. Histories stay.
//
// The rest, the cost and the errors are as for columnstore.Table.DeleteRows.
func (db *DB) Delete(ctx context.Context, q Query, types ...Type) (rows int64, err error) {
	var where columnstore.Expr
	err = db.store.View(ctx, func(snap *columnstore.Snapshot) error {
		where = db.plan(ctx, snap, q, types...).chosen
		return nil
	})
	if err != nil {
		return 0, err
	}
	return db.table.DeleteRows(ctx, where)
}
