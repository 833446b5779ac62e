package columnstore

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/cold"
	"github.com/granarydb/granary/internal/dictionaries"
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
	asked   atomic.Pointer[bucketBounds] // cache of the last result of bucketBounds
	ranges  dictionaries.Ranges          // of the generations: codes depend on them
	// definition is what schema was made of.
	definition schema.Definition

	stored      *cold.Files
	generations *dictionaries.Generations        // of stored
	files       atomic.Pointer[files.TableFiles] // as of the manifest; nil if it lacks the table
}

// bucketBounds is the key bounds of the time bucket that begins at start.
type bucketBounds struct {
	start  int64
	lo, hi string
}

// bucketBounds returns the key bounds of a bucket. Consecutive inserts mostly ask for the
// same.
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

// finish puts an edit into the next root, and the dictionaries that it drops into the garbage.
// The caller holds the commit lock.
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

// DropBefore drops the rows of the time ranges that end at a time, in Unix nanoseconds, or before it,
// and the dictionaries that no other range needs, in a commit whose id it returns. Rows of these
// ranges are ErrTooOld from then on. Ranges behind the newest row are not among them. Earlier
// snapshots keep the rows. With a directory, their files go with the next that are written. It
// reads no row: the cost is that of the granules that go. The errors are that of ctx, ErrTable for
// a table without time ranges, and those of Tx.Commit.
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
