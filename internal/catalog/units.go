package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/granarydb/granary/granule"
)

// ErrUnit is returned by OnlyUnits. Package columnstore exports and documents it.
var ErrUnit = errors.New("no such unit")

// A sealed bucket takes no more rows. It is a unit, with an id that no other unit of its table ever has.
// Ids rise from 1 on. Later rows of its times go to the late bucket of the range, which is not sealed
// yet. A late bucket begins at a nanosecond where no other bucket begins, from the end of the range
// downwards, and has rows of any times of the range.

// Unit describes a bucket's rows.
type Unit struct {
	ID    uint64 // 0: the bucket is not sealed, and more rows can come
	First int64  // lower bound of the times, in Unix nanoseconds
	Last  int64  // upper bound of the times
	Rows  int64
}

// UnitPlace is a unit's bucket.
type UnitPlace struct {
	Start int64 // of the bucket
	ID    uint64
}

// UnitsChange lists the units that a commit seals and drops.
type UnitsChange struct{ Seal, Drop []UnitPlace }

// IsEmpty reports whether the change does nothing.
func (c UnitsChange) IsEmpty() bool { return len(c.Seal)+len(c.Drop) == 0 }

// Equal reports whether two changes are the same.
func (c UnitsChange) Equal(other UnitsChange) bool {
	return slices.Equal(c.Seal, other.Seal) && slices.Equal(c.Drop, other.Drop)
}

// Units returns the buckets with rows, ordered by start. A nil state has none. O(buckets and granules in
// memory).
func (t *TableState) Units() (units []Unit) {
	if t == nil {
		return nil
	}
	for _, b := range t.Buckets.All() {
		u := Unit{ID: b.Unit, Rows: t.rowsOf(b)}
		if u.First, u.Last = t.TimesOf(b); u.Rows > 0 {
			units = append(units, u)
		}
	}
	return units
}

func (t *TableState) rowsOf(b *BucketState) (rows int64) {
	if b.Cold != nil {
		rows = b.Cold.Rows
	}
	for _, g := range t.HotGranules(b) {
		rows += int64(g.Rows())
	}
	return rows
}

