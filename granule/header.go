package granule

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// headers has the values of a frame's rows in the columns of Schema.Header: a list of combinations, and
// the index of each row's combination.
type headers struct {
	table    [][]uint64 // by column, a word for each header
	ordinals []uint64   // nil: all rows have header 0
	merged   []uint64   // merged number of each header, for the current series
}

// of returns the merged header of a row.
func (h *headers) of(row int) uint64 {
	if h.ordinals == nil {
		return h.merged[0]
	}
	return h.merged[h.ordinals[row]]
}

// headers finds a frame's headers. Rewritten parts have stored headers. A fresh part usually has one header.
func (f *frame) headers(mem *slab) headers {
	var h headers
	columns := f.headerColumns()
	n, listed := 1, true
	for _, fc := range columns {
		switch {
		case fc.constant:
		case len(fc.ordinals) == 0:
			listed = false
		default:
			h.ordinals, n = fc.ordinals, len(fc.words)
		}
	}
	if listed {
		h.list(columns, n)
	} else {
		h.collect(columns, len(f.series), mem)
	}
	h.merged = mem.room(h.len())[:h.len()]
	return h
}

// headerColumns returns the header's columns, which every frame has.
func (f *frame) headerColumns() []*frameColumn {
	var columns []*frameColumn
	for _, column := range f.schema.Header() {
		columns = append(columns, f.find(columnKey{column, f.schema.Columns()[column].Name}))
	}
	return columns
}

func (h *headers) len() int {
	if len(h.table) == 0 {
		return 1
	}
	return len(h.table[0])
}

// list adopts the columns in a frame that has n stored headers.
func (h *headers) list(columns []*frameColumn, n int) {
	for _, fc := range columns {
		words := fc.words
		if fc.constant && n > 1 {
			words = slices.Repeat(words, n)
		}
		h.table = append(h.table, words)
	}
}

// collect finds the distinct combinations of the rows.
func (h *headers) collect(columns []*frameColumn, rows int, mem *slab) {
	h.table = make([][]uint64, len(columns))
	h.ordinals = mem.room(rows)
	known := map[string]uint64{}
	var key []byte
	for row := range rows {
		key = key[:0]
		for _, fc := range columns {
			key = binary.LittleEndian.AppendUint64(key, fc.word(row))
		}
		ordinal, ok := known[string(key)]
		if !ok {
			ordinal = uint64(len(known))
			known[string(key)] = ordinal
			for i, fc := range columns {
				h.table[i] = append(h.table[i], fc.word(row))
			}
		}
		h.ordinals = append(h.ordinals, ordinal)
	}
}

// addHeaders numbers the distinct headers of a series for the merge, ordered by word. The ordinals of a
// series are therefore a range, and ascend within a stack.
func (m *merged) addHeaders(stretches []stretch) {
	if len(m.headers) == 0 {
		return
	}
	type use struct{ frame, header int }
	var uses []use
	for _, s := range stretches {
		h := &m.of[s.frame]
		if h.ordinals == nil {
			uses = append(uses, use{int(s.frame), 0})
			continue
		}
		for _, o := range distinct(h.ordinals[s.lo:s.hi]) {
			uses = append(uses, use{int(s.frame), int(o)})
		}
	}
	s := m.frames[0].schema
	compare := func(a, b use) int {
		for i := range m.headers {
			x, y := m.of[a.frame].table[i][a.header], m.of[b.frame].table[i][b.header]
			if x != y {
				t := s.Columns()[s.Header()[i]].Type
				return cmp.Compare(schema.OrderedWord(t, x), schema.OrderedWord(t, y))
			}
		}
		return 0
	}
	slices.SortFunc(uses, compare)
	m.first = uint64(len(m.headers[0]))
	for i, u := range uses {
		if i == 0 || compare(uses[i-1], u) != 0 {
			for c := range m.headers {
				m.headers[c] = append(m.headers[c], m.of[u.frame].table[c][u.header])
			}
		}
		m.of[u.frame].merged[u.header] = uint64(len(m.headers[0]) - 1)
	}
}

// distinct returns the distinct ordinals in order. The ordinals of a series are usually a range. If they are
// sparse, it sorts them, because scanning the range would cost more.
func distinct(ordinals []uint64) []uint64 {
	lo, hi := slices.Min(ordinals), slices.Max(ordinals)
	if hi-lo > 2*uint64(len(ordinals)) {
		sorted := slices.Clone(ordinals)
		slices.Sort(sorted)
		return slices.Compact(sorted)
	}
	present := make([]bool, hi-lo+1)
	for _, o := range ordinals {
		present[o-lo] = true
	}
	var out []uint64
	for i, p := range present {
		if p {
			out = append(out, lo+uint64(i))
		}
	}
	return out
}

// header returns the columns of the headers in use by rows [lo, hi), and each row's index among these
// headers. ordinals is nil if one header is in use.
func (m *merged) header(lo, hi int) (ordinals *encoding.Words, table map[int][]uint64) {
	if len(m.headers) == 0 {
		return nil, nil
	}
	rows := m.ordinals[lo:hi]
	first, last := slices.Min(rows), slices.Max(rows)
	// A split within a series leaves headers without rows on either side.
	place := make([]uint64, last-first+1) // 1 more than the index among the headers in use
	for _, o := range rows {
		place[o-first] = 1
	}
	used := uint64(0)
	for i, p := range place {
		if p != 0 {
			used++
			place[i] = used
		}
	}
	table = map[int][]uint64{}
	constant := true
	for i, column := range m.frames[0].schema.Header() {
		words := make([]uint64, 0, used)
		for k, p := range place {
			if p != 0 {
				words = append(words, m.headers[i][first+uint64(k)])
			}
		}
		table[column] = words
		constant = constant && slices.Min(words) == slices.Max(words)
	}
	if constant {
		return nil, table
	}
	relative := m.mem.room(len(rows))
	for _, o := range rows {
		relative = append(relative, place[o-first]-1)
	}
	words := encoding.EncodeOrdinals(relative)
	return &words, table
}

// seriesWords returns the series of rows [lo, hi).
func (m *merged) seriesWords(lo, hi int) []uint64 {
	words := m.mem.room(hi - lo)
	for _, r := range m.order[lo:hi] {
		words = append(words, uint64(m.frames[r.frame].series[r.row]))
	}
	return words
}
