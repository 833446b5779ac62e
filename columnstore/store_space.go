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

// A store with a disk budget drops the oldest time ranges by commits. 32nds of it, each about a segment: from
// crowdedAt on the flusher drops ranges, from waitAt on commits wait for that, and snapshots expire that keep files of
// dropped ranges. From refuseAt on commits are refused; the rest is for segments and files that make room. From
// mostLog in the log on, commits wait too: a run writes half of that while they come.
const (
	mostLog   = 10
	crowdedAt = 25
	waitAt    = 27
	refuseAt  = 28
)

// isCrowded reports whether ranges are to be dropped, unless nothing has changed since none could be.
func (fl *flusher) isCrowded() bool {
	return fl.space.Over(crowdedAt) > 0 && fl.space.Used() != fl.stuck.Load()
}

// awaitSpace waits until the directory is within its budget, and returns ErrDisk if it cannot be: before
// a transaction commits, or with nil before a table is created. The caller holds no lock that who files takes.
func (s *Store) awaitSpace(tx *Tx) error {
	fl := &s.flusher
	if fl.space == nil || fl.space.Over(waitAt) <= 0 && fl.logged.Load() <= s.opts.DiskBudget/32*mostLog {
		return nil
	}
	coming := tx.laterRanges()
	if (fl.space.Used() != fl.stuck.Load() || len(coming) > 0) && s.lockFlush() {
		defer fl.flushing.Unlock()                     // even if a Yield panics, as that of a simulated crash
		_ = s.keepWithin(context.Background(), coming) // Stats has the error
	}
	if full := fl.space.Full(refuseAt); full != nil {
		return fmt.Errorf("%w: only the newest time range of each table, histories and what snapshots read are left; Table.DropBefore or a larger Options.DiskBudget makes room", full)
	}
	return nil
}

// laterRanges returns the starts of the newest time ranges of a transaction's rows, by table, if they are later
// than all rows of the table.
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

// keepWithin files if the log exceeds its bound or crowds the directory, drops ranges if it is still crowded, and
// removes files that nobody needs. coming is of laterRanges, nil if no rows wait. The caller holds flusher.flushing.
func (s *Store) keepWithin(ctx context.Context, coming map[int]int64) (err error) {
	fl := &s.flusher
	switch {
	case fl.isDue(s.isTight()), fl.space.Over(crowdedAt) > 0 && fl.logged.Load() > s.opts.DiskBudget/32: // rows take less in files
		if err = s.flushWhole(ctx); fl.space.Over(crowdedAt) <= 0 {
			return err
		}
	case fl.space.Over(crowdedAt) <= 0:
		return fl.clean(s)
	}
	failed := s.makeSpace(coming, false)
	for failed == nil && fl.space.Over(waitAt) > 0 && cold.Waiting(fl.space, fl.manifest) > 0 && s.roots.Expire(0, ^txn.Version(0)) {
		failed = fl.clean(s)
	}
	if err = errors.Join(err, failed); failed == nil && fl.isDue(s.isTight()) { // the log has rows of what was dropped
		err = s.flushWhole(ctx)
	}
	fl.stuck.Store(0)
	if err != nil || fl.space.Over(crowdedAt) > 0 {
		fl.stuck.Store(fl.space.Used())
	}
	return err
}

// makeSpace drops the oldest ranges until the directory is not crowded, if toFile by what a run would write
// either, and keeps the files that reads need. The caller holds flusher.flushing.
func (s *Store) makeSpace(coming map[int]int64, toFile bool) error {
	fl := &s.flusher
	logged := fl.logged.Load() // before rows: those that come now have no bytes here
	rows, _ := cold.Unfiled(s.roots.Root().State, fl.manifest)
	perRow := float64(logged/2) / float64(max(1, rows)) // files take half of the log, which keeps rows of dropped ranges
	for {
		if err := s.trim(); err != nil {
			return err
		}
		over := fl.space.Over(crowdedAt) - cold.Waiting(fl.space, fl.manifest)
		rowBytes, other := s.toWrite(perRow)
		if toFile {
			over += rowBytes + other
		}
		floors := cold.OldestRanges(s.roots.Root().State, fl.manifest, coming, over, rowBytes)
		if len(floors) == 0 {
			return nil
		}
		tables := s.tablesInOrder()
		for _, ordinal := range slices.Sorted(maps.Keys(floors)) {
			tx := s.Begin()
			tx.trimmed, tx.trimmedTo, tx.forDisk = tables[ordinal], floors[ordinal], true
			s.opts.Yield("space/drop")
			_, err := tx.Commit()
			s.opts.Yield("space/dropped")
			if err != nil {
				return err
			}
		}
	}
}

// trim writes a manifest without the ranges that were dropped since the last one, if there are any, and
// removes the files that nobody needs.
func (s *Store) trim() error {
	fl := &s.flusher
	s.awaitCommit() // it drops dictionaries before it publishes the floor
	root := s.roots.Root()
	tables := s.tablesInOrder()
	next := cold.Trimmed(fl.manifest, root.State, func(table int, floor int64) int64 { return tables[table].generationOf(floor) })
	if next == nil {
		return fl.clean(s)
	}
	fl.discard()
	if err := s.log.Sync(context.Background(), uint64(root.Commit)); err != nil {
		return err
	}
	if err := fl.dir.WriteManifest(next); err != nil {
		return err
	}
	fl.manifest = next
	for i := range next.Tables {
		tables[i].setFiles(&next.Tables[i])
	}
	s.awaitCommit() // who unloads by the files of before
	return fl.clean(s)
}
