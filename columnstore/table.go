package columnstore

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v14/arrow"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Table is a handle on a table. It is safe for concurrent use and lives as
// long as its store.
type Table struct {
	store   *Store
	name    string
	schema  *schema.Schema
	ordinal int
	seed    uint64
	asked   atomic.Pointer[bucketBounds] // the bounds that were asked for last

	generations struct {
		sync.Mutex
		byNumber map[int64]*generation
		first    int64 // those before it were dropped
	}
}

// bucketBounds is the bounds of the time bucket that begins at start.
type bucketBounds struct {
	start  int64
	lo, hi string
}

// bucketBounds returns the bounds of a bucket: mostly that of the insert before.
func (t *Table) bucketBounds(start int64) (lo, hi string) {
	b := t.asked.Load()
	if b == nil || b.start != start {
		b = &bucketBounds{start: start}
		b.lo, b.hi = t.schema.BucketBounds(start)
		t.asked.Store(b)
	}
	return b.lo, b.hi
}

// generation is dictionaries in the account of the store.
type generation struct {
	*granule.Generation
	number  int64
	counted int64 // bytes in account.dicts
}

// Name returns the table's name.
func (t *Table) Name() string { return t.name }

// Schema returns the table's schema.
func (t *Table) Schema() *schema.Schema { return t.schema }

// Insert adds the rows of one batch in a transaction of their own and returns
// its commit id. When it returns, every new snapshot has the rows (C4). An
// error means that nothing was inserted (C5); it wraps ErrBatch, ErrLimit,
// ErrFuture, ErrTooOld, ErrMemory, ErrClosed or the error of ctx. With a memory
// budget, older rows may have been evicted to make room.
//
// A batch is best one profile to a few thousand rows: each becomes at least
// one part.
func (t *Table) Insert(ctx context.Context, b schema.Batch) (txn.ID, error) {
	return t.insert(ctx, nil, b)
}

// insert inserts a batch in a transaction of its own, with codes unless there are none.
func (t *Table) insert(ctx context.Context, codes *Codes, b schema.Batch) (txn.ID, error) {
	tx := ownTxs.Get().(*Tx)
	id, err := tx.insertAlone(ctx, t, codes, b)
	ownTxs.Put(tx) // not after a panic: who knows what has it then
	return id, err
}

// ownTxs has cleared transactions for inserts that are one each.
//
// Such a transaction is never the caller's, and nothing refers to it, or into it, when
// its insert returns: the log has no list of transactions, and it calls what Commit
// gives it before it returns; what is published is made of the parts, of the series and
// names beside them, which are allocations of their own, and of an edit, which copies
// pieces; the queue of what is due copies names of granules; errors have text. A history,
// which would outlive the call, nobody can have asked for. TestInsert_LeavesNoTransaction
// has the garbage collector look.
var ownTxs = sync.Pool{New: func() any { return new(Tx) }}

// insertAlone makes tx a transaction that inserts a batch, commits it, and clears it.
func (tx *Tx) insertAlone(ctx context.Context, t *Table, codes *Codes, b schema.Batch) (txn.ID, error) {
	tx.store = t.store
	t.store.log.Start(&tx.tx)
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

// InsertRecord is Insert for an Arrow record. The record is checked whole and
// copied; the caller still owns it. Errors wrap arrowconv.ErrRecord too.
func (t *Table) InsertRecord(ctx context.Context, rec arrow.Record) (txn.ID, error) {
	b, err := arrowconv.Batch(t.schema, rec)
	if err != nil {
		return 0, err
	}
	return t.Insert(ctx, b)
}

// generation returns the dictionaries of a bucket. If they were dropped, it returns
// some that nobody else has: the rows will be refused.
func (t *Table) generation(bucket int64) *generation {
	number := t.generationOf(bucket)
	t.generations.Lock()
	defer t.generations.Unlock()
	g := t.generations.byNumber[number]
	if g == nil {
		g = &generation{Generation: granule.NewGeneration(t.seed), number: number}
		g.Lists.Verify(t.store.opts.VerifyLists)
		if number >= t.generations.first {
			t.generations.byNumber[number] = g
		}
	}
	return g
}

// keeps says whether the table still has a generation.
func (t *Table) keeps(g *generation) bool {
	t.generations.Lock()
	defer t.generations.Unlock()
	return t.generations.byNumber[g.number] == g
}

// generationStart returns the start of the first bucket of a bucket's generation.
func (t *Table) generationStart(bucket int64) int64 {
	width := t.schema.BucketWidth()
	if width == 0 {
		return bucket
	}
	start := t.generationOf(bucket) * t.store.opts.generationBuckets(width) * width
	if start > bucket { // beyond the range of int64
		return bucket
	}
	return start
}

// generationsBefore returns the bytes of the generations that end before a bucket's.
func (t *Table) generationsBefore(bucket int64) (bytes int64) {
	first := t.generationOf(bucket)
	t.generations.Lock()
	defer t.generations.Unlock()
	for number, g := range t.generations.byNumber {
		if number < first {
			bytes += g.counted
		}
	}
	return bytes
}

// generationOf numbers the generations: each is of so many consecutive buckets.
func (t *Table) generationOf(bucket int64) int64 {
	width := t.schema.BucketWidth()
	if width == 0 {
		return 0
	}
	return floorDiv(floorDiv(bucket, width), t.store.opts.generationBuckets(width))
}

// count brings the account of a generation up to date, if the table still has it.
func (t *Table) count(g *generation) {
	t.generations.Lock()
	defer t.generations.Unlock()
	if t.generations.byNumber[g.number] == g {
		size := int64(g.Size())
		t.store.memory.dicts.Add(size - g.counted)
		g.counted = size
	}
}

// seriesColumns returns the series of a generation by column. They are kept for the next
// query if that does not use what would make inserts evict.
func (t *Table) seriesColumns(gen *granule.Generation) *granule.SeriesColumns {
	columns, kept := gen.SeriesColumns(t.schema, func(bytes int) bool {
		return t.store.memory.budget == 0 || t.store.used()+int64(bytes) <= t.store.share(evictAt)
	})
	if !kept {
		return columns
	}
	t.generations.Lock()
	var owner *generation // none if it was dropped
	for _, g := range t.generations.byNumber {
		if g.Generation == gen {
			owner = g
		}
	}
	t.generations.Unlock()
	if owner != nil {
		t.count(owner)
	}
	return columns
}

// dropGenerations forgets the dictionaries of buckets before floor, and returns
// them for the account of what snapshots hold.
func (t *Table) dropGenerations(floor int64) []txn.Garbage {
	var garbage []txn.Garbage
	first := t.generationOf(floor)
	t.generations.Lock()
	defer t.generations.Unlock()
	t.generations.first = first
	for number, g := range t.generations.byNumber {
		if number >= first {
			continue
		}
		delete(t.generations.byNumber, number)
		t.store.memory.dicts.Add(-g.counted)
		if g.Since() > 0 { // else no root ever had a part of it
			garbage = append(garbage, txn.Garbage{Since: txn.Version(g.Since()), Bytes: int64(g.Size())})
		}
	}
	return garbage
}

// floorDiv divides and rounds toward minus infinity.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
