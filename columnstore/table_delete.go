package columnstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/entries"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/txn"
)

// DeleteRows deletes the rows that were committed before the call and for which where holds, and returns their
// number. Later rows may be deleted with them. Snapshots taken after it returns lack them; earlier ones keep them.
// Each time bucket loses its rows at once, in a commit of its own. After an error other buckets have lost theirs, and
// another call goes on. A bucket whose file is damaged is left as it is, and its error returned.
//
// With a directory it then writes files without the rows, and returns when they are durable, because a crash before
// can bring rows back. The old files are removed with it, or with a commit after the last snapshot that needs them is
// closed. The dictionaries, with the stacks and the values of labels, stay until DropBefore drops all their time
// ranges. Units keep their ids, with fewer rows.
//
// It reads the buckets that can have such rows and writes each that has some again, at 100 to 200 ns a row. Until
// files have them, memory holds the rows that stay of a bucket, and an eighth of Options.MemoryBudget, or 64 MiB. The
// errors are ErrQuery, ErrClosed, ErrReadOnly, ErrMemory, ctx's error, errors of reading cold rows, and of a directory
// those of Tx.Commit.
func (t *Table) DeleteRows(ctx context.Context, where Expr) (rows int64, err error) {
	s := t.store
	if err := cmp.Or(ctx.Err(), s.writable()); err != nil {
		return 0, err
	}
	starts, err := t.deletable(ctx, where)
	if err != nil {
		return 0, err
	}
	unfiled := int64(0) // bytes of the buckets that no file has as they are now
	for _, start := range starts {
		n, bytes, failed := t.deleteFrom(ctx, where, start)
		if errors.Is(failed, ErrMemory) && s.flusher.erased.Load() > 0 { // files make room
			if failed = s.flusher.fileDeletions(ctx); failed == nil {
				unfiled = 0
				n, bytes, failed = t.deleteFrom(ctx, where, start)
			}
		}
		if rows, unfiled = rows+n, unfiled+bytes; failed == nil && unfiled > s.mostUnfiled() {
			failed, unfiled = s.flusher.fileDeletions(ctx), 0
		}
		if failed == nil {
			continue
		}
		err = errors.Join(err, fmt.Errorf("table %q: delete from %s on: %w", t.name, catalog.TimeText(start), failed))
		if _, damaged := errors.AsType[*disk.DamagedError](failed); !damaged { // the other buckets lose their rows all the same
			break
		}
	}
	return rows, errors.Join(err, s.flusher.fileDeletions(ctx))
}

// mostUnfiled is the bytes of rewritten buckets after which files are written, because until then they cannot leave memory.
func (s *Store) mostUnfiled() int64 {
	if budget := s.memory.budget.Load(); budget > 0 {
		return budget / 8
	}
	return 64 << 20
}

// fileDeletions writes files if there were deletions since the last ones. After an error the flusher goes on.
func (fl *flusher) fileDeletions(ctx context.Context) error {
	if fl.store.log == nil || fl.erased.Load() == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		fl.look(false)
		return err
	}
	if !fl.lock() {
		return ErrClosed
	}
	defer fl.flushing.Unlock()
	if fl.erased.Load() == 0 { // another run wrote them
		return nil
	}
	err := fl.flushWhole(ctx)
	fl.unclean.Store(fl.unclean.Load() || fl.obsolete.Any())
	if err != nil {
		fl.look(false)
	}
	return err
}

// deletable returns the starts of the buckets that can have rows for which where holds.
func (t *Table) deletable(ctx context.Context, where Expr) (starts []int64, err error) {
	err = t.choosing(ctx, where, func(_ *filter.Read, c *filter.Chooser) error {
		for _, b := range c.Buckets() {
			starts = append(starts, b.Start)
		}
		return nil
	})
	return starts, err
}

// choosing calls f with a read of the current root, and its chooser.
func (t *Table) choosing(ctx context.Context, where Expr, f func(*filter.Read, *filter.Chooser) error) error {
	return t.store.View(ctx, func(snap *Snapshot) error {
		r, err := snap.read(t)
		if err != nil {
			return err
		}
		defer r.Use.Done()
		c, err := filter.NewChooser(ctx, &r, where, true)
		if err != nil {
			return err
		}
		defer c.Done()
		return f(&r, c)
	})
}

// mostDeletions bounds the tries to delete from a bucket that is rewritten meanwhile, again and again.
const mostDeletions = 100

// deleteFrom deletes rows from the bucket that begins at start, in a commit. It returns also the bytes of what stays.
func (t *Table) deleteFrom(ctx context.Context, where Expr, start int64) (rows, bytes int64, err error) {
	for try := range mostDeletions {
		d := deletion{table: t}
		err = t.choosing(ctx, where, func(r *filter.Read, c *filter.Chooser) error { return d.prepare(ctx, r, c, start) })
		if err == nil && d.rows > 0 {
			rows, err = d.commit()
		}
		d.done()
		if !errors.Is(err, errChanged) && !errors.Is(err, ErrSnapshotExpired) {
			return rows, d.bytes, err
		}
		if !t.store.opts.simulated {
			select {
			case <-ctx.Done():
				return 0, 0, ctx.Err()
			case <-time.After(time.Duration(try) * time.Millisecond):
			}
		}
	}
	return 0, 0, fmt.Errorf("it was rewritten in each of %d tries: %w", mostDeletions, err)
}

