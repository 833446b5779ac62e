package render

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/granarydb/granary/history"
)

// appendIntervals appends a row's intervals, clipped to the range, as varints:
//
//	first interval's time before the range | last interval's time after the range, twice, plus 1 if it is open
//	for each interval: code, 0 is null | instants - 1
func (p *pageWriter) appendIntervals(data []byte, r *graphRow) ([]byte, error) {
	g := p.g
	var states []byte
	var before, behind uint64
	for in, err := range g.view.Range(r.attribute, g.from, g.to, history.RangeOptions{}) {
		if err != nil {
			return nil, err
		}
		start, end := in.Start, in.End
		if start < g.from {
			before = uint64(g.from) - uint64(start)
			start = g.from
		}
		if end >= g.to {
			behind = (uint64(end) - uint64(g.to)) * 2
			end = g.to
			if in.Open {
				behind++
			}
		}
		states = binary.AppendUvarint(states, uint64(p.codeIn(r, in.Value)))
		states = binary.AppendUvarint(states, uint64(end)-uint64(start))
	}
	data = binary.AppendUvarint(data, before)
	data = binary.AppendUvarint(data, behind)
	return append(data, states...), nil
}

// pageBounds returns the first instants of evenly spaced columns, counted from the range's start, and the
// number of instants (0 for 2^64) after them. If there are fewer instants than columns, some columns are
// empty.
func pageBounds(from, to int64, columns int) []uint64 {
	bounds := make([]uint64, columns+1)
	span := uint64(to) - uint64(from)
	for i := range bounds {
		bounds[i] = columnStart(span, i, columns)
	}
	return bounds
}

// columnStart returns i/n of span + 1, rounded down: 0 for 2^64.
func columnStart(span uint64, i, n int) uint64 {
	if i == n {
		return span + 1
	}
	each, rest := span/uint64(n), span%uint64(n)+1 // rest is at most n
	return each*uint64(i) + rest*uint64(i)/uint64(n)
}

// columnsOf calls take with the parts of a row's intervals in columns: each column's parts from left to
// right, with the number of instants.
func (p *pageWriter) columnsOf(r *graphRow, take func(column int, v history.Value, instants uint64)) error {
	g := p.g
	bounds := pageBounds(g.from, g.to, p.columns)
	column := 0
	for in, err := range g.view.Range(r.attribute, g.from, g.to, history.RangeOptions{}) {
		if err != nil {
			return err
		}
		at, last := uint64(max(in.Start, g.from))-uint64(g.from), uint64(min(in.End, g.to))-uint64(g.from)
		for {
			for column+1 < p.columns && bounds[column+1] <= at {
				column++
			}
			end := bounds[column+1] - 1 // 2^64 - 1 for 0
			if last <= end {
				take(column, in.Value, last-at+1)
				break
			}
			take(column, in.Value, end-at+1)
			at = end + 1
		}
	}
	return nil
}

// share is a state's time in a column.
type share struct {
	code     int
	instants uint64
}

// restCode means states without their own share in their column, or without their own name. It exceeds all
// other codes: there is at most one value for each interval of a page, or pageValues.
const restCode = pageIntervals + pageValues + 1

// appendShares appends the shares of a row's columns, as varints. For a column with states of several
// codes:
//
//	number of shares | for each: code, 0 is null, restCode the rest | instants
//
// and for a run of columns with a single code:
//
//	0 | code | number of columns
//
// The shares of a column are in code order.
func (p *pageWriter) appendShares(data []byte, r *graphRow) ([]byte, error) {
	out := shareWriter{data: data}
	column := -1
	var shares []share
	var places map[int]int
	err := p.columnsOf(r, func(at int, v history.Value, instants uint64) {
		if at != column {
			out.column(shares)
			column, shares, places = at, shares[:0], map[int]int{}
		}
		code := p.codeIn(r, v)
		place, known := places[code]
		if !known {
			place = len(shares)
			places[code], shares = place, append(shares, share{code: code})
		}
		shares[place].instants += instants
	})
	out.column(shares)
	out.end()
	return out.data, err
}

// shareWriter writes the shares of columns.
type shareWriter struct {
	data []byte
	code int // code of a run of columns
	run  int
}

// column writes a column. shares is empty before the first column, and then nothing is written.
func (w *shareWriter) column(shares []share) {
	if len(shares) == 0 {
		return
	}
	if len(shares) == 1 {
		if w.run > 0 && w.code != shares[0].code {
			w.end()
		}
		w.code = shares[0].code
		w.run++
		return
	}
	w.end()
	slices.SortFunc(shares, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.instants, a.instants), cmp.Compare(a.code, b.code))
	})
	kept := shares[:min(len(shares), pageShares)]
	rest := share{code: restCode}
	for _, s := range shares[len(kept):] {
		rest.instants += s.instants
	}
	slices.SortFunc(kept, func(a, b share) int { return a.code - b.code })
	n := len(kept)
	if rest.instants > 0 {
		n++
	}
	w.data = binary.AppendUvarint(w.data, uint64(n))
	for _, s := range kept {
		w.data = binary.AppendUvarint(binary.AppendUvarint(w.data, uint64(s.code)), s.instants)
	}
	if rest.instants > 0 {
		w.data = binary.AppendUvarint(binary.AppendUvarint(w.data, uint64(rest.code)), rest.instants)
	}
}

// end ends a run of columns.
func (w *shareWriter) end() {
	if w.run > 0 {
		w.data = binary.AppendUvarint(append(w.data, 0), uint64(w.code))
		w.data = binary.AppendUvarint(w.data, uint64(w.run))
		w.run = 0
	}
}

// appendNumbers appends the numbers of a row's columns:
//
//	varint of the instants with a number | if there are any: least | mean over time | greatest, 8 bytes each
func (p *pageWriter) appendNumbers(data []byte, r *graphRow) ([]byte, error) {
	column := 0
	least, most, mean, instants := math.Inf(1), math.Inf(-1), 0.0, uint64(0)
	flush := func() {
		data = binary.AppendUvarint(data, instants)
		if instants > 0 {
			for _, f := range []float64{least, min(max(mean, least), most), most} {
				data = binary.LittleEndian.AppendUint64(data, math.Float64bits(f))
			}
		}
		least, most, mean, instants = math.Inf(1), math.Inf(-1), 0, 0
	}
	err := p.columnsOf(r, func(at int, v history.Value, n uint64) {
		for ; column < at; column++ {
			flush()
		}
		if f, ok := number(v); ok {
			instants += n
			least, most, mean = min(least, f), max(most, f), mean+(f-mean)*(float64(n)/float64(instants))
		}
	})
	for ; column < p.columns; column++ {
		flush()
	}
	return data, err
}
