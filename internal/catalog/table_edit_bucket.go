package catalog

import (
	"maps"
	"math"
)

// addToBucket adds the series and columns of a placement to its bucket, which it creates if necessary.
// Most commits bring nothing new. A set that grows is copied.
func (e *TableEdit) addToBucket(a *Placement) {
	buckets := e.editBuckets()
	bound, b, ok := buckets.Floor(a.BucketKey)
	if !ok || bound != a.BucketKey {
		b = &BucketState{Start: a.Bucket, Latest: math.MaxInt64, Gen: a.Part.Generation(), Born: a.Part.Commit()}
		b.Late = e.isNewLate(a.Bucket)
		e.State.Bytes += b.Size()
	}
	next := *b
	if next.Gen == nil && next.Cold == nil { // the bucket began with a cut of a cold bucket
		next.Gen = a.Part.Generation()
	}
	var more bool
	next.Series, more = b.Series.with(a.Series)
	for _, name := range a.Columns {
		if next.Columns[name] {
			continue
		}
		if len(next.Columns) == len(b.Columns) {
			next.Columns = maps.Clone(b.Columns)
		}
		if next.Columns == nil {
			next.Columns = map[string]bool{}
		}
		next.Columns[name] = true
	}
	if more && a.Bucket == e.State.last {
		e.State.Series = next.Series.Len()
	}
	named := len(next.Columns) > len(b.Columns)
	if !ok || bound != a.BucketKey || more || named || next.Gen != b.Gen {
		e.State.Bytes += next.Size() - b.Size()
		if named || len(next.Series) > smallSet {
			buckets.Set(a.BucketKey, &next) // Set, unlike Amend, does not keep the old sets alive
		} else {
			buckets.Amend(a.BucketKey, &next)
		}
	}
}

// smallSet is the greatest number of words of a series set whose predecessor may stay alive: an index
// entry's size.
const smallSet = 8

// fill counts rows in a bucket in the newest time range.
func (e *TableEdit) fill(bucket, rows int64) {
	if bucket != e.State.last { // rare
		start, newest := e.schema.BucketStart(bucket), e.schema.BucketStart(e.State.last)
		switch {
		case start < newest:
			return
		case start > newest:
			e.State.last, e.State.Filled, e.State.Series = start, 0, 0
		}
	}
	e.State.Filled += rows
}

// noteLate raises the latest time of a cut bucket for a late row.
func (e *TableEdit) noteLate(a *Placement) {
	_, newest := a.Part.TimeRange()
	if b, ok := e.bucket(a.BucketKey); ok && newest > b.Latest {
		later := *b
		later.Latest = newest
		e.editBuckets().Set(a.BucketKey, &later)
	}
}

// CloseBuckets closes the buckets that end at least one bucket width before the newest row. It adds their
// granules with fresh parts to Closing, because few rows are still to come and one compaction pays.
func (e *TableEdit) CloseBuckets() {
	width := e.schema.BucketWidth()
	if width == 0 || e.State.Newest < math.MinInt64+width {
		return
	}
	open := e.schema.BucketStart(e.State.Newest - width)
	if open <= e.State.Open {
		return
	}
	from, _ := e.schema.BucketBounds(max(e.State.Open, e.State.Floor))
	to, _ := e.schema.BucketBounds(open)
	e.State.Open = open
	for _, g := range e.granules.Between(from, to) {
		if g.FreshParts() > 0 {
			e.Closing = append(e.Closing, g)
		}
	}
}

// Retain drops the buckets that lie before the newest row by more than retention nanoseconds. 0 keeps
// all. A row later than latest counts as one of that time.
func (e *TableEdit) Retain(retention, latest int64) {
	newest := min(e.State.Newest, latest)
	if retention <= 0 || e.schema.BucketColumn() < 0 || newest < math.MinInt64+retention {
		return
	}
	e.State.Dropped += e.dropBefore(e.schema.BucketStart(newest - retention))
}

// DropBefore drops the buckets of time ranges that end at or before at. It drops no bucket after the
// newest row's range: the floor is at most the end of that range.
func (e *TableEdit) DropBefore(at int64) {
	width := e.schema.BucketWidth()
	if width == 0 || e.State.Newest == math.MinInt64 {
		return
	}
	floor := e.schema.BucketStart(min(at, e.State.Newest))
	if end := e.schema.BucketStart(floor + width); end > floor && at >= end { // not if end overflows
		floor = end
	}
	e.State.Dropped += e.dropBefore(floor)
}

func (e *TableEdit) rowsOf(key string, b *BucketState) (rows int64) {
	_, end := e.schema.BucketBounds(b.Start)
	for _, g := range e.granules.Between(key, end) {
		rows += int64(g.Rows())
	}
	if b.Cold != nil {
		rows += b.Cold.Rows
	}
	return rows
}

// Evict drops the buckets before a floor and counts their rows as evicted.
func (e *TableEdit) Evict(floor int64) { e.State.Evicted += e.dropBefore(floor) }

// dropBefore raises the floor, drops the buckets below it, and returns the number of dropped rows. It
// drops whole granules and reads no row.
func (e *TableEdit) dropBefore(floor int64) (rows int64) {
	if floor <= e.State.Floor {
		return 0
	}
	e.State.Floor = floor
	first, _ := e.schema.BucketBounds(floor)
	buckets := e.editBuckets()
	for {
		bound, b, ok := buckets.First()
		if !ok || bound >= first {
			break
		}
		buckets.Delete(bound)
		e.State.Bytes -= b.Size()
		if b.Cold != nil {
			rows += b.Cold.Rows
		}
		if b.Unit != 0 {
			e.State.Lost += e.rowsOf(bound, b)
		}
		e.cool(b)
	}
	for {
		bound, g, ok := e.granules.First()
		if !ok || bound >= first {
			break
		}
		e.granules.Delete(bound)
		e.State.Bytes -= GranuleSize
		rows += int64(g.Rows())
		e.left = append(e.left, g.Sections()...)
	}
	e.State.Rows -= rows
	return rows
}
