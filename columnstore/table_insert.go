package columnstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Insert adds the rows in one batch in their own transaction and returns its commit id. Every snapshot
// taken after it returns has the rows (C4). After an error nothing was inserted (C5). Errors wrap
// ErrBatch, ErrLimit, ErrFuture, ErrPast, ErrTooOld, ErrMemory, ErrClosed or ctx's error; of a directory,
// also errors of Tx.Commit and of reading files. With a memory budget, older rows may have been evicted
// to make room. The batch is the caller's again when Insert returns.
//
// A good batch is one profile to a few thousand rows. Each batch becomes at least one part.
func (t *Table) Insert(ctx context.Context, b schema.Batch) (txn.ID, error) {
	return t.insert(ctx, nil, b)
}

// insert inserts a batch in its own transaction. codes is nil for a batch of values.
func (t *Table) insert(ctx context.Context, codes *Codes, b schema.Batch) (txn.ID, error) {
	tx := ownTxs.Get().(*Tx)
	id, err := tx.insertAlone(ctx, t, codes, b)
	ownTxs.Put(tx) // not after a panic, which can leave it in any state
	return id, err
}

// Insert is Table.Insert for a batch with codes: Batch.Series replaces the columns that lead the sorting
// key, and Vector.Codes replaces lists. Either may be omitted. Batch.Records belongs to lists and not to
// their codes. The errors are as for Table.Insert. ErrBatch is also returned for codes that these Codes
// did not give, and for rows outside Range.
func (c *Codes) Insert(ctx context.Context, b schema.Batch) (txn.ID, error) {
	return c.table.insert(ctx, c, b)
}

// InsertRecord is Insert for an Arrow record. The record is checked completely and copied; the
// caller still owns it. Errors also wrap arrowconv.ErrRecord.
func (t *Table) InsertRecord(ctx context.Context, rec arrow.Record) (txn.ID, error) {
	m := importers.Get().(*arrowconv.Importer)
	defer importers.Put(m)
	b, err := m.Batch(t.schema, rec)
	if err != nil {
		return 0, err
	}
	return t.Insert(ctx, b)
}

// importers pools the memory of converted records, because a batch is of no use after its insert.
var importers = sync.Pool{New: func() any { return new(arrowconv.Importer) }}

// Codes returns the dictionaries for rows of the time at, in Unix nanoseconds. A table without time
// buckets ignores at. Codes.Range returns the times that share the dictionaries. The errors are
// ErrTooOld, ErrFuture, ErrPast and ErrClosed.
func (t *Table) Codes(at int64) (*Codes, error) {
	if err := t.store.writable(); err != nil {
		return nil, err
	}
	if t.schema.BucketColumn() >= 0 {
		limits := t.store.timeLimits()
		if err := limits.Check(at, ""); err != nil {
			return nil, fmt.Errorf("table %q: %w", t.name, err)
		}
	}
	start := t.schema.BucketStart(at)
	if floor := t.floor(); start < floor {
		return nil, fmt.Errorf("table %q: %w", t.name, tooOld(start, floor))
	}
	g, _, err := t.generations.Acquire(t.generationOf(start))
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", t.name, err)
	}
	c := &Codes{table: t, number: g.Number}
	c.gen.Store(g)
	return c, nil
}
