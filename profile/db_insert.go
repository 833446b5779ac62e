package profile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/rows"
	codec "github.com/granarydb/granary/profile/pprof"
	"github.com/granarydb/granary/schema"
)

// InsertEncoded inserts an encoded pprof profile, gzipped or not, in its own transaction, and returns the
// number of rows. After it returns, every new snapshot contains the rows. After an error nothing was
// inserted. Errors wrap ErrProfile, ErrTooLarge or an error of columnstore.Table.Insert.
//
// A text label trace_id with 32 lower-case hexadecimal digits goes to the column of that name
// (ColumnTraceID), and so does a span_id with 16. These columns find one row among ten million without
// reading the rest. Ids in upper case or with dashes, or several in one sample, are ordinary labels,
// which DB.Profile returns unchanged. A Selector finds an id in upper case by either spelling, and other
// spellings as they are.
//
// The patterns drop_frames and keep_frames of a profile are applied as by go tool pprof, unless
// InsertOptions.AllFrames is set: matching functions, such as an allocator's, are dropped with everything
// that they call. This costs about 1 us for each function name. Patterns over 4 KiB, or that take more
// than 67 million steps, are ErrTooLarge.
//
// Times among the values, and the period, are stored in nanoseconds whatever their unit in the profile,
// because values of the same quantity then add up. Times that overflow keep their unit. For the same reason the sample
// types inuse-space and inuse-objects are stored as inuse_space and inuse_objects.
//
// The time of a profile is in Unix nanoseconds. A time before 1980 is ErrProfile unless InsertOptions.Retime is
// set, and the error names the likely unit. A profile without a time needs InsertOptions.Time.
//
// Bytes of a name or a label's value that are not UTF-8 are stored as U+FFFD, and a sample label's value of more than
// 64 KiB is cut at a character and ends with "…", because the profile is worth more than they. DB.Mended counts both.
//
// A sample with a row needs labels whose names are printable UTF-8 of at most about 1,000 bytes. Other
// names are columnstore.ErrBatch, and the error names the sample and the label, because samples that only
// this label tells apart would be added up without it (P1).
//
// data is neither changed nor retained. A profile without rows, because all its values are zero, is no
// error. The result is that of Insert after google/pprof has parsed the bytes, at a fraction of the cost,
// because only the rows are built. Within the default limits the heap grows by at most 1 GiB.
func (db *DB) InsertEncoded(ctx context.Context, data []byte, opts InsertOptions) (rows int, err error) {
	return db.inTx(opts, func(tx *columnstore.Tx, opts InsertOptions) (int, error) {
		return db.InsertEncodedTx(ctx, tx, data, opts)
	})
}

// InsertEncodedTx is InsertEncoded in the caller's transaction. After an error the transaction is
// unchanged. InsertOptions.Deltas does not wait for the commit: InsertOptions.Subtracted can undo it.
func (db *DB) InsertEncodedTx(ctx context.Context, tx *columnstore.Tx, data []byte, opts InsertOptions) (rows int, err error) {
	w := db.workspace()
	defer db.release(w)
	if err := w.read(data, db.opts.Limits); err != nil {
		return 0, err
	}
	return db.insert(ctx, tx, w, opts)
}

// Insert is InsertEncoded for a profile in memory. It does not change the profile.
func (db *DB) Insert(ctx context.Context, p *pprof.Profile, opts InsertOptions) (rows int, err error) {
	return db.inTx(opts, func(tx *columnstore.Tx, opts InsertOptions) (int, error) { return db.InsertTx(ctx, tx, p, opts) })
}

// InsertTx is Insert in the caller's transaction, as InsertEncodedTx is InsertEncoded.
func (db *DB) InsertTx(ctx context.Context, tx *columnstore.Tx, p *pprof.Profile, opts InsertOptions) (rows int, err error) {
	w := db.workspace()
	defer db.release(w)
	if err := codec.Flatten(p, db.opts.Limits, &w.flat.Flat); err != nil {
		return 0, err
	}
	if err := w.flat.Check(); err != nil {
		return 0, err
	}
	return db.insert(ctx, tx, w, opts)
}

// inTx runs an insert in its own transaction.
func (db *DB) inTx(opts InsertOptions, insert func(tx *columnstore.Tx, opts InsertOptions) (int, error)) (rows int, err error) {
	if opts.Subtracted == nil {
		opts.Subtracted = new(Subtraction)
	}
	tx := db.store.Begin()
	if rows, err = insert(tx, opts); err != nil {
		tx.Abort()
		return 0, err
	}
	if _, err := tx.Commit(); err != nil {
		if !errors.Is(err, columnstore.ErrNotDurable) { // the rows are visible
			opts.Subtracted.Drop()
		}
		return 0, err
	}
	return rows, nil
}

// insert adds the profile's rows in w.
func (db *DB) insert(ctx context.Context, tx *columnstore.Tx, w *workspace, opts InsertOptions) (rows int, err error) {
	w.flat.ToNanoseconds()
	w.flat.ToKnownTypes()
	if !opts.AllFrames {
		if err := w.pruner.Prune(&w.flat.Flat); err != nil {
			return 0, err
		}
	}
	if opts.Labels[NameLabel] == "" {
		if name := w.flat.NameIn(opts.Origin); name != "" {
			labels := map[string]string{}
			maps.Copy(labels, opts.Labels)
			labels[NameLabel] = name
			opts.Labels = labels
		}
	}
	var since Subtraction
	if opts.Deltas != nil {
		if since, err = db.subtract(&w.flat.Flat, opts); err != nil {
			return 0, err
		}
	}
	// After the subtraction, because the profile before may have no names.
	if db.namer != nil {
		w.flat.Name(db.namer)
		err = w.flat.Check()
	}
	if err == nil {
		rows, err = db.insertRows(ctx, tx, w, opts)
	}
	if err != nil {
		since.Drop()
		return 0, err
	}
	if opts.Subtracted != nil {
		*opts.Subtracted = since
	}
	db.mended.Add(int64(w.flat.Mended))
	return rows, nil
}

