package columnstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Insert builds a batch's parts. They are invisible before Commit. After an error the transaction is
// unchanged and can continue. The batch is the caller's again when Insert returns. The errors are as for
// Table.Insert, and ErrTxDone.
func (tx *Tx) Insert(ctx context.Context, t *Table, b schema.Batch) error {
	return tx.insert(ctx, t, nil, b)
}

// InsertCodes is Insert for a batch with codes. See Codes.Insert.
func (tx *Tx) InsertCodes(ctx context.Context, c *Codes, b schema.Batch) error {
	return tx.insert(ctx, c.table, c, b)
}

// insert adds the parts of a batch to the transaction. codes is nil for a batch of values.
func (tx *Tx) insert(ctx context.Context, t *Table, codes *Codes, b schema.Batch) error {
	switch {
	case tx.ticket.Done():
		return ErrTxDone
	case t.store != tx.store:
		return fmt.Errorf("%w: transaction and table %q are of different stores", ErrTable, t.name)
	}
	if err := tx.store.writable(); err != nil {
		return err
	}
	in := insertions.Get().(*insertion)
	defer in.done()
	in.table, in.batch = t, b // here, so that the batch does not escape to the heap
	err := in.check(codes)
	if err == nil && len(in.buckets) > 0 {
		if err = in.resolve(tx, codes); err == nil {
			err = tx.add(ctx, in)
		}
	}
	if err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	return nil
}

// add builds the parts of an insertion and reserves their bytes.
func (tx *Tx) add(ctx context.Context, in *insertion) error {
	bytes, err := in.reserve()
	if err != nil {
		return err
	}
	if tx.pieces == nil {
		tx.pieces = tx.one[:0]
	}
	before := len(tx.pieces)
	tx.pieces, err = in.build(ctx, tx.pieces)
	tx.store.memory.release(bytes)
	// The parts can exceed the estimate if the rows meet many granules.
	size := int64(catalog.BucketSize) // the commit may begin a bucket
	for i := range tx.pieces[before:] {
		size += tx.pieces[before+i].Size()
	}
	if err == nil {
		err = tx.store.memory.reserve(size, in.incoming())
	}
	if err != nil {
		clear(tx.pieces[before:])
		tx.pieces = tx.pieces[:before]
		return err
	}
	tx.bytes += size
	tx.store.opts.Yield("insert/built")
	return nil
}

// insertAlone uses tx for the transaction of one batch: it inserts, commits, and clears tx.
func (tx *Tx) insertAlone(ctx context.Context, t *Table, codes *Codes, b schema.Batch) (txn.ID, error) {
	tx.store = t.store
	t.store.roots.Start(&tx.ticket)
	err := tx.insert(ctx, t, codes, b)
	var id txn.ID
	if err == nil {
		id, err = tx.Commit()
	} else {
		tx.Abort()
	}
	*tx = Tx{}
	return id, err
}

// ownTxs pools transactions of single inserts.
//
// The caller never sees such a transaction, and nothing refers to it, or into it, when its
// insert returns. The publisher keeps no list of transactions and does not keep the callback
// of Commit. The published state consists of the parts, of the series and names beside them,
// which are separate allocations, and of an edit, which copies pieces. The queue copies the
// names of due granules. Errors hold text. A history writer would outlive the call, but nobody
// can have asked for one. TestInsert_LeavesNoTransaction checks this with the garbage
// collector.
var ownTxs = sync.Pool{New: func() any { return new(Tx) }}
