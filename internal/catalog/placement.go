package catalog

import "github.com/granarydb/granary/granule"

// Placement is a part on its way into a table. It was built for a bucket and a granule.
type Placement struct {
	Part      *granule.Part
	Bucket    int64    // start of the bucket
	BucketKey string   // lowest key of the bucket
	BucketEnd string   // lowest key above the bucket; empty at the end of time
	Bound, Hi string   // bounds of the granule that the part was built for
	Born      uint64   // Born of the bucket that the part was built for; 0 if the bucket is new
	Known     bool     // the bucket has the part's series and columns already
	Series    []uint32 // distinct codes in ascending order, unless Known
	Columns   []string // concrete dynamic columns with a value that the bucket lacks, unless Known
}

// Size returns an upper bound of the bytes that the placement adds to a database. It includes a new
// granule and a new bucket.
func (a *Placement) Size() int64 {
	size := int64(a.Part.Size())
	if !a.Known {
		last := a.Series[len(a.Series)-1]
		size += GranuleSize + BucketSize + columnSize*int64(len(a.Columns)) + 8*int64(last/64+1)
	}
	return size
}