// subtract turns cumulative values into differences. Labels that do not tell sources apart do not here either.
func (db *DB) subtract(f *codec.Flat, opts InsertOptions) (since Subtraction, err error) {
	at, err := opts.timeOf(f)
	if err != nil {
		return since, err
	}
	if _, err := db.table.Codes(at); err != nil { // also if no row is left that could be refused
		return since, err
	}
	labels := map[string]string{"\x00": opts.Sender} // no label has such a name
	maps.Copy(labels, opts.Labels)
	for _, name := range db.opts.Without {
		delete(labels, name)
	}
	isAhead := func(at int64) bool {
		_, err := db.table.Codes(at)
		return errors.Is(err, columnstore.ErrFuture)
	}
	return opts.Deltas.Subtract(f, labels, at, opts.FirstWhole, isAhead), nil
}

func (db *DB) insertRows(ctx context.Context, tx *columnstore.Tx, w *workspace, opts InsertOptions) (rows int, err error) {
	note, err := newTypeList(&w.flat.Flat).note()
	if err != nil {
		return 0, fmt.Errorf("%w: sample types: %w", ErrProfile, err)
	}
	if len(note) > schema.MaxString { // otherwise the commit would fail
		return 0, fmt.Errorf("%w: %d bytes of sample types, at most %d", ErrTooLarge, len(note), schema.MaxString)
	}
	if w.flat.IsEmpty(db.opts.KeepZeros) {
		tx.Note(db.table, note)
		return 0, nil
	}
	at, err := opts.timeOf(&w.flat.Flat)
	if err != nil {
		return 0, err
	}
	codes, err := db.table.Codes(at)
	if err != nil {
		return 0, err
	}
	from, to := codes.Range()
	if err := w.flat.SetTimes(opts.SampleTimes, max(from, leastTime), to); err != nil {
		return 0, err
	}
	batch, err := w.batcher.Batch(&w.flat, at, opts.Labels, db.opts.KeepZeros, codes)
	if err != nil {
		return 0, err
	}
	if err := tx.InsertCodes(ctx, codes, batch); err != nil {
		return 0, err
	}
	tx.Note(db.table, note)
	return batch.Rows, nil
}

// workspace is the working memory of an insert. A DB keeps workspaces for later inserts.
type workspace struct {
	reader  codec.Reader
	flat    rows.Profile
	batcher rows.Batcher
	pruner  codec.Pruner
}

// read decompresses and decodes a profile into w.flat and checks it.
func (w *workspace) read(data []byte, limits Limits) error {
	if err := w.reader.Read(data, limits, &w.flat.Flat); err != nil {
		return err
	}
	return w.flat.Check()
}

func (db *DB) workspace() *workspace {
	if w, ok := db.workspaces.Get().(*workspace); ok {
		return w
	}
	return new(workspace)
}

// release returns a workspace to the pool. A workspace that grew beyond maxKept is left to the
// garbage collector.
func (db *DB) release(w *workspace) {
	if w.reader.Size()+w.flat.Size()+w.batcher.Size()+w.pruner.Size() > maxKept {
		return
	}
	w.reader.Reset()
	w.flat.Reset()
	w.batcher.Reset()
	db.workspaces.Put(w)
}

// Errors of inserts.
var (
	// ErrProfile reports bytes that are not a pprof profile, or a profile that contradicts
	// itself.
	ErrProfile = codec.ErrProfile
	// ErrTooLarge reports a profile that exceeds a limit.
	ErrTooLarge = codec.ErrTooLarge
)

// Limits bounds a profile. A field that is 0 means its default: 64 MiB decompressed, 1,000,000 samples
// with 16,384 locations.
type Limits = codec.Limits

// maxKept bounds the bytes of a workspace that a DB keeps for later inserts.
const maxKept = 16 << 20

// leastTime is the least plausible time of a profile: 1980 in Unix nanoseconds. Today's time in seconds,
// milliseconds or microseconds, taken for nanoseconds, is in January 1970.
var leastTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// timeOf returns the time of a profile's rows in Unix nanoseconds. A profile without a time, or with a
// time in another unit, is ErrProfile unless the options have its time, because its rows would be in 1970,
// where no query for the present finds them and retention drops them.
func (opts InsertOptions) timeOf(f *codec.Flat) (int64, error) {
	switch {
	case f.Time >= leastTime:
		return f.Time, nil
	case f.Time != 0 && (!opts.Retime || opts.Time.IsZero()):
		return 0, fmt.Errorf("%w: its time is %d, in nanoseconds %s: %s", ErrProfile, f.Time,
			time.Unix(0, f.Time).UTC().Format(time.DateOnly), timeUnit(f.Time))
	case opts.Time.IsZero():
		return 0, fmt.Errorf("%w: it has no time, and InsertOptions.Time is not set", ErrProfile)
	}
	return opts.Time.UnixNano(), nil
}

// timeUnit names the unit in which the time at is between 1980 and 2100.
func timeUnit(at int64) string {
	for _, unit := range []struct {
		name  string
		nanos time.Duration
	}{{"seconds", time.Second}, {"milliseconds", time.Millisecond}, {"microseconds", time.Microsecond}} {
		least := leastTime / int64(unit.nanos)
		if at >= least && at < 13*least {
			return "it looks like " + unit.name
		}
	}
	return "before 1980"
}
