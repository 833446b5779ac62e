package columnstore

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/dictionaries"
	"github.com/granarydb/granary/schema"
)

// Codes is a table's dictionaries for one time range. A program that inserts the same series and lists
// repeatedly gets their codes once, keeps them, and inserts the codes. That takes a fifth of the time of
// inserting lists of UUIDs.
//
// A code is valid only with the Codes that returned it. Interned values count in the memory budget,
// whether or not rows use them, until the time range is dropped. All methods are safe for concurrent use.
type Codes struct {
	table  *Table
	number int64 // of the generation
	gen    atomic.Pointer[dictionaries.DurableGeneration]
}

// pin returns the dictionaries, which stay in memory until unpin. Unloaded dictionaries are read again,
// with the same codes. Dropped dictionaries are returned as they were. The errors come from the disk.
func (c *Codes) pin() (*dictionaries.DurableGeneration, error) {
	g, kept, err := c.table.generations.Pin(c.number)
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", c.table.name, err)
	}
	before := c.gen.Load()
	switch {
	case !kept:
		g.Unpin()
		c.table.generations.PinDropped(before)
		return before, nil
	case g != before:
		c.gen.Store(g)
	}
	return g, nil
}

// Range returns the first and the last time for which the codes are valid.
func (c *Codes) Range() (from, to int64) { return c.table.ranges.Times(c.number) }

// Series returns the code of a series. labels maps concrete names of the columns that lead the sorting
// key to values; a missing column is null. The errors are as for Table.Insert.
func (c *Codes) Series(labels map[string]string) (uint32, error) {
	b := schema.Batch{Rows: 1, Columns: make(map[string]encoding.Vector, len(labels))}
	for name, value := range labels {
		b.Columns[name] = encoding.Strings(value)
	}
	columns, err := c.table.schema.CheckSeries(&b)
	if err != nil {
		return 0, fmt.Errorf("table %q: %w", c.table.name, err)
	}
	need := func(g *dictionaries.DurableGeneration, lookUp bool) int {
		return granule.Need(c.table.schema, g.Generation, lookUp, &b, columns, nil, 0)
	}
	var code uint32
	err = c.intern(need, func(g *dictionaries.DurableGeneration) (err error) {
		code, err = granule.InternSeries(c.table.schema, g.Generation, columns)
		return err
	})
	return code, err
}

// Elements appends to dst the codes of list elements: for profiles, locations. records is nil, or has a
// record for each element. A record is stored if the element has none yet. The errors are ErrBatch,
// ErrLimit, ErrMemory, ErrTooOld and ErrClosed. After an error dst is unchanged.
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
	need := func(g *dictionaries.DurableGeneration, lookUp bool) int {
		if !lookUp {
			growth := dict.Growth{Elements: len(ids)}
			growth.AddRecords(len(records), bytes)
			return g.Lists.Need(growth)
		}
		return g.Lists.Need(g.Lists.ElementGrowth(ids, records))
	}
	return c.appendTo(dst, need, func(g *dictionaries.DurableGeneration) ([]uint32, error) {
		return g.Lists.InternElements(dst, ids, records)
	})
}

// Lists appends to dst each list's code. A list is given as the codes of its elements. A known list of 20
// elements costs about 100 ns. The errors are ErrBatch for a code without an element, ErrLimit,
// ErrMemory, ErrTooOld and ErrClosed. After an error dst is unchanged.
func (c *Codes) Lists(dst []uint32, lists [][]uint32) ([]uint32, error) {
	members, longest := 0, 0
	for i, list := range lists {
		if len(list) > schema.MaxList {
			return dst, fmt.Errorf("%w: list %d of %d, at most %d", ErrLimit, i, len(list), schema.MaxList)
		}
		if len(list) > 0 && (slices.Min(list) == 0 || int(slices.Max(list)) > c.gen.Load().Lists.Elements()) {
			return dst, fmt.Errorf("%w: list %d: no element has the code 0, or %d", ErrBatch, i, slices.Max(list))
		}
		members, longest = members+len(list), max(longest, len(list))
	}
	need := func(g *dictionaries.DurableGeneration, lookUp bool) int {
		if lookUp {
			return g.Lists.Need(g.Lists.ListGrowth(lists))
		}
		return g.Lists.Need(dict.Growth{Lists: len(lists), Members: members, Longest: longest})
	}
	return c.appendTo(dst, need, func(g *dictionaries.DurableGeneration) ([]uint32, error) { return g.Lists.InternCodes(dst, lists) })
}

