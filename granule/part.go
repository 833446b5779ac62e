package granule

import (
	"fmt"
	"math"
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Part is the sorted, immutable rows in one bucket, in encoded columns. Reading is safe for any number of
// goroutines.
type Part struct {
	gen     *Generation
	bucket  int64
	rows    int
	series  encoding.Words
	columns []Column
	unread  *unreadColumns // columns that ReadParts left in the file; nil if it read all
	// ordinals has each row's header, if a rewrite listed the headers. The columns in the header share
	// it.
	ordinals *encoding.Words
	minTime  int64
	maxTime  int64
	size     int

	begin, commit uint64

	Uses // counts its sections
}

// Column is a concrete column of a part, outside the series tuple.
type Column struct {
	Index int // in Schema.Columns
	Name  string
	encoding.Column
}

// unreadColumns are columns without their values, in order.
type unreadColumns []Column

// smallPart is a part with room for a profile's columns, in one allocation.
type smallPart struct {
	Part
	few [5]Column
}

// newPart returns a part with room for `columns` columns.
func newPart(columns int) *Part {
	if columns > len(smallPart{}.few) {
		return &Part{columns: make([]Column, 0, columns)}
	}
	p := new(smallPart)
	p.columns = p.few[:0]
	return &p.Part
}

// seal derives the fields that depend on all columns.
func (p *Part) seal(s *schema.Schema) {
	const self = 192 + 128 // with the granule and the link that refer to it
	const words, column = 64, encoding.ColumnSize + 24
	p.size = self + p.series.Size() + column*cap(p.columns)
	if p.ordinals != nil {
		p.size += words + p.ordinals.Size()
	}
	p.minTime, p.maxTime = math.MinInt64, math.MaxInt64
	for i := range p.columns {
		c := &p.columns[i]
		p.size += c.Size()
		if c.Index == s.BucketColumn() {
			p.minTime, p.maxTime = timeRange(c.Words())
		}
	}
}

func timeRange(words *encoding.Words) (lo, hi int64) {
	lo, hi = math.MaxInt64, math.MinInt64
	if table, _ := words.Lookup(); table != nil {
		words = table // every word of the table occurs in a row
	}
	cursor := words.Cursor()
	for {
		word, rows := cursor.Next()
		if rows == 0 {
			return lo, hi
		}
		lo, hi = min(lo, encoding.ToInt64(word)), max(hi, encoding.ToInt64(word))
	}
}

// Stamp sets the ids of the transaction that inserted the rows. The commit that makes the part visible
// calls it once.
func (p *Part) Stamp(begin, commit uint64) { p.begin, p.commit = begin, commit }

// Begin returns the begin id of the transaction that inserted the rows, the lowest if there were several.
func (p *Part) Begin() uint64 { return p.begin }

// Commit returns the commit id of the transaction that inserted the rows, the highest if there were
// several.
func (p *Part) Commit() uint64 { return p.commit }

// Move sets the bucket of the part to another bucket of the same range. The creator of the part calls it
// before the commit, because a visible part never changes.
func (p *Part) Move(bucket int64) { p.bucket = bucket }

// Bucket returns the start of the time bucket of the rows.
func (p *Part) Bucket() int64 { return p.bucket }

// Rows returns the number of rows.
func (p *Part) Rows() int { return p.rows }

// Size returns the bytes that the part holds on the heap, without its dictionaries.
func (p *Part) Size() int { return p.size }

// Generation returns the dictionaries of the part's codes.
func (p *Part) Generation() *Generation { return p.gen }

// TimeRange returns the least and the greatest value in the bucket column, or all of int64 without
// buckets.
func (p *Part) TimeRange() (lo, hi int64) { return p.minTime, p.maxTime }

// Series returns each row's series: codes in Generation.Series.
func (p *Part) Series() *encoding.Words { return &p.series }

// checkWhole panics if wide columns were not read, because callers would take them for nulls.
func (p *Part) checkWhole() {
	if p.unread != nil {
		panic(fmt.Sprintf("granule: column %q of a part was not read from its file", (*p.unread)[0].Name))
	}
}

// Columns returns the columns that have a value, in schema order, concrete
// dynamic columns by name. It must not be changed. The part must not lack its wide columns (ReadParts).
func (p *Part) Columns() []Column {
	p.checkWhole()
	return p.columns
}

// Find returns the concrete column of the given name, or nil if no row has a value in it. The column must
// have been read (ReadParts). It costs O(log columns).
func (p *Part) Find(column int, name string) *encoding.Column {
	lo, hi := 0, len(p.columns)
	for lo < hi { // takes a quarter of the time of slices.BinarySearchFunc; each query searches each part
		at := (lo + hi) / 2
		switch c := &p.columns[at]; {
		case c.Index == column && c.Name == name:
			return &c.Column
		case c.Index < column || c.Index == column && c.Name < name:
			lo = at + 1
		default:
			hi = at
		}
	}
	if p.unread != nil && slices.ContainsFunc(*p.unread, func(c Column) bool { return c.Index == column && c.Name == name }) {
		p.checkWhole()
	}
	return nil
}

// SeriesSet returns the distinct series codes, sorted.
func (p *Part) SeriesSet() []uint32 {
	var set []uint32
	cursor := p.series.Cursor()
	for {
		word, rows := cursor.Next()
		if rows == 0 {
			slices.Sort(set)
			return slices.Compact(set)
		}
		if len(set) == 0 || set[len(set)-1] != uint32(word) {
			set = append(set, uint32(word))
		}
	}
}
