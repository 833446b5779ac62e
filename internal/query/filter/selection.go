package filter

import (
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
)

// SeriesSpan is a span of chosen rows in one series: the rows [lo, hi) of the part, or, with picks, the
// places [lo, hi) of the selection's picked rows.
type SeriesSpan struct {
	lo, hi int32
	Series uint32
	picks  bool
}

// Selection is the chosen rows in a part, in row order.
type Selection struct {
	Part   *granule.Part
	Spans  []SeriesSpan
	picked []int32 // row numbers of the spans with picks
	Rows   int     // number of chosen rows
}

// SelectRows returns a selection of rows in a part. The rows ascend and belong to one series. The
// selection keeps the slice.
func SelectRows(p *granule.Part, series uint32, rows []int32) Selection {
	spans := []SeriesSpan{{0, int32(len(rows)), series, true}}
	return Selection{Part: p, Spans: spans, picked: rows, Rows: len(rows)}
}

// AppendRows appends the numbers of the chosen rows in the part to dst.
func (s *Selection) AppendRows(dst []int32) []int32 {
	for _, r := range s.Spans {
		if r.picks {
			dst = append(dst, s.picked[r.lo:r.hi]...)
			continue
		}
		for row := r.lo; row < r.hi; row++ {
			dst = append(dst, row)
		}
	}
	return dst
}

// Words appends a column's words for the chosen rows to dst.
func (s *Selection) Words(dst []uint64, words *encoding.Words) []uint64 {
	if len(s.Spans) == 0 {
		return dst
	}
	if table, ordinals := words.Lookup(); table != nil {
		start := len(dst)
		dst = s.Words(dst, ordinals)
		LookUp(dst[start:], table)
		return dst
	}
	lo, hi := s.hull()
	const (
		atLeast = 128 // rows that can be decoded in the time that a span costs
		many    = 8   // rows that can be decoded in the time that a chosen row costs
	)
	if many*s.Rows > hi-lo || atLeast*len(s.Spans) > hi-lo {
		start := len(dst)
		dst = words.Append(dst, lo, hi)
		return dst[:start+len(squeeze(s, dst[start:]))]
	}
	for _, r := range s.Spans {
		if r.picks {
			dst = words.Pick(dst, s.picked[r.lo:r.hi])
		} else {
			dst = words.Append(dst, int(r.lo), int(r.hi))
		}
	}
	return dst
}

// Valid reports for each chosen row whether it has a value in a fixed-type column. It returns nil if all
// rows have one.
func (s *Selection) Valid(column *encoding.Column) []bool {
	if !column.Nulls() || len(s.Spans) == 0 {
		return nil
	}
	lo, hi := s.hull()
	return squeeze(s, column.AppendValid(make([]bool, 0, hi-lo), lo, hi))
}

// hull returns the first chosen row and the row after the last.
func (s *Selection) hull() (lo, hi int) {
	first, last := s.Spans[0], s.Spans[len(s.Spans)-1]
	lo, hi = int(first.lo), int(last.hi)
	if first.picks {
		lo = int(s.picked[lo])
	}
	if last.picks {
		hi = int(s.picked[hi-1]) + 1
	}
	return lo, hi
}

// Split returns the first n chosen rows, and the other rows. Both share memory with s.
func (s *Selection) Split(n int) (head, tail Selection) {
	if n >= s.Rows {
		return *s, Selection{Part: s.Part}
	}
	head = Selection{Part: s.Part, picked: s.picked, Rows: n}
	tail = Selection{Part: s.Part, picked: s.picked, Rows: s.Rows - n}
	i := 0
	for n >= int(s.Spans[i].hi-s.Spans[i].lo) {
		n -= int(s.Spans[i].hi - s.Spans[i].lo)
		i++
	}
	head.Spans, tail.Spans = slices.Clone(s.Spans[:i]), slices.Clone(s.Spans[i:])
	if n > 0 {
		first := tail.Spans[0]
		first.hi = first.lo + int32(n)
		head.Spans = append(head.Spans, first)
		tail.Spans[0].lo = first.hi
	}
	return head, tail
}

// squeeze moves the elements of the chosen rows to the front of all and returns them. all has an element
// for each row of the hull.
func squeeze[T any](s *Selection, all []T) []T {
	if len(all) == s.Rows {
		return all
	}
	n := 0
	first, _ := s.hull()
	for _, r := range s.Spans {
		if !r.picks {
			n += copy(all[n:], all[int(r.lo)-first:int(r.hi)-first])
			continue
		}
		for _, row := range s.picked[r.lo:r.hi] {
			all[n] = all[int(row)-first]
			n++
		}
	}
	return all[:n]
}

// SameSeries returns the number of rows in the leading spans of one series, and the spans after them.
func SameSeries(spans []SeriesSpan) (rows int, rest []SeriesSpan) {
	rest = spans
	for len(rest) > 0 && rest[0].Series == spans[0].Series {
		rows += int(rest[0].hi - rest[0].lo)
		rest = rest[1:]
	}
	return rows, rest
}

// LookUp replaces ordinals by words of a table. It decodes the table unless there are few ordinals.
func LookUp(ordinals []uint64, table *encoding.Words) {
	const few = 32 // table rows per ordinal: decoding them costs more than one random read
	if len(ordinals)*few < table.Len() {
		for i, ordinal := range ordinals {
			ordinals[i] = table.At(int(ordinal))
		}
		return
	}
	all := table.Append(make([]uint64, 0, table.Len()), 0, table.Len())
	for i, ordinal := range ordinals {
		ordinals[i] = all[ordinal]
	}
}