// deletion is the deletion of rows from one bucket.
type deletion struct {
	table *Table
	what  catalog.Deletion
	rows  int64  // rows to delete
	bytes int64  // reserved
	unpin func() // of the dictionaries of a cold bucket, unless nil
}

// done gives back what the deletion has reserved.
func (d *deletion) done() {
	if d.unpin != nil {
		d.unpin()
	}
	d.table.store.memory.release(d.bytes)
}

// prepare finds the rows and builds what is left without them.
func (d *deletion) prepare(ctx context.Context, r *filter.Read, c *filter.Chooser, start int64) error {
	key, _ := d.table.schema.BucketBounds(start)
	b, ok := r.State.Buckets.Get(key)
	if !ok {
		return nil
	}
	if some, err := hasChosen(ctx, r, c, b); err != nil || !some {
		return err
	}
	d.what.Start = start
	for _, g := range r.State.HotGranules(b) {
		stays, deleted, err := d.without(ctx, r, c, g)
		if err != nil {
			return err
		}
		if deleted == 0 {
			continue
		}
		children, err := d.rewrite(stays)
		if err != nil {
			return err
		}
		d.rows += deleted
		d.what.Granules = append(d.what.Granules, catalog.Rewritten{Old: g, Children: children})
	}
	if b.Cold == nil {
		return nil
	}
	return d.prepareCold(ctx, r, c, b)
}

// hasChosen reports whether a bucket has rows to delete.
func hasChosen(ctx context.Context, r *filter.Read, c *filter.Chooser, b *catalog.BucketState) (some bool, err error) {
	for g, err := range c.Of(b) {
		if err := cmp.Or(err, ctx.Err(), r.Use.Err()); err != nil {
			return false, err
		}
		for _, section := range c.Parts(g) {
			if c.Choose(section).Rows > 0 {
				return true, nil
			}
		}
	}
	return false, ctx.Err()
}

// prepareCold is prepare for the rows in the file of a bucket. It builds parts of all rows that stay, because parts that
// are read from a file keep its bytes alive.
func (d *deletion) prepareCold(ctx context.Context, r *filter.Read, c *filter.Chooser, b *catalog.BucketState) error {
	t := d.table
	gen, kept, err := t.generations.Pin(b.Cold.Generation)
	if err != nil || !kept {
		return err
	}
	d.unpin = gen.Unpin
	t.generations.Count(gen)
	alone := catalog.NewTableState(t.schema) // without the rows in memory
	for g, err := range t.stored.Granules(alone, b, gen.Generation, catalog.ColdRead{Wide: true}) {
		if err != nil {
			return err
		}
		stays, deleted, err := d.without(ctx, r, c, g)
		if err != nil {
			return err
		}
		children, err := d.rewrite(stays)
		if err != nil {
			return err
		}
		d.rows += deleted
		d.what.Kept = append(d.what.Kept, children...)
	}
	d.what.Cold, d.what.Gen = b.Cold, gen.Generation
	return nil
}

// without returns the rows of a granule that stay, in the parts that they are in, and the number of the others.
func (d *deletion) without(ctx context.Context, r *filter.Read, c *filter.Chooser, g *granule.Granule) (stays *granule.Granule, deleted int64, err error) {
	stays = granule.New(g.Bounds())
	var rows []int32
	for _, section := range c.Parts(g) {
		chosen := c.Choose(section)
		rows = chosen.AppendRows(rows[:0])
		deleted += int64(len(rows))
		addOthers(stays, section, rows)
	}
	return stays, deleted, cmp.Or(ctx.Err(), r.Use.Err())
}

// rewrite merges the rows that stay into granules, and reserves their memory until done.
func (d *deletion) rewrite(stays *granule.Granule) ([]*granule.Granule, error) {
	children, bytes, err := d.table.store.maintainer.merge(d.table, stays, runtime.Gosched)
	d.bytes += bytes
	return children, err
}

// addOthers adds the rows of a section that are not among rows, which ascend. It writes behind rows.
func addOthers(to *granule.Granule, s granule.Section, rows []int32) {
	lo := s.Lo
	for _, row := range append(rows, int32(s.Hi)) {
		if hi := int(row); hi > lo {
			to.Add(granule.Section{Part: s.Part, Lo: lo, Hi: hi})
		}
		lo = int(row) + 1
	}
}

// commit publishes the bucket without the rows. The error is errChanged if it was rewritten meanwhile.
func (d *deletion) commit() (rows int64, err error) {
	t, s := d.table, d.table.store
	var log disk.Prepared
	if s.log != nil { // an entry without writes: files take the id of the commit
		if log, err = s.prepare(entries.EntryCommit, entries.NewCommit(nil, nil), true); err != nil {
			return 0, err
		}
	}
	defer log.Done()
	s.opts.Yield("delete/prepared")
	_, err = t.commitEdit(log, func(edit *catalog.TableEdit, commit txn.ID, _ *catalog.TableState) error {
		var ok bool
		if rows, ok = edit.DeleteRows(d.what, uint64(commit)); !ok {
			return errChanged
		}
		s.flusher.erased.Add(1)
		return nil
	})
	return rows, err
}