// UUIDLists appends to dst each list's code. A known list of 20 elements costs about 60 ns. The errors
// are ErrLimit, ErrMemory, ErrTooOld and ErrClosed. After an error dst is unchanged.
func (c *Codes) UUIDLists(dst []uint32, lists [][]uuid.UUID) ([]uint32, error) {
	b := schema.Batch{Rows: len(lists)}
	columns, err := c.table.schema.CheckLists(lists)
	if err != nil {
		return dst, fmt.Errorf("table %q: %w", c.table.name, err)
	}
	need := func(g *dictionaries.DurableGeneration, lookUp bool) int {
		return granule.Need(c.table.schema, g.Generation, lookUp, &b, columns, nil, 0)
	}
	return c.appendTo(dst, need, func(g *dictionaries.DurableGeneration) ([]uint32, error) { return g.Lists.InternLists(dst, lists) })
}

// appendTo is intern for a function add that appends codes to dst. After an error dst is unchanged.
func (c *Codes) appendTo(dst []uint32, need func(g *dictionaries.DurableGeneration, lookUp bool) int, add func(*dictionaries.DurableGeneration) ([]uint32, error)) ([]uint32, error) {
	out := dst
	err := c.intern(need, func(g *dictionaries.DurableGeneration) (err error) {
		out, err = add(g)
		return err
	})
	if err != nil {
		return dst, err
	}
	return out, nil
}

// intern adds to the dictionaries within the memory budget. need is as in account.reserveNeed.
func (c *Codes) intern(need func(g *dictionaries.DurableGeneration, lookUp bool) int, add func(*dictionaries.DurableGeneration) error) error {
	s := c.table.store
	if err := s.writable(); err != nil {
		return err
	}
	g, err := c.pin()
	if err != nil {
		return err
	}
	defer g.Unpin()
	if c.table.generations.Find(g.Number) != g { // additions to a dropped generation would not be counted
		from, _ := c.Range()
		return fmt.Errorf("table %q: %w", c.table.name, tooOld(from, c.table.floor()))
	}
	bytes, err := s.memory.reserveNeed(func(lookUp bool) int { return need(g, lookUp) }, incoming{table: c.table, start: c.lastBucket()})
	if err != nil {
		return fmt.Errorf("table %q: %w", c.table.name, err)
	}
	defer s.memory.release(bytes)
	defer c.table.generations.Count(g)
	return add(g)
}

// lastBucket returns the start of the last time range for which the codes are valid.
func (c *Codes) lastBucket() int64 {
	_, to := c.Range()
	return c.table.schema.BucketStart(to)
}

// check returns an error unless the rows belong to the table and the times of these Codes, and these
// Codes returned all their codes.
func (c *Codes) check(in *insertion) error {
	t := in.table
	if c.table != t {
		return fmt.Errorf("%w: codes of table %q", ErrBatch, c.table.name)
	}
	g := c.gen.Load()
	for _, b := range in.buckets {
		if from, to := c.Range(); t.generationOf(b.start) != c.number {
			return fmt.Errorf("%w: codes are for times from %s to %s, a row is of %s", ErrBatch, catalog.TimeText(from), catalog.TimeText(to), catalog.TimeText(b.start))
		}
		if floor := t.floor(); b.start < floor || c.number < t.generations.First() {
			return tooOld(b.start, floor)
		}
	}
	return in.batch.CheckCodes(in.columns, true, uint32(g.Series.Len()), uint32(g.Lists.Len()))
}
