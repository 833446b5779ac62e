package columnstore

import (
	"context"
	"slices"
	"sync"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/schema"
)

// insertion is a batch on its way into a transaction's parts. A batch of values uses each bucket's
// dictionaries, a batch of codes its Codes. Insertions are pooled.
type insertion struct {
	table   *Table
	batch   schema.Batch
	columns []schema.Concrete
	order   schema.Order
	buckets []bucketRows // ascending by start
}

// bucketRows is a batch's rows in one time bucket.
type bucketRows struct {
	start int64
	rows  []int32                         // nil: all rows of the batch
	gen   *dictionaries.DurableGeneration // dictionaries for the rows
}

var insertions = sync.Pool{New: func() any { return new(insertion) }}

// done returns the insertion to the pool without references to the caller's data.
func (in *insertion) done() {
	in.table, in.batch = nil, schema.Batch{}
	clear(in.columns[:cap(in.columns)]) // a failed check may leave columns beyond the length
	clear(in.buckets)
	insertions.Put(in)
}

// check checks the batch and groups its rows by bucket. codes is nil for a batch of values.
func (in *insertion) check(codes *Codes) error {
	columns, err := in.table.schema.CheckInto(in.columns[:0], &in.order, &in.batch)
	if err != nil {
		return err
	}
	in.columns = columns
	if in.buckets, err = in.groupByBucket(in.buckets[:0]); err != nil {
		return err
	}
	if codes == nil {
		return in.batch.CheckCodes(columns, false, 0, 0)
	}
	return codes.check(in)
}

// groupByBucket appends the rows in each time bucket to dst, in ascending order of buckets. The errors
// are as for catalog.TableState.GroupRows.
func (in *insertion) groupByBucket(dst []bucketRows) ([]bucketRows, error) {
	if in.batch.Rows == 0 {
		return dst, nil
	}
	var times []int64
	for i := range in.columns {
		if in.columns[i].Column == in.table.schema.BucketColumn() {
			times = in.columns[i].Values.Int64s
		}
	}
	err := in.table.state().GroupRows(times, in.table.store.timeLimits(), func(start int64, rows []int32) {
		dst = append(dst, bucketRows{start: start, rows: rows})
	})
	return dst, err
}

// resolve pins the dictionaries of each bucket until the transaction's end. Dictionaries that are dropped
// meanwhile can still be used: the commit refuses the rows. The errors come from the disk.
func (in *insertion) resolve(tx *Tx, codes *Codes) (err error) {
	if tx.pins == nil {
		tx.pins = tx.onePin[:0]
	}
	for i := range in.buckets {
		b := &in.buckets[i]
		if codes != nil {
			b.gen, err = codes.pin()
		} else {
			b.gen, _, err = in.table.generations.Pin(in.table.generationOf(b.start))
		}
		if err != nil {
			return err
		}
		if n := len(tx.pins); n > 0 && tx.pins[n-1] == b.gen {
			b.gen.Unpin()
			continue
		}
		tx.pins = append(tx.pins, b.gen)
	}
	return nil
}

// reserve reserves an upper bound of the bytes that the insertion allocates.
func (in *insertion) reserve() (int64, error) {
	t := in.table
	if t.store.memory.budget.Load() == 0 {
		return 0, nil
	}
	type share struct {
		rows    []int32
		buckets int
	}
	shares := map[*dictionaries.DurableGeneration]*share{}
	for _, b := range in.buckets {
		if s := shares[b.gen]; s != nil {
			s.rows, s.buckets = append(slices.Clip(s.rows), b.rows...), s.buckets+1
			continue
		}
		shares[b.gen] = &share{b.rows, 1}
	}
	need := func(lookUp bool) (bytes int) {
		for gen, s := range shares {
			bytes += granule.Need(t.schema, gen.Generation, lookUp, &in.batch, in.columns, s.rows, s.buckets)
		}
		return bytes
	}
	return t.store.memory.reserveNeed(need, in.incoming())
}

// incoming returns the newest time range of the rows, for which eviction may make room.
func (in *insertion) incoming() incoming {
	return incoming{table: in.table, start: in.table.schema.BucketStart(in.buckets[len(in.buckets)-1].start)}
}

// build codes the rows and appends their parts to pieces, in ascending order of buckets.
func (in *insertion) build(ctx context.Context, pieces []piece) ([]piece, error) {
	t := in.table
	for i := range in.buckets {
		b := &in.buckets[i]
		if err := ctx.Err(); err != nil {
			return pieces, err
		}
		if floor := t.floor(); b.start < floor { // making room may have raised the floor
			return pieces, tooOld(b.start, floor)
		}
		rows, err := granule.Code(t.schema, b.gen.Generation, b.start, &in.batch, in.columns, b.rows)
		t.generations.Count(b.gen)
		if err != nil {
			return pieces, err
		}
		pieces = in.appendParts(pieces, b, rows)
		rows.Done()
	}
	return pieces, nil
}

// appendParts appends one part for each granule of the current root that overlaps the sorted rows in a
// bucket.
func (in *insertion) appendParts(pieces []piece, b *bucketRows, rows *granule.Rows) []piece {
	t := in.table
	r := catalog.Router{State: t.state(), Bucket: b.start, Batch: &in.batch, Columns: in.columns, Of: b.rows, Rows: rows}
	r.Lo, r.Hi = t.bucketBounds(b.start)
	for r.Begin(); r.More(); {
		pieces = append(pieces, piece{table: t, Placement: r.Next()})
	}
	return pieces
}
