package columnstore

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/files"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Table is a handle on a table. It is safe for concurrent use and lives as long as its store.
type Table struct {
	schema  *schema.Schema
	source  filter.Env
	store   *Store
	name    string
	ordinal int
	asked   atomic.Pointer[bucketBounds] // last result of bucketBounds
	ranges  dictionaries.Ranges          // time ranges of the generations; codes depend on them
	// definition is the definition that schema was made from.
	definition schema.Definition

	stored      *cold.Files
	generations *dictionaries.Generations        // of stored
	files       atomic.Pointer[files.TableFiles] // from the manifest; nil if the manifest lacks the table
	limits      atomic.Pointer[TableLimits]      // nil: none
}

// bucketBounds is the key bounds of the time bucket that begins at start.
type bucketBounds struct {
	start  int64
	lo, hi string
}

// bucketBounds returns the key bounds of a bucket. It keeps the last result, because consecutive inserts
// mostly ask for the same bucket.
func (t *Table) bucketBounds(start int64) (lo, hi string) {
	b := t.asked.Load()
	if b == nil || b.start != start {
		b = &bucketBounds{start: start}
		b.lo, b.hi = t.schema.BucketBounds(start)
		t.asked.Store(b)
	}
	return b.lo, b.hi
}

// state returns the table in the current root.
func (t *Table) state() *catalog.TableState { return t.store.roots.Root().State.Table(t.ordinal) }

// commitEdit commits an edit of the table's current state, which change makes, with an entry of the log. change runs with the
// commit lock. Nothing is committed after its error, which commitEdit returns. Other errors are ErrClosed and that of the log,
// which comes after the commit.
func (t *Table) commitEdit(log disk.Prepared, change func(edit *catalog.TableEdit, commit txn.ID, current *catalog.TableState) error) (id txn.ID, err error) {
	s := t.store
	var ticket txn.Ticket[*catalog.Database]
	var due []dueGranule
	s.roots.Start(&ticket)
	id, err = ticket.Commit(func(commit txn.ID, current *txn.Root[*catalog.Database]) (next txn.Next[*catalog.Database], err error) {
		if s.closed.Load() {
			return next, ErrClosed
		}
		state := current.State.Tables[t.ordinal]
		edit := state.Edit(t.ordinal)
		defer edit.Release()
		if err := change(edit, commit, state); err != nil {
			return next, err
		}
		next.State, due = current.State, s.maintainer.appendDue(nil, t, edit)
		t.finish(edit, current.Version+1, &next)
		log.Append(uint64(ticket.Begin()), uint64(commit))
		return next, nil
	})
	if err != nil {
		return 0, err
	}
	s.opts.Yield("commit/published")
	s.flusher.look(s.memory.isTight())
	s.maintainer.queue.add(due)
	return id, log.Wait()
}

// finish puts an edit into the next root, and the dictionaries that the edit drops into the garbage. The
// caller holds the commit lock.
func (t *Table) finish(e *catalog.TableEdit, version txn.Version, next *txn.Next[*catalog.Database]) {
	if e.Done(version, next) {
		next.Garbage = append(next.Garbage, t.dropGenerations(e.Floor(), version)...)
	}
	for _, file := range e.Files {
		t.store.flusher.obsolete.Rows(version, file)
	}
}

// Name returns the table's name.
func (t *Table) Name() string { return t.name }

// Schema returns the table's schema.
func (t *Table) Schema() *schema.Schema { return t.schema }

// floor returns the start of the first time range that takes rows.
func (t *Table) floor() int64 { return t.state().Floor }

// DropBefore drops the rows in all time ranges that end at or before at, in Unix nanoseconds, and the
// dictionaries that no other range needs. It does so in a commit and returns its id. Rows of these ranges
// are ErrTooOld from then on. Ranges after the newest row are not dropped. Earlier snapshots keep the
// rows. With a directory, the files are removed when the next files are written. It reads no row: the
// cost is proportional to the dropped granules. The errors are ctx's error, ErrTable for a table without
// time ranges, and the errors of Tx.Commit.
func (t *Table) DropBefore(ctx context.Context, at int64) (txn.ID, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if t.schema.BucketWidth() == 0 {
		return 0, fmt.Errorf("%w: table %q has no time ranges", ErrTable, t.name)
	}
	tx := t.store.Begin()
	tx.trimmed, tx.trimmedTo = t, at
	return tx.Commit()
}
