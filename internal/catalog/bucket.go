package catalog

import (
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// BucketState describes one time bucket of a table without its rows. Rows in memory are in granules in
// the table, cold rows in a file (Cold).
//
// Time is divided into ranges of the schema's width. A range starts as one bucket. A cut
// (TableEdit.CutBucket) adds a later bucket, which begins at any time inside the range. A row goes to the
// last bucket of its range that begins at or before its time. A row that was prepared before the cut goes
// to the earlier bucket. The rows in a bucket therefore lie between its start and the end of its range.
// Retention and eviction drop whole ranges. A late bucket (units.go) has the rows that came after their
// bucket was sealed.
type BucketState struct {
	Start   int64
	Latest  int64               // upper bound of the times; the greatest int64 until the bucket is cut
	Gen     *granule.Generation // dictionaries of the rows; nil if some are cold, or there are none
	Series  Bitset              // codes of the series with committed rows
	Columns map[string]bool     // concrete dynamic columns with a value in a committed row
	Cold    *Cold               // rows that are only in a file; nil if there are none
	Unit    uint64              // id of the unit; 0 until the bucket is sealed
	Late    bool                // rows can have any time of the range: they came after other buckets were sealed
	Born    uint64              // the commit that began the bucket, or a commit of an earlier run
}

// Heap bytes of an entry besides its parts, including its place in an index.
const (
	GranuleSize = 320
	BucketSize  = 360
	columnSize  = 48 // a column name in a bucket
	coldSize    = 96 // a Cold
	NoteSize    = 32
)

// Size returns the heap bytes of the bucket.
func (b *BucketState) Size() int64 {
	size := BucketSize + 8*int64(len(b.Series)) + columnSize*int64(len(b.Columns))
	if b.Cold != nil {
		size += coldSize
	}
	return size
}

// hasSeries reports whether the bucket has every series in a column of series codes. True stays true,
// because a bucket only grows until it is dropped, and a dropped bucket takes no rows (TableEdit.Takes).
func (b *BucketState) hasSeries(series *encoding.Words) bool {
	cursor := series.Cursor()
	for {
		code, rows := cursor.Next()
		if rows == 0 || !b.Series.Has(uint32(code)) {
			return rows == 0
		}
	}
}

// HasColumns reports whether the bucket has every dynamic column in which a batch's rows have a value;
// nil means all rows. Columns of the series tuple are not checked, because they come with the series.
func (b *BucketState) HasColumns(s *schema.Schema, columns []schema.Concrete, rows []int32) bool {
	for i := range columns {
		c := &columns[i]
		if s.Columns()[c.Column].Dynamic && !s.IsSeries(c.Column) && !b.Columns[c.Name] && hasValue(c, rows) {
			return false
		}
	}
	return true
}

// NewColumns returns the concrete dynamic columns that the bucket lacks and in which the rows in a batch
// can have a value. They include columns of the series that replaces label columns in the batch
// (schema.Batch.Series).
func (b *BucketState) NewColumns(s *schema.Schema, gen *granule.Generation, batch *schema.Batch, columns []schema.Concrete, rows []int32) []string {
	var names []string
	for i := range columns {
		if c := &columns[i]; s.Columns()[c.Column].Dynamic && !b.Columns[c.Name] && hasValue(c, rows) {
			names = append(names, c.Name)
		}
	}
	if batch.Series != 0 {
		s.EachLabel(gen.Series.Value(batch.Series), func(column int, name []byte) {
			if s.Columns()[column].Dynamic && !b.Columns[string(name)] {
				names = append(names, string(name))
			}
		})
	}
	return names
}

// hasValue reports whether one of rows has a value in a dynamic column; nil means all rows.
func hasValue(c *schema.Concrete, rows []int32) bool {
	switch {
	case c.Values.Len() == 1:
		return !c.Null(0, true)
	case rows == nil:
		for row := range c.Values.Len() {
			if !c.Null(row, true) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(rows, func(row int32) bool { return !c.Null(int(row), true) })
}
