package push

import (
	"context"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// open opens the profiles of the push's tenant. A tenant without any gets a table if a profile of the push has rows. Otherwise
// the push goes into a store that is dropped by done, so that it gets its answer, and nonsense makes no tenants.
func (in *insertion) open(ctx context.Context) (done func(), err error) {
	if in.db, err = in.s.DB(in.tenant); in.db != nil || err != nil {
		return func() {}, err
	}
	store, err := columnstore.Open(columnstore.Options{Manual: true, FutureLimit: -1, PastLimit: -1})
	if err != nil {
		return nil, err
	}
	done = func() { _ = store.Close() } // of a store in memory
	if in.db, err = profile.Open(store, profile.Options{Limits: in.s.Limits.Profile}); err != nil {
		done()
		return nil, err
	}
	if in.hasRows(ctx, in.db) {
		done()
		in.db, err = in.s.Make(in.tenant)
		return func() {}, err
	}
	return done, nil
}

// hasRows reports whether one of the push's profiles has rows. It inserts nothing.
func (in *insertion) hasRows(ctx context.Context, trial *profile.DB) bool {
	tx := trial.Store().Begin()
	defer tx.Abort()
	for i := range in.profiles {
		if in.labels[i] != nil && in.rowsOf(ctx, trial, tx, i) > 0 {
			return true
		}
	}
	return false
}

// rowsOf returns how many rows a profile of the push has in a transaction, or 0 if it is refused.
func (in *insertion) rowsOf(ctx context.Context, trial *profile.DB, tx *columnstore.Tx, i int) (rows int) {
	defer func(used int64) { in.share.used = used }(in.share.used) // as in add
	for sent, err := range in.read(&in.profiles[i]) {
		if err != nil {
			return 0
		}
		sent.Labels = nil
		n, err := sent.InsertTx(ctx, trial, tx, profile.InsertOptions{Labels: in.labels[i], Time: in.s.Now()})
		if err != nil {
			return 0
		}
		rows += n
	}
	return rows
}
