package columnstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/txn"
)

// Unit describes a bucket's rows. A sealed bucket is a unit, whose rows stay the same. ID is 0 if the
// bucket is not sealed.
type Unit = catalog.Unit

// ErrUnit is returned by a scan of a unit that the snapshot lacks: it was dropped, or never sealed.
var ErrUnit = catalog.ErrUnit

// errChanged is returned within Tx.Commit and Seal if buckets were sealed, cut or dropped since the
// change was prepared.
var errChanged = errors.New("buckets have changed")

// Units returns the table's buckets with rows in a snapshot, ordered by start. Each row of the snapshot
// is in one bucket. last is the id of the newest unit, which may have been dropped since; 0 if there
// never was a unit. The errors are as for Columns. O(buckets and granules in memory).
func (t *Table) Units(snap *Snapshot) (units []Unit, last uint64, err error) {
	r, err := snap.peek(t)
	if err != nil || r.State == nil {
		return nil, 0, err
	}
	return r.State.Units(), r.State.LastUnit, nil
}

// Seal makes a unit of each bucket with rows that ends at or before the time before, in Unix nanoseconds,
// and returns these units ordered by id. A bucket ends with its time range, or where the next bucket
// begins if it was cut (Options.BucketRows). A unit takes no more rows: later commits of its times go to
// a new bucket of the range, which becomes its own unit when it is sealed. So each row is in at most one
// unit, and a unit keeps the same rows, whatever is compacted, written into files or opened again.
//
// Ids rise from 1 on and are never used twice. They are as durable as commits (Options.Sync). A crash can
// lose a unit that is not durable, and its id can then be given to another unit. Copy a unit elsewhere
// only after Store.Sync.
//
// Retention, DropBefore and budgets drop units like other rows, and Stats.LostUnitRows counts the rows.
// No time range ends after the greatest int64. The errors are ctx's error, ErrTable for a table without
// time ranges, ErrClosed, ErrReadOnly and errors from the disk (Tx.Commit). After ErrNotDurable the units
// are returned all the same. O(buckets and granules in memory); it reads and moves no row.
func (t *Table) Seal(ctx context.Context, before int64) ([]Unit, error) {
	change, next, _, err := t.changeUnits(ctx, func(state *catalog.TableState) catalog.UnitsChange { return state.PlanSeal(before) })
	return next.Sealed(change), err
}

// Drop drops units in a commit and returns its id, or 0 if no unit of ids exists. Earlier snapshots keep
// the rows. With a directory, the files are removed when the next files are written. Later rows of the
// units' times go to new buckets. Dictionaries stay until DropBefore drops all their time ranges. It
// reads no row: the cost is proportional to the dropped granules. The errors are as for Seal.
func (t *Table) Drop(ctx context.Context, ids []uint64) (txn.ID, error) {
	_, _, id, err := t.changeUnits(ctx, func(state *catalog.TableState) catalog.UnitsChange { return state.PlanDrop(ids) })
	return id, err
}

// changeUnits commits the change that plan returns for the current state, and returns it with the next
// state. The next state is nil if nothing changes.
func (t *Table) changeUnits(ctx context.Context, plan func(*catalog.TableState) catalog.UnitsChange) (change catalog.UnitsChange, next *catalog.TableState, id txn.ID, err error) {
	if t.schema.BucketWidth() == 0 {
		return change, nil, 0, fmt.Errorf("%w: table %q has no time ranges", ErrTable, t.name)
	}
	for {
		if err := cmp.Or(ctx.Err(), t.store.writable()); err != nil {
			return change, nil, 0, err
		}
		if change = plan(t.state()); change.IsEmpty() {
			return change, nil, 0, nil
		}
		if next, id, err = t.commitUnits(change, plan); !errors.Is(err, errChanged) {
			return change, next, id, err
		}
	}
}

// commitUnits commits change, unless plan returns another change by now. Then the error is errChanged.
func (t *Table) commitUnits(change catalog.UnitsChange, plan func(*catalog.TableState) catalog.UnitsChange) (after *catalog.TableState, id txn.ID, err error) {
	s := t.store
	var log disk.Prepared
	if s.log != nil {
		if log, err = s.prepare(entries.EntryUnits, entries.UnitsEntry(t.ordinal, change), len(change.Drop) > 0); err != nil {
			return nil, 0, err
		}
	}
	defer log.Done()
	s.opts.Yield("units/prepared")
	id, err = t.commitEdit(log, func(edit *catalog.TableEdit, _ txn.ID, current *catalog.TableState) error {
		if !plan(current).Equal(change) {
			return errChanged
		}
		edit.ChangeUnits(change)
		after = edit.State
		return nil
	})
	return after, id, err
}

// reroute moves the transaction's pieces whose buckets are sealed by now to the buckets that take their
// rows. The error is ErrMemory.
func (tx *Tx) reroute() error {
	for i := range tx.pieces {
		p := &tx.pieces[i]
		if more := p.table.state().Reroute(&p.Placement); more > 0 {
			if err := tx.store.memory.reserve(more, incoming{table: p.table, start: p.table.schema.BucketStart(p.Bucket)}); err != nil {
				return err
			}
			tx.bytes += more
		}
	}
	tx.store.roots.Start(&tx.ticket)
	return nil
}
