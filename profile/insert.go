package profile

import (
	"context"
	"fmt"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/schema"
)

// InsertOptions says what a profile does not say itself.
type InsertOptions struct {
	// Labels are those of the whole profile: job, pod and the like. An empty
	// value is no label.
	Labels map[string]string
	// Time is used for a profile that has none. If it is zero too, the
	// profile's time is 0, which is how pprof says that there is none.
	Time time.Time
}

// InsertEncoded adds a pprof profile as a file has it, gzipped or not, in a
// transaction of its own and returns the number of rows. When it returns, every
// new snapshot has them. An error means that nothing was inserted; it wraps
// ErrProfile, ErrTooLarge or an error of columnstore.Table.Insert.
//
// A sample's text label trace_id of 32 digits, and span_id of 16, in lower case
// hexadecimal, go to the columns of those names (ColumnTraceID), where one in ten million
// rows is found without reading the rest. Written otherwise, in upper case or with
// dashes, or several in one sample, they are labels as any other, and are found by what
// was written.
//
// data is only read, and not kept. A profile without a value other than zero has
// no rows and is no error. It does what Insert does with what Parse returns, at a
// fraction of the cost: nothing is made of the profile but its rows.
func (db *DB) InsertEncoded(ctx context.Context, data []byte, opts InsertOptions) (rows int, err error) {
	return db.inTx(func(tx *columnstore.Tx) (int, error) { return db.InsertEncodedTx(ctx, tx, data, opts) })
}

// InsertEncodedTx is InsertEncoded in a transaction of the caller's. After an
// error the transaction is as it was before.
func (db *DB) InsertEncodedTx(ctx context.Context, tx *columnstore.Tx, data []byte, opts InsertOptions) (rows int, err error) {
	w := db.workspace()
	defer db.release(w)
	if err := w.read(data, db.opts.Limits); err != nil {
		return 0, err
	}
	return db.insert(ctx, tx, w, opts)
}

// Insert is InsertEncoded for a profile in memory. The profile is only read.
func (db *DB) Insert(ctx context.Context, p *pprof.Profile, opts InsertOptions) (rows int, err error) {
	return db.inTx(func(tx *columnstore.Tx) (int, error) { return db.InsertTx(ctx, tx, p, opts) })
}

// InsertTx is Insert in a transaction of the caller's. After an error the
// transaction is as it was before.
func (db *DB) InsertTx(ctx context.Context, tx *columnstore.Tx, p *pprof.Profile, opts InsertOptions) (rows int, err error) {
	w := db.workspace()
	defer db.release(w)
	if err := flatten(p, db.opts.Limits, &w.flat); err != nil {
		return 0, err
	}
	return db.insert(ctx, tx, w, opts)
}

// inTx does an insert in a transaction of its own.
func (db *DB) inTx(insert func(tx *columnstore.Tx) (int, error)) (rows int, err error) {
	tx := db.store.Begin()
	if rows, err = insert(tx); err != nil {
		tx.Abort()
		return 0, err
	}
	if _, err := tx.Commit(); err != nil {
		return 0, err
	}
	return rows, nil
}

// insert adds the rows of the profile in w.
func (db *DB) insert(ctx context.Context, tx *columnstore.Tx, w *workspace, opts InsertOptions) (rows int, err error) {
	kind := w.flat.kind()
	note, err := kind.note()
	if err != nil {
		return 0, fmt.Errorf("%w: its types: %w", ErrProfile, err)
	}
	if err := bound("bytes of types", len(note), schema.MaxString); err != nil {
		return 0, err // else it would be the commit that fails
	}
	if w.flat.isEmpty(db.opts.KeepZeros) {
		tx.Note(db.table, note)
		return 0, nil
	}
	codes, err := db.table.Codes(w.flat.at(opts))
	if err != nil {
		return 0, err
	}
	batch, err := w.batcher.batch(&w.flat, kind, opts, db.opts.KeepZeros, codes)
	if err != nil {
		return 0, err
	}
	if err := tx.InsertCodes(ctx, codes, batch); err != nil {
		return 0, err
	}
	tx.Note(db.table, note)
	return batch.Rows, nil
}

// at returns the time of a profile's rows.
func (f *flat) at(opts InsertOptions) int64 {
	if f.time == 0 && !opts.Time.IsZero() {
		return opts.Time.UnixNano()
	}
	return f.time
}

// isEmpty says whether a profile has no rows.
func (f *flat) isEmpty(zeros bool) bool {
	return len(f.values) == 0 || !zeros && !slices.ContainsFunc(f.values, func(v int64) bool { return v != 0 })
}
