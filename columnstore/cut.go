package columnstore

import (
	"math"

	"github.com/granarydb/granary/granule"
)

// A time range of the schema's width that gets many rows is cut into several buckets
// (Options.BucketRows), by the state of the table and the commit alone. Nothing moves: a
// cut adds an empty bucket, and rows that are prepared from then on find it.

// fill counts rows of a bucket, if it is of the newest time range.
func (e *tableEdit) fill(bucket, rows int64) {
	if bucket != e.state.last { // mostly it is
		start, newest := e.schema.BucketStart(bucket), e.schema.BucketStart(e.state.last)
		switch {
		case start < newest:
			return
		case start > newest:
			e.state.last, e.state.filled, e.state.series = start, 0, 0
		}
	}
	e.state.filled += rows
}

const (
	leastRows  = 1 << 20 // of a bucket, by default
	seriesRows = 1 << 12 // of each of its series
)

// rowsOfBucket returns how many rows a bucket of so many series may have.
func rowsOfBucket(most, series int) int64 {
	if most > 0 {
		return int64(most)
	}
	return max(leastRows, seriesRows*int64(series))
}

// cutBucket begins a bucket behind the newest row of this commit, if so many rows have come
// for the newest time range since the last one began: who looks for rows of before has less
// to go through. Granules of the bucket that is cut are listed like those of a closed one:
// they get late rows only.
//
// It is not behind the newest row of all, which may be of a clock that is ahead: all rows
// until that time would go to the bucket that is cut.
//
// It returns bytes that stay pending until the commit is over, beside those of its pieces.
func (e *tableEdit) cutBucket(most int) (pending int64) {
	if most < 0 || e.state.filled < rowsOfBucket(most, e.state.series) || e.schema.BucketColumn() < 0 {
		return 0
	}
	at := e.latest + 1
	if e.latest < e.state.last {
		return 0 // late rows: the next commit is asked
	}
	e.state.filled = 0 // also if it cannot be cut: so many rows later it is tried again
	if at < e.latest || e.schema.BucketStart(at) != e.schema.BucketStart(e.state.last) {
		return 0
	}
	key, end := e.schema.BucketBounds(at)
	bound, b, ok := e.editBuckets().Floor(key)
	if !ok || bound == key {
		return 0
	}
	before := *b
	before.latest = e.state.newest
	e.editBuckets().Set(bound, &before)
	next := &bucket{start: at, latest: math.MaxInt64, gen: b.gen}
	e.editBuckets().Set(key, next)
	e.state.bytes += next.size()
	e.state.last, e.state.series = at, 0
	var places []string
	rows := 0
	for bound, g := range e.granules.Between(bound, key) {
		if g.FreshParts() > 0 {
			e.closing = append(e.closing, g)
		}
		if rows > e.table.store.opts.GranuleRows/2 {
			places, rows = append(places, bound[len(key):]), 0
		}
		rows += g.Rows()
	}
	return e.divide(key, end, places)
}

// noteLate notes rows of a bucket that was cut, which are later than all that it had.
func (e *tableEdit) noteLate(p piece) {
	get := e.state.buckets.Get
	if e.buckets != nil { // most late rows change no bucket: no edit is begun to look
		get = e.buckets.Get
	}
	_, newest := p.part.TimeRange()
	if b, ok := get(p.bucketKey); ok && newest > b.latest {
		later := *b
		later.latest = newest
		e.editBuckets().Set(p.bucketKey, &later)
	}
}

// divide makes the granules of a new bucket: they end at the places of the keys at which
// those of the bucket before it do, as the rows to come are mostly of the same series. With
// one granule to begin with, and all inserts waiting for its splits, a writer at full speed
// was half as fast. If the memory budget has no room for them, the first row makes one. Until
// the root has them, what they take is pending: others reserve theirs meanwhile.
func (e *tableEdit) divide(key, end string, places []string) (pending int64) {
	s := e.table.store
	bytes := granuleSize * int64(len(places)+1)
	if s.memory.pending.Add(bytes); s.memory.budget > 0 && s.used() > s.memory.budget {
		s.release(bytes)
		return 0
	}
	e.state.bytes += bytes
	for lo, i := key, 0; i <= len(places); i++ {
		hi := end
		if i < len(places) {
			hi = key + places[i]
		}
		e.granules.Set(lo, granule.New(lo, hi))
		lo = hi
	}
	return bytes
}
