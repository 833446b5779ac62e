package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/granarydb/granary/granule"
)

// ErrUnit is of OnlyUnits. Package columnstore has it too, and documents it.
var ErrUnit = errors.New("no such unit")

// A bucket that is sealed takes no more rows: it is a unit, with an id that no other unit of its table
// has or had. Ids rise from 1 on. Rows of its times that come later go to the late bucket of the range,
// which is not sealed yet. Such a bucket begins at a nanosecond where no other does, from the end of the
// range downwards, and has rows of any times of the range.

// Unit describes the rows of a bucket.
type Unit struct {
	ID    uint64 // 0: the bucket is not sealed, and other rows can come
	First int64  // no row is earlier, in Unix nanoseconds
	Last  int64  // no row is later
	Rows  int64
}

// UnitPlace is the bucket of a unit.
type UnitPlace struct {
	Start int64 // of the bucket
	ID    uint64
}

// UnitsChange is the units that a commit seals and drops.
type UnitsChange struct{ Seal, Drop []UnitPlace }

// IsEmpty reports whether nothing changes.
func (c UnitsChange) IsEmpty() bool { return len(c.Seal)+len(c.Drop) == 0 }

// Equal reports whether two changes are the same.
func (c UnitsChange) Equal(other UnitsChange) bool {
	return slices.Equal(c.Seal, other.Seal) && slices.Equal(c.Drop, other.Drop)
}

// Units returns the buckets with rows, in the order of their starts. A nil state has none.
// O(buckets and granules in memory).
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

// rowsOf returns the number of rows of a bucket.
func (t *TableState) rowsOf(b *BucketState) (rows int64) {
	if b.Cold != nil {
		rows = b.Cold.Rows
	}
	for _, g := range t.HotGranules(b) {
		rows += int64(g.Rows())
	}
	return rows
}

// OnlyUnits returns a state for reading that has the buckets of some units alone; the id 0 is all buckets
// that are not sealed. The error is ErrUnit, for an id that no bucket has. O(buckets).
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

// PlanSeal returns the change that seals the buckets with rows that end at a time or before it, in the
// order of their starts. A bucket is left out if its range has a bucket at each nanosecond: later rows would have no
// place. O(buckets and granules in memory).
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

// Sealed returns the units of a state that a change has sealed. A nil state has none.
func (t *TableState) Sealed(c UnitsChange) []Unit {
	return slices.DeleteFunc(t.Units(), func(u Unit) bool { return len(c.Seal) == 0 || u.ID < c.Seal[0].ID })
}

// PlanDrop returns the change that drops the units that are there. O(buckets).
func (t *TableState) PlanDrop(ids []uint64) (c UnitsChange) {
	for _, b := range t.Buckets.All() {
		if b.Unit != 0 && slices.Contains(ids, b.Unit) {
			c.Drop = append(c.Drop, UnitPlace{b.Start, b.Unit})
		}
	}
	return c
}

// endOf returns the last time whose rows go to a bucket, or went there before it was cut.
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

// lateStart returns the start of a new late bucket of the range that begins at first: the last nanosecond
// where none begins. It is not free if there is none.
func (t *TableState) lateStart(first int64) (start int64, free bool) {
	for start = t.lastTime(first); start > first; start-- {
		key, _ := t.Schema.BucketBounds(start)
		if _, used := t.Buckets.Get(key); !used {
			return start, true
		}
	}
	return first, false
}

// leavesLateStart reports whether the range of a bucket that begins at a time has room for a late bucket then.
func (e *TableEdit) leavesLateStart(at int64) bool {
	for start := e.State.lastTime(at); start > e.schema.BucketStart(at); start-- {
		key, _ := e.schema.BucketBounds(start)
		if _, used := e.bucket(key); !used && start != at {
			return true
		}
	}
	return false
}

// lateBucket returns the start of the bucket for late rows of a sealed bucket of a range: the last late one
// that is not sealed, or a new one.
func (t *TableState) lateBucket(first int64) int64 {
	lo, hi := t.RangeBounds(first)
	late, found := int64(0), false
	for _, b := range t.Buckets.Overlapping(lo, hi) {
		if b.Late && b.Unit == 0 && b.Start >= first {
			late, found = b.Start, true
		}
	}
	if !found {
		late, _ = t.lateStart(first) // there is one: PlanSeal and cutAt leave it
	}
	return late
}

// IsLate reports whether the bucket that begins at a time is a late one. One that is not there yet, and begins amid a
// range, is: a cut makes its bucket itself.
func (e *TableEdit) IsLate(start int64) bool {
	if e.State.LastUnit == 0 {
		return false // only units leave late buckets
	}
	key, _ := e.schema.BucketBounds(start)
	if b, ok := e.bucket(key); ok {
		return b.Late
	}
	return e.isNewLate(start)
}

// isNewLate is IsLate for a bucket that is not there.
func (e *TableEdit) isNewLate(start int64) bool {
	return e.State.LastUnit > 0 && start != e.schema.BucketStart(start)
}

// timesAmongUnits is timesOf in a table that has had units. It reads all buckets of the range.
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

// Takes reports whether the bucket of a placement takes it: it is not sealed, and it is the one that the placement was
// built for, whose series and columns the placement does not bring. It is another if a unit was dropped since, or if
// a cut has begun a bucket where late rows were to begin one.
func (e *TableEdit) Takes(a *Placement) bool {
	if e.State.LastUnit == 0 {
		return true
	}
	b, ok := e.bucket(a.BucketKey)
	if !ok {
		return a.Born == 0
	}
	return b.Unit == 0 && (a.Born == 0 || a.Born == b.Born) && b.holds(a.Part)
}

// holds reports whether the rows of a part of the range of a bucket are not before it.
func (b *BucketState) holds(p *granule.Part) bool {
	first, _ := p.TimeRange()
	return b.Late || first >= b.Start
}

// Reroute makes a placement one that the bucket for its rows takes, and returns by how much Placement.Size grows. The
// placement was not published, and nobody else has its part.
func (t *TableState) Reroute(a *Placement) (more int64) {
	b, ok := t.Buckets.Get(a.BucketKey)
	before := a.Size()
	switch {
	case ok && (b.Unit != 0 || !b.holds(a.Part)):
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

// ChangeUnits seals and drops units. It passes over those that are not there: a restart can know a later floor.
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

// dropUnit takes a bucket out of the table.
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

// takeGranules takes the granules of a bucket out of the table, and returns the number of their rows.
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
