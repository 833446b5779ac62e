package columnstore

import (
	"context"
	"sync"

	"github.com/apache/arrow/go/v14/arrow"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// generationBuckets is how many consecutive buckets share their dictionaries:
// with buckets of 15 minutes, four hours.
const generationBuckets = 16

// Table is a handle on a table. It is safe for concurrent use and lives as
// long as its store.
type Table struct {
	store   *Store
	name    string
	schema  *schema.Schema
	ordinal int
	seed    uint64

	generations struct {
		sync.Mutex
		byNumber map[int64]*granule.Generation
	}
}

// Name returns the table's name.
func (t *Table) Name() string { return t.name }

// Schema returns the table's schema.
func (t *Table) Schema() *schema.Schema { return t.schema }

// Insert adds the rows of one batch in a transaction of their own and returns
// its commit id. When it returns, every new snapshot has the rows (C4). An
// error means that nothing was inserted (C5); it wraps ErrBatch, ErrLimit,
// ErrFuture, ErrTooOld, ErrClosed or the error of ctx.
//
// A batch is best one profile to a few thousand rows: each becomes at least
// one part.
func (t *Table) Insert(ctx context.Context, b schema.Batch) (txn.ID, error) {
	tx := t.store.Begin()
	if err := tx.Insert(ctx, t, b); err != nil {
		tx.Abort()
		return 0, err
	}
	return tx.Commit()
}

// InsertRecord is Insert for an Arrow record. The record is checked whole and
// copied; the caller still owns it. Errors wrap arrowconv.ErrRecord too.
func (t *Table) InsertRecord(ctx context.Context, rec arrow.Record) (txn.ID, error) {
	b, err := arrowconv.Batch(t.schema, rec)
	if err != nil {
		return 0, err
	}
	return t.Insert(ctx, b)
}

// generation returns the dictionaries of a bucket.
func (t *Table) generation(bucket int64) *granule.Generation {
	number := int64(0)
	if width := t.schema.BucketWidth(); width > 0 {
		number = floorDiv(floorDiv(bucket, width), generationBuckets)
	}
	t.generations.Lock()
	defer t.generations.Unlock()
	g := t.generations.byNumber[number]
	if g == nil {
		g = granule.NewGeneration(t.seed)
		t.generations.byNumber[number] = g
	}
	return g
}

// dropGenerations forgets the dictionaries of buckets before floor.
func (t *Table) dropGenerations(floor int64) {
	width := t.schema.BucketWidth()
	if width == 0 {
		return
	}
	first := floorDiv(floorDiv(floor, width), generationBuckets)
	t.generations.Lock()
	defer t.generations.Unlock()
	for number := range t.generations.byNumber {
		if number < first {
			delete(t.generations.byNumber, number)
		}
	}
}

// floorDiv divides and rounds toward minus infinity.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
