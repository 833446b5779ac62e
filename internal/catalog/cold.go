package catalog

import "github.com/granarydb/granary/granule"

// Cold describes the rows of a bucket that are in a file and not in memory. Later rows are in granules in
// the table, which cover the bucket by themselves (C6 of package columnstore). It is immutable.
type Cold struct {
	File       uint64
	Place      Place
	Rows       int64
	Bytes      int64  // of the file
	Through    uint64 // no row has a later commit
	Generation int64  // number of the dictionaries
	Err        error  // from opening the file: its rows cannot be read
}

// Place is the place of a bucket's directory in a file that buckets share. It is zero if the bucket has a file of
// its own.
type Place struct {
	Offset, Length int64
	CRC            uint32
}

// ColdRead says which rows of a bucket's file a query needs.
type ColdRead struct {
	// Ranges are key ranges, disjoint and ascending; nil means all.
	Ranges [][2]string
	// Granules selects granules in the file, in its order; nil means all. It does not restrict rows in
	// memory.
	Granules Bitset
	// Wide reports whether a wide column is needed (granule.IsWide). Otherwise parts can lack these
	// columns.
	Wide bool
}

// HasRows reports whether the bucket can have rows.
func (b *BucketState) HasRows() bool { return b.Gen != nil || b.Cold != nil }

// Unload takes the rows in a bucket out of memory. The file has all of them, including rows that were
// cold before. It reads no row.
func (e *TableEdit) Unload(key string, cold *Cold) {
	b, ok := e.bucket(key)
	if !ok {
		return
	}
	e.takeGranules(key, b)
	next := *b
	next.Gen, next.Cold = nil, cold
	e.State.Bytes += next.Size() - b.Size()
	e.cool(b)
	e.editBuckets().Set(key, &next)
}

// LoadCold adds a bucket of an earlier run to a table that lacks it. The rows stay in their file.
func (e *TableEdit) LoadCold(b *BucketState) {
	key, _ := e.schema.BucketBounds(b.Start)
	e.editBuckets().Set(key, b)
	e.State.Bytes += b.Size()
	e.State.Rows += b.Cold.Rows
}

// cool notes the file of a bucket that the next root does not need.
func (e *TableEdit) cool(b *BucketState) {
	if b.Cold != nil {
		e.Files = append(e.Files, b.Cold.File)
	}
}

// HotGranules returns the granules of a bucket that are in memory.
func (t *TableState) HotGranules(b *BucketState) (granules []*granule.Granule) {
	key, end := t.Schema.BucketBounds(b.Start)
	for bound, g := range t.Granules.Overlapping(key, end) {
		if bound >= key {
			granules = append(granules, g)
		}
	}
	return granules
}
