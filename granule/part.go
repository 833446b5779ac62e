package granule

import (
	"math"
	"slices"
	"sort"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Part is sorted, immutable rows of one bucket, in encoded columns. Reading is
// safe for any number of goroutines.
type Part struct {
	gen     *Generation
	bucket  int64
	rows    int
	series  encoding.Words
	columns []Column
	// ordinals says which header each row has, where a rewrite listed them: the
	// columns of the header share it.
	ordinals *encoding.Words
	minTime  int64
	maxTime  int64
	size     int

	begin, commit uint64

	// Whoever publishes granules keeps these, under a lock of its own.
	since uint64 // version of the first root that has the part
	uses  int    // slices of it in the current root
}

// Column is one concrete column of a part, outside of the series tuple.
type Column struct {
	Index int // in Schema.Columns
	Name  string
	encoding.Column
}

// smallPart is a part with room for the columns of a profile: one allocation.
type smallPart struct {
	Part
	few [5]Column
}

// newPart returns a part with room for so many columns.
func newPart(columns int) *Part {
	if columns > len(smallPart{}.few) {
		return &Part{columns: make([]Column, 0, columns)}
	}
	p := new(smallPart)
	p.columns = p.few[:0]
	return &p.Part
}

// seal derives what is known only when all columns are there.
func (p *Part) seal(s *schema.Schema) {
	const self = 192 + 128 // with the granule and the cell that lead to it
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
		words = table // of which each is some row's
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

// Stamp sets the ids of the transaction that inserted the rows. It is called
// once, by the commit that makes the part visible.
func (p *Part) Stamp(begin, commit uint64) { p.begin, p.commit = begin, commit }

// Begin returns the begin id of the transaction that inserted the rows: of
// several, the lowest.
func (p *Part) Begin() uint64 { return p.begin }

// Commit returns the commit id of the transaction that inserted the rows: of
// several, the highest.
func (p *Part) Commit() uint64 { return p.commit }

// Enter counts a slice of the part into the root of the given version, and says
// whether it is the first. Calls of Enter and Leave must not overlap: they are
// for the one who publishes roots.
func (p *Part) Enter(version uint64) (first bool) {
	if p.uses++; p.uses > 1 {
		return false
	}
	p.since = version
	return true
}

// Leave counts a slice of the part out of the current root, and says whether it
// was the last.
func (p *Part) Leave() (last bool) {
	p.uses--
	return p.uses == 0
}

// Since returns the version of the first root that has the part.
func (p *Part) Since() uint64 { return p.since }

// Rows returns the number of rows.
func (p *Part) Rows() int { return p.rows }

// Size returns the bytes that the part holds on the heap, its dictionaries not
// counted.
func (p *Part) Size() int { return p.size }

// Generation returns the dictionaries that the part's codes are of.
func (p *Part) Generation() *Generation { return p.gen }

// TimeRange returns the least and the greatest value of the bucket column; all
// of int64 without buckets.
func (p *Part) TimeRange() (lo, hi int64) { return p.minTime, p.maxTime }

// Series returns the series of each row: codes in Generation.Series.
func (p *Part) Series() *encoding.Words { return &p.series }

// Columns returns the columns that have a value, in schema order, concrete
// dynamic columns by name. It must not be changed.
func (p *Part) Columns() []Column { return p.columns }

// Find returns the concrete column of the given name, or nil if no row has a
// value in it. O(log columns).
func (p *Part) Find(column int, name string) *encoding.Column {
	lo, hi := 0, len(p.columns)
	for lo < hi { // as slices.BinarySearchFunc, in a quarter of the time: each query asks each part
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

// Slice is the rows [Lo, Hi) of a part.
type Slice struct {
	Part   *Part
	Lo, Hi int
}

// Rows returns the number of rows of the slice.
func (s Slice) Rows() int { return s.Hi - s.Lo }

// Size returns the slice's share of the part's bytes.
func (s Slice) Size() int {
	if s.Part == nil || s.Part.rows == 0 {
		return 0
	}
	return int(int64(s.Part.size) * int64(s.Rows()) / int64(s.Part.rows))
}

// Within returns the rows of the slice with lo <= key < hi; an empty hi means
// no upper bound. O(log rows) keys are decoded.
func (s Slice) Within(sch *schema.Schema, lo, hi string) Slice {
	from := s.search(sch, lo)
	to := s.Hi
	if hi != "" {
		to = s.search(sch, hi)
	}
	return Slice{s.Part, from, max(from, to)}
}

// search returns the first row of the slice whose key is not below bound.
func (s Slice) search(sch *schema.Schema, bound string) int {
	keyColumns := make([]Column, 0, len(s.Part.columns))
	for _, c := range s.Part.columns {
		if slices.Contains(sch.Suffix(), c.Index) {
			keyColumns = append(keyColumns, c)
		}
	}
	mem := takeSlab()
	defer mem.done()
	below := func(row int) bool {
		mem.used = 0
		return string(frameOfColumns(sch, s.Part, keyColumns, row, row+1, mem).appendKey(nil, 0)) < bound
	}
	switch { // mostly a slice is on one side of a bound as a whole
	case s.Rows() == 0 || !below(s.Lo):
		return s.Lo
	case below(s.Hi - 1):
		return s.Hi
	}
	return s.Lo + sort.Search(s.Rows(), func(i int) bool { return !below(s.Lo + i) })
}