// OnlyUnits returns a state for reading that has only the buckets of the units in ids. The id 0 selects
// all buckets that are not sealed. The error is ErrUnit for an id that no bucket has. O(buckets).
func (t *TableState) OnlyUnits(ids []uint64) (*TableState, error) {
	wanted := make(map[uint64]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	found := 0
	only := NewTableState(t.Schema)
	buckets := only.Buckets.Edit()
	for key, b := range t.Buckets.All() {
		if !wanted[b.Unit] {
			continue
		}
		buckets.Set(key, b)
		if b.Unit != 0 {
			found++
		}
	}
	if delete(wanted, 0); found < len(wanted) {
		return nil, fmt.Errorf("%w: %d of %d are there", ErrUnit, found, len(wanted))
	}
	out := *t
	out.Buckets = buckets.Done()
	return &out, nil
}

// PlanSeal returns the change that seals the buckets with rows that end at or before the time before,
// ordered by start. It omits a bucket whose range has a bucket at each nanosecond, because later rows
// would have no place. O(buckets and granules in memory).
func (t *TableState) PlanSeal(before int64) (c UnitsChange) {
	id := t.LastUnit
	for _, b := range t.Buckets.All() {
		if b.Start >= before {
			break
		}
		if b.Unit != 0 || t.endOf(b) >= before || t.rowsOf(b) == 0 {
			continue
		}
		if _, free := t.lateStart(t.Schema.BucketStart(b.Start)); !free {
			continue
		}
		id++
		c.Seal = append(c.Seal, UnitPlace{b.Start, id})
	}
	return c
}

// Sealed returns the units of a state that a change sealed. A nil state has none.
func (t *TableState) Sealed(c UnitsChange) []Unit {
	return slices.DeleteFunc(t.Units(), func(u Unit) bool { return len(c.Seal) == 0 || u.ID < c.Seal[0].ID })
}

// PlanDrop returns the change that drops the units of ids that exist. O(buckets).
func (t *TableState) PlanDrop(ids []uint64) (c UnitsChange) {
	for _, b := range t.Buckets.All() {
		if b.Unit != 0 && slices.Contains(ids, b.Unit) {
			c.Drop = append(c.Drop, UnitPlace{b.Start, b.Unit})
		}
	}
	return c
}

// endOf returns the last time whose rows go to a bucket, or went there before the bucket was cut.
func (t *TableState) endOf(b *BucketState) int64 {
	end := t.lastTime(b.Start)
	if b.Late {
		return end
	}
	key, _ := t.Schema.BucketBounds(b.Start)
	_, most := t.Schema.BucketBounds(end)
	for _, next := range t.Buckets.Overlapping(key, most) {
		if next.Start > b.Start && !next.Late {
			return next.Start - 1
		}
	}
	return end
}

// lateStart returns the start of a new late bucket in the range that begins at first: the last nanosecond
// where no bucket begins. free is false if there is none.
func (t *TableState) lateStart(first int64) (start int64, free bool) {
	for start = t.lastTime(first); start > first; start-- {
		key, _ := t.Schema.BucketBounds(start)
		if _, used := t.Buckets.Get(key); !used {
			return start, true
		}
	}
	return first, false
}

// leavesLateStart reports whether the range of a bucket that begins at the time at would still have room
// for a late bucket.
func (e *TableEdit) leavesLateStart(at int64) bool {
	for start := e.State.lastTime(at); start > e.schema.BucketStart(at); start-- {
		key, _ := e.schema.BucketBounds(start)
		if _, used := e.bucket(key); !used && start != at {
			return true
		}
	}
	return false
}

// lateBucket returns the start of the bucket for late rows in the range that begins at first: the last
// late bucket that is not sealed, or a new bucket.
func (t *TableState) lateBucket(first int64) int64 {
	lo, hi := t.RangeBounds(first)
	late, found := int64(0), false
	for _, b := range t.Buckets.Overlapping(lo, hi) {
		if b.Late && b.Unit == 0 && b.Start >= first {
			late, found = b.Start, true
		}
	}
	if !found {
		late, _ = t.lateStart(first) // there is one, because PlanSeal and cutAt leave it
	}
	return late
}

// IsLate reports whether the bucket that begins at start is late. A missing bucket that begins inside a
// range is late, because a cut creates its bucket itself.
func (e *TableEdit) IsLate(start int64) bool {
	if e.State.LastUnit == 0 {
		return false // only units lead to late buckets
	}
	key, _ := e.schema.BucketBounds(start)
	if b, ok := e.bucket(key); ok {
		return b.Late
	}
	return e.isNewLate(start)
}

// isNewLate is IsLate for a missing bucket.
func (e *TableEdit) isNewLate(start int64) bool {
	return e.State.LastUnit > 0 && start != e.schema.BucketStart(start)
}

// timesAmongUnits is timesOf for a table that has had units. It reads all buckets in the range.
func (t *TableState) timesAmongUnits(at int64) bucketTimes {
	first := t.Schema.BucketStart(at)
	times := bucketTimes{first, t.lastTime(first), first}
	var own *BucketState
	lo, hi := t.RangeBounds(first)
	for _, b := range t.Buckets.Overlapping(lo, hi) {
		switch {
		case b.Late || b.Start < first:
		case b.Start <= at:
			own, times.start, times.bucket = b, b.Start, b.Start
		default:
			times.end = min(times.end, b.Start-1)
		}
	}
	if own != nil && own.Unit != 0 {
		times.bucket = t.lateBucket(first)
	}
	return times
}

// Takes reports whether the bucket takes a placement: it is not sealed, and it is the bucket that the
// placement was built for, because the placement omits series and columns that this bucket had. It is
// another bucket if a unit was dropped or rows were deleted since, or if a cut began a bucket where late rows would have
// begun one.
func (e *TableEdit) Takes(a *Placement) bool {
	if e.State.LastUnit == 0 && !e.State.deletes {
		return true
	}
	b, ok := e.bucket(a.BucketKey)
	if !ok {
		return a.Born == 0
	}
	return b.Unit == 0 && (a.Born == 0 || a.Born == b.Born) && e.State.holds(b, a.Part)
}

// holds reports whether a part's rows are not before its bucket, as they can be only if there are units. They are in its
// range.
func (t *TableState) holds(b *BucketState, p *granule.Part) bool {
	first, _ := p.TimeRange()
	return t.LastUnit == 0 || b.Late || first >= b.Start
}

// Reroute changes a placement for the bucket that takes its rows now, and returns by how much
// Placement.Size grows. The placement is not published, and the caller alone has its part.
func (t *TableState) Reroute(a *Placement) (more int64) {
	b, ok := t.Buckets.Get(a.BucketKey)
	before := a.Size()
	switch {
	case ok && (b.Unit != 0 || !t.holds(b, a.Part)):
		a.Part.Move(t.lateBucket(t.Schema.BucketStart(a.Bucket)))
	case a.Born == 0 || ok && a.Born == b.Born:
		return 0
	}
	*a = Placement{Part: a.Part, Bucket: a.Part.Bucket()}
	a.BucketKey, a.BucketEnd = t.Schema.BucketBounds(a.Bucket)
	a.Bound, a.Hi = a.BucketKey, a.BucketEnd
	if bound, _, ok := t.Granules.FloorBytes(a.Part.AppendKey(nil, t.Schema, 0)); ok && bound >= a.BucketKey {
		a.Bound = bound
	}
	a.Series = a.Part.SeriesSet()
	a.Columns = newColumns(t.Schema, &BucketState{}, a.Part, a.Series)
	return a.Size() - before
}

// ChangeUnits seals and drops units. It ignores missing units, because a restart can know a later floor.
// It drops whole granules and reads no row.
func (e *TableEdit) ChangeUnits(c UnitsChange) {
	for _, u := range c.Seal {
		e.State.LastUnit = max(e.State.LastUnit, u.ID)
		key, end := e.schema.BucketBounds(u.Start)
		b, ok := e.bucket(key)
		if !ok {
			continue
		}
		sealed := *b
		sealed.Unit = u.ID
		e.editBuckets().Set(key, &sealed)
		for _, g := range e.granules.Between(key, end) {
			if g.FreshParts() > 0 {
				e.Closing = append(e.Closing, g)
			}
		}
	}
	for _, u := range c.Drop {
		key, _ := e.schema.BucketBounds(u.Start)
		if b, ok := e.bucket(key); ok && b.Unit == u.ID {
			e.dropUnit(key, b)
		}
	}
}

// dropUnit removes a bucket from the table.
func (e *TableEdit) dropUnit(key string, b *BucketState) {
	rows := e.takeGranules(key, b)
	if b.Cold != nil {
		rows += b.Cold.Rows
	}
	e.editBuckets().Delete(key)
	e.State.Bytes -= b.Size()
	e.cool(b)
	e.State.Rows -= rows
	e.State.Dropped += rows
}

// takeGranules removes the granules in a bucket from the table, and returns the number of their rows.
func (e *TableEdit) takeGranules(key string, b *BucketState) (rows int64) {
	_, end := e.schema.BucketBounds(b.Start)
	var bounds []string
	for bound := range e.granules.Between(key, end) {
		bounds = append(bounds, bound)
	}
	for _, bound := range bounds {
		g, _ := e.granules.Get(bound)
		e.granules.Delete(bound)
		e.State.Bytes -= GranuleSize
		e.left = append(e.left, g.Sections()...)
		rows += int64(g.Rows())
	}
	return rows
}
