package catalog

import (
	"cmp"
	"math"
	"slices"
)

// MaxBuckets bounds the time buckets of a batch, because each takes a part, and every sixteenth range
// takes its own dictionaries. A day has 96 ranges of the default width.
const MaxBuckets = 1 << 10

// bucketTimes is a time span and the start of the bucket that takes its rows. Both ends are inclusive.
type bucketTimes struct{ start, end, bucket int64 }

// BucketFinder finds the bucket of a time in a state: the last bucket of the time's range that
// begins at or before it. It belongs to one goroutine.
type BucketFinder struct {
	state *TableState
	last  bucketTimes   // of the last answer
	found []bucketTimes // at most MaxBuckets, ascending
}

// FindBuckets returns a finder whose last answer is the newest bucket.
func (t *TableState) FindBuckets() BucketFinder {
	f := BucketFinder{state: t}
	if t.Schema.BucketColumn() >= 0 {
		f.last = bucketTimes{t.last, t.lastTime(t.last), t.last}
	}
	if t.LastUnit > 0 {
		f.last = bucketTimes{1, 0, 0} // matches no time: the newest bucket may be sealed
	}
	return f
}

// At returns the start of the bucket of the time at. A repeated time costs a comparison or a binary
// search.
func (f *BucketFinder) At(at int64) int64 {
	if f.last.start <= at && at <= f.last.end {
		return f.last.bucket
	}
	i, exact := slices.BinarySearchFunc(f.found, at, func(b bucketTimes, at int64) int { return cmp.Compare(b.start, at) })
	if !exact {
		i-- // the bucket that begins before at, if any
	}
	if i >= 0 && at <= f.found[i].end {
		f.last = f.found[i]
		return f.last.bucket
	}
	f.last = f.state.timesOf(at)
	if len(f.found) < MaxBuckets {
		f.found = slices.Insert(f.found, i+1, f.last)
	}
	return f.last.bucket
}

// timesOf returns the time span of the bucket that takes rows of the time at. The bucket need not exist
// yet. It reads two buckets, however many the range has.
func (t *TableState) timesOf(at int64) bucketTimes {
	if t.LastUnit > 0 {
		return t.timesAmongUnits(at)
	}
	first := t.Schema.BucketStart(at)
	times := bucketTimes{first, t.lastTime(first), first}
	key, _ := t.Schema.BucketBounds(at)
	_, end := t.Schema.BucketBounds(times.end)
	for _, b := range t.Buckets.Overlapping(key, end) {
		if b.Start > at {
			times.end = b.Start - 1
			break
		}
		times.start = max(first, b.Start) // max: b can belong to an earlier range
		times.bucket = times.start
	}
	return times
}

// lastTime returns the last time of a bucket's range.
func (t *TableState) lastTime(bucket int64) int64 {
	if end := t.Schema.BucketEnd(t.Schema.BucketStart(bucket)); end > bucket {
		return end - 1
	}
	return math.MaxInt64
}

// TimesOf returns the first and last time that rows in a bucket can have, both inclusive. They are all of
// int64 in a table without time buckets.
func (t *TableState) TimesOf(b *BucketState) (first, last int64) {
	if t.Schema.BucketColumn() < 0 {
		return math.MinInt64, math.MaxInt64
	}
	return t.firstOf(b), min(b.Latest, t.lastTime(b.Start), t.Newest)
}

// firstOf returns the first time that rows in a bucket can have.
func (t *TableState) firstOf(b *BucketState) int64 {
	if b.Late {
		return t.Schema.BucketStart(b.Start)
	}
	return b.Start
}

// RangeBounds returns the key bounds of the time range that begins at first. An empty upper
// bound means no bound.
func (t *TableState) RangeBounds(first int64) (lo, hi string) {
	lo, _ = t.Schema.BucketBounds(first)
	_, hi = t.Schema.BucketBounds(t.lastTime(first))
	return lo, hi
}

// keyBounds returns the key bounds of rows with times in [lo, hi). They begin with the range of lo,
// because a cut bucket can still get rows up to the end of its range.
func (t *TableState) keyBounds(lo, hi int64) (from, to string) {
	if t.Schema.BucketColumn() < 0 {
		return "", ""
	}
	from, _ = t.Schema.BucketBounds(t.Schema.BucketStart(lo))
	if hi != math.MaxInt64 {
		to, _ = t.Schema.BucketBounds(hi) // no bucket has times before its start
		if t.LastUnit > 0 {               // except late buckets
			_, to = t.RangeBounds(t.Schema.BucketStart(hi))
		}
	}
	return from, to
}
