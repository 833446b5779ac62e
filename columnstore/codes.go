package columnstore

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Codes is the dictionaries of a table for the rows of some time. Who inserts the
// same series and lists again and again gets their codes once, keeps them, and
// inserts those: that takes a fifth of the time of lists of UUIDs.
//
// A code is good for the Codes that gave it, and for no others. What is interned
// counts in the memory budget, whether rows with it are ever inserted or not, until
// the time that the Codes are for is dropped. All methods are safe for concurrent use.
type Codes struct {
	table *Table
	gen   *generation
}

// Codes returns the dictionaries for rows of a time in Unix nanoseconds, which in a
// table without time buckets is ignored. Range says which other rows they are for.
// The error is ErrTooOld, ErrFuture, or ErrClosed.
func (t *Table) Codes(at int64) (*Codes, error) {
	if t.store.closed.Load() {
		return nil, ErrClosed
	}
	if t.schema.BucketColumn() >= 0 && at > t.store.latestTime() {
		return nil, fmt.Errorf("table %q: %w: %s, the clock is at %s", t.name, ErrFuture, timeText(at), timeText(t.store.opts.Now().UnixNano()))
	}
	start := t.schema.BucketStart(at)
	if floor := t.floor(); start < floor {
		return nil, fmt.Errorf("table %q: %w", t.name, tooOld(start, floor))
	}
	return &Codes{table: t, gen: t.generation(start)}, nil
}

// Range returns the times that the codes are for, both ends inclusive.
func (c *Codes) Range() (from, to int64) {
	width := c.table.schema.BucketWidth()
	if width == 0 {
		return math.MinInt64, math.MaxInt64
	}
	buckets := c.table.store.opts.generationBuckets(width)
	from, to = math.MinInt64, math.MaxInt64
	if n := c.gen.number; n >= math.MinInt64/width/buckets {
		from = n * buckets * width
	}
	if next := c.gen.number + 1; next <= math.MaxInt64/width/buckets {
		to = next*buckets*width - 1
	}
	return from, to
}

// Series returns the code of the series that has these values in the columns that
// lead the sorting key: concrete names to values, those that are missing null.
// The errors are those of Table.Insert.
func (c *Codes) Series(labels map[string]string) (uint32, error) {
	b := schema.Batch{Rows: 1, Columns: make(map[string]encoding.Vector, len(labels))}
	for name, value := range labels {
		b.Columns[name] = encoding.Strings(value)
	}
	columns, err := c.table.schema.CheckSeries(&b)
	if err != nil {
		return 0, fmt.Errorf("table %q: %w", c.table.name, err)
	}
	need := func(lookUp bool) int {
		return granule.Need(c.table.schema, c.gen.Generation, lookUp, &b, columns, nil, 0)
	}
	var code uint32
	err = c.intern(need, func() (err error) {
		code, err = granule.InternSeries(c.table.schema, c.gen.Generation, columns)
		return err
	})
	return code, err
}

// Elements appends to dst the codes of elements of lists, for profiles of locations.
// records is nil, or has one for each: what to keep beside an element that has none.
// The errors are ErrLimit, ErrMemory and ErrTooOld, and then dst is as it was.
func (c *Codes) Elements(dst []uint32, ids []uuid.UUID, records [][]byte) ([]uint32, error) {
	if records != nil && len(records) != len(ids) {
		return dst, fmt.Errorf("%w: %d records for %d elements", ErrBatch, len(records), len(ids))
	}
	bytes := 0
	for i, r := range records {
		if len(r) > schema.MaxRecord {
			return dst, fmt.Errorf("%w: record of %v: %d bytes, at most %d", ErrLimit, ids[i], len(r), schema.MaxRecord)
		}
		bytes += len(r)
	}
	need := func(lookUp bool) int {
		if !lookUp {
			return c.gen.Lists.Need(encoding.Growth{Elements: len(ids), Records: len(records), Bytes: bytes})
		}
		return c.gen.Lists.Need(c.gen.Lists.New(ids, records))
	}
	return c.appendTo(dst, need, func() ([]uint32, error) { return c.gen.Lists.InternElements(dst, ids, records) })
}

// Lists appends to dst the codes of lists of elements, each given as the elements'
// codes. About 100 ns for a list of 20 that is known. The errors are ErrBatch for a
// code that no element has, ErrLimit and ErrMemory, and then dst is as it was.
func (c *Codes) Lists(dst []uint32, lists [][]uint32) ([]uint32, error) {
	members, longest := 0, 0
	for i, list := range lists {
		if len(list) > schema.MaxList {
			return dst, fmt.Errorf("%w: list %d of %d, at most %d", ErrLimit, i, len(list), schema.MaxList)
		}
		if len(list) > 0 && (slices.Min(list) == 0 || int(slices.Max(list)) > c.gen.Lists.Elements()) {
			return dst, fmt.Errorf("%w: list %d: no element has the code 0, or %d", ErrBatch, i, slices.Max(list))
		}
		members, longest = members+len(list), max(longest, len(list))
	}
	need := func(lookUp bool) int {
		if lookUp {
			return c.gen.Lists.Need(c.gen.Lists.NewLists(lists))
		}
		return c.gen.Lists.Need(encoding.Growth{Lists: len(lists), Members: members, Longest: longest})
	}
	return c.appendTo(dst, need, func() ([]uint32, error) { return c.gen.Lists.InternCodes(dst, lists) })
}

