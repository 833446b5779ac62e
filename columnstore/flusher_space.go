package columnstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/txn"
)

// A store with a disk budget drops the oldest time ranges with commits. The marks are 32nds of the
// budget, each about a segment. From crowdedAt on, the flusher drops ranges. From waitAt on, commits wait
// for that, and snapshots that keep files of dropped ranges expire. From refuseAt on, commits are
// refused, and the rest is for segments and files that make room. Commits also wait if the log has more
// than mostLog, because a flush writes about half of the log while they come.
const (
	mostLog   = 10
	crowdedAt = 25
	waitAt    = 27
	refuseAt  = 28
)

// isCrowded reports whether ranges must be dropped. It returns false if no range could be dropped and
// nothing has changed since.
func (fl *flusher) isCrowded() bool {
	return fl.space.Over(crowdedAt) > 0 && fl.space.Used() != fl.stuck.Load()
}

// awaitSpace waits until the directory is within its budget, and returns ErrDisk if that is impossible.
// It is called before tx commits, or with nil before a table is created. The caller holds no lock that a
// flush takes.
func (fl *flusher) awaitSpace(tx *Tx) error {
	if fl.space == nil || fl.space.Over(waitAt) <= 0 && fl.logged.Load() <= fl.space.Most()/32*mostLog {
		return nil
	}
	coming := tx.laterRanges()
	if (fl.space.Used() != fl.stuck.Load() || len(coming) > 0) && fl.lock() {
		defer fl.flushing.Unlock()                 // deferred, because a Yield that simulates a crash panics
		_ = fl.keepWithin(fl.store.filing, coming) // Stats has the error
	}
	if full := fl.space.Full(refuseAt); full != nil {
		return fmt.Errorf("%w: only the newest time range of each table, histories and what snapshots read are left; Table.DropBefore or a larger Options.DiskBudget makes room", full)
	}
	return nil
}

// laterRanges returns the start of the newest time range of the transaction's rows, for each table whose
// rows are all before it. The key is the table's ordinal.
func (tx *Tx) laterRanges() map[int]int64 {
	later := map[int]int64{}
	for i := 0; tx != nil && i < len(tx.pieces); i++ {
		t := tx.pieces[i].table
		if start := t.schema.BucketStart(tx.pieces[i].Bucket); t.schema.BucketWidth() > 0 && start > t.schema.BucketStart(t.state().Newest) {
			later[t.ordinal] = max(start, later[t.ordinal])
		}
	}
	return later
}

// keepWithin flushes if the log exceeds its bound or crowds the directory, drops ranges if the directory
// is still crowded, and removes unneeded files. coming is from laterRanges; nil if no rows wait. The
// caller holds flusher.flushing.
func (fl *flusher) keepWithin(ctx context.Context, coming map[int]int64) (err error) {
	switch {
	case fl.isDue(fl.store.memory.isTight()), fl.space.Over(crowdedAt) > 0 && fl.logged.Load() > fl.space.Most()/32: // rows take less in files
		if err = fl.flushWhole(ctx); fl.space.Over(crowdedAt) <= 0 {
			return err
		}
	case fl.space.Over(crowdedAt) <= 0:
		return fl.clean()
	}
	failed := fl.makeSpace(coming, false)
	for failed == nil && fl.space.Over(waitAt) > 0 && cold.Waiting(fl.space, fl.manifest) > 0 && fl.store.roots.Expire(0, ^txn.Version(0)) {
		failed = fl.clean()
	}
	if err = errors.Join(err, failed); failed == nil && fl.isDue(fl.store.memory.isTight()) { // the log still has rows of dropped ranges
		err = fl.flushWhole(ctx)
	}
	fl.stuck.Store(0)
	if err != nil || fl.space.Over(crowdedAt) > 0 {
		fl.stuck.Store(fl.space.Used())
	}
	return err
}

// makeSpace drops the oldest ranges until the directory is not crowded, and keeps the files that reads
// need. If toFile is true, there must also be room for the files of the next flush. The caller holds
// flusher.flushing.
func (fl *flusher) makeSpace(coming map[int]int64, toFile bool) error {
	logged := fl.logged.Load() // read before rows, because later rows have no bytes here
	rows, _ := cold.Unfiled(fl.store.roots.Root().State, fl.manifest)
	perRow := float64(logged/2) / float64(max(1, rows)) // files take half of the log, and the log keeps rows of dropped ranges
	for {
		if err := fl.trim(); err != nil {
			return err
		}
		over := fl.space.Over(crowdedAt) - cold.Waiting(fl.space, fl.manifest)
		rowBytes, other := fl.toWrite(perRow)
		if toFile {
			over += rowBytes + other
		}
		floors := cold.OldestRanges(fl.store.roots.Root().State, fl.manifest, cold.AllTables, coming, over, rowBytes)
		if len(floors) == 0 {
			return nil
		}
		if err := fl.drop(floors, true); err != nil {
			return err
		}
	}
}

// drop drops the rows of tables before their floors, which are by the table's ordinal. forDisk is true for the disk budget.
func (fl *flusher) drop(floors map[int]int64, forDisk bool) error {
	tables := fl.store.Tables()
	for _, ordinal := range slices.Sorted(maps.Keys(floors)) {
		tx := fl.store.Begin()
		tx.trimmed, tx.trimmedTo, tx.forDisk = tables[ordinal], floors[ordinal], forDisk
		fl.store.opts.Yield("space/drop")
		_, err := tx.Commit()
		fl.store.opts.Yield("space/dropped")
		if err != nil {
			return err
		}
	}
	return nil
}

// trim writes a manifest without the ranges that were dropped since the last manifest, if any, and
// removes unneeded files.
func (fl *flusher) trim() error {
	fl.store.awaitCommit() // a commit drops dictionaries before it publishes the floor
	root := fl.store.roots.Root()
	tables := fl.store.Tables()
	next := cold.Trimmed(fl.manifest, root.State, func(table int, floor int64) int64 { return tables[table].generationOf(floor) })
	if next == nil {
		return fl.clean()
	}
	fl.discard()
	if err := fl.store.log.Sync(context.Background(), uint64(root.Commit)); err != nil {
		return err
	}
	if err := fl.dir.WriteManifest(next); err != nil {
		return err
	}
	fl.manifest = next
	for i := range next.Tables {
		tables[i].setFiles(&next.Tables[i])
	}
	fl.store.awaitCommit() // a commit can unload by the old files
	return fl.clean()
}