// UUIDLists appends to dst the codes of lists, each given as its elements. About 60 ns
// for a list of 20 that is known. The errors are ErrLimit, ErrMemory and ErrTooOld, and then dst
// is as it was.
func (c *Codes) UUIDLists(dst []uint32, lists [][]uuid.UUID) ([]uint32, error) {
	b := schema.Batch{Rows: len(lists)}
	columns, err := c.table.schema.CheckLists(lists)
	if err != nil {
		return dst, fmt.Errorf("table %q: %w", c.table.name, err)
	}
	need := func(lookUp bool) int {
		return granule.Need(c.table.schema, c.gen.Generation, lookUp, &b, columns, nil, 0)
	}
	return c.appendTo(dst, need, func() ([]uint32, error) { return c.gen.Lists.InternLists(dst, lists) })
}

// appendTo is intern for what appends codes to dst, which is as it was after an error.
func (c *Codes) appendTo(dst []uint32, need func(lookUp bool) int, add func() ([]uint32, error)) ([]uint32, error) {
	out := dst
	err := c.intern(need, func() (err error) {
		out, err = add()
		return err
	})
	if err != nil {
		return dst, err
	}
	return out, nil
}

// intern adds to the dictionaries within the memory budget.
func (c *Codes) intern(need func(lookUp bool) int, add func() error) error {
	s := c.table.store
	if s.closed.Load() {
		return ErrClosed
	}
	if !c.table.keeps(c.gen) { // nobody would count what is added
		from, _ := c.Range()
		return fmt.Errorf("table %q: %w", c.table.name, tooOld(from, c.table.floor()))
	}
	bytes, err := s.reserveNeed(need, incoming{c.table, c.lastBucket()})
	if err != nil {
		return fmt.Errorf("table %q: %w", c.table.name, err)
	}
	defer s.release(bytes)
	defer c.table.count(c.gen)
	return add()
}

// lastBucket returns the start of a bucket that the codes are for.
func (c *Codes) lastBucket() int64 {
	_, to := c.Range()
	return c.table.schema.BucketStart(to)
}

// check says whether rows of a bucket can be inserted with the codes.
func (c *Codes) check(t *Table, buckets []bucketRows) error {
	if c.table != t {
		return fmt.Errorf("%w: codes of table %q", ErrBatch, c.table.name)
	}
	for _, b := range buckets {
		if from, to := c.Range(); t.generationOf(b.start) != c.gen.number {
			return fmt.Errorf("%w: codes are for times from %s to %s, a row is of %s", ErrBatch, timeText(from), timeText(to), timeText(b.start))
		}
		if floor := t.floor(); b.start < floor || !t.keeps(c.gen) {
			return tooOld(b.start, floor)
		}
	}
	return nil
}

// checkCodes says whether the codes of a batch are ones that the dictionaries gave;
// a batch that is inserted without dictionaries (nil) must not have any.
func checkCodes(b *schema.Batch, columns []schema.Concrete, gen *generation) error {
	var series, lists uint32
	if gen != nil {
		series, lists = uint32(gen.Series.Len()), uint32(gen.Lists.Len())
	}
	if b.Series > series {
		return fmt.Errorf("%w: series %d of %d", ErrBatch, b.Series, series)
	}
	for i := range columns {
		codes := columns[i].Values.Codes
		if gen == nil && codes != nil {
			return fmt.Errorf("%w: column %q has codes: use Codes.Insert", ErrBatch, columns[i].Name)
		}
		for row, code := range codes {
			if code > lists && !columns[i].Values.Null(row) {
				return fmt.Errorf("%w: column %q row %d: list %d of %d", ErrBatch, columns[i].Name, row, code, lists)
			}
		}
	}
	return nil
}

// Insert is Table.Insert for a batch with codes: Batch.Series in place of the columns
// that lead the sorting key, and Vector.Codes in place of lists, without Batch.Records,
// which are for lists; either may be left out. The errors are those of Table.Insert; ErrBatch too for codes that these are
// not, and for rows of another time.
func (c *Codes) Insert(ctx context.Context, b schema.Batch) (txn.ID, error) {
	return c.table.insert(ctx, c, b)
}

// InsertCodes is Insert for a batch with codes; see Codes.Insert.
func (tx *Tx) InsertCodes(ctx context.Context, c *Codes, b schema.Batch) error {
	return tx.insert(ctx, c.table, c, b)
}
