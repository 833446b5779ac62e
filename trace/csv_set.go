package trace

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/granarydb/granary/internal/ihs"
)

// Set makes an interval set from the rows, which may be in any order (T1). If an attribute changes several
// times at one instant, the last change counts. An attribute's intervals must not overlap. The errors name
// the file and the line.
func (t *CSV) Set() (*ihs.Set, error) {
	if len(t.key) == 0 {
		return nil, errors.New("there are no rows")
	}
	s := &ihs.Set{Attributes: t.attributes}
	s.Header.Keys = len(t.attributes)
	if err := t.bounds(&s.Header); err != nil {
		return nil, err
	}
	b := setBuilder{csv: t, kinds: t.decideKinds(), set: s, codes: map[string]uint64{}}
	rows, first := t.byAttribute()
	for key := range t.attributes {
		if err := b.addAttribute(uint32(key), rows[first[key]:first[key+1]]); err != nil {
			return nil, err
		}
	}
	s.Header.Intervals = s.Len()
	sortByEnd(s)
	return s, s.Check()
}

// bounds finds the first and the last instant.
func (t *CSV) bounds(h *ihs.Header) error {
	h.Start, h.End = math.MaxInt64, math.MinInt64
	for i, start := range t.starts {
		h.Start, h.End = min(h.Start, start), max(h.End, start, t.ends[i])
	}
	if start := t.options.Start; start != nil {
		if *start > h.Start {
			return fmt.Errorf("the start is behind the first row, of %d ns", h.Start)
		}
		h.Start = *start
	}
	if end := t.options.End; end != nil {
		if *end < h.End {
			return fmt.Errorf("the end is before the last row, of %d ns", h.End)
		}
		h.End = *end
	}
	if h.End-h.Start < 0 {
		return fmt.Errorf("from %d to %d ns is longer than a set can be", h.Start, h.End)
	}
	return nil
}

// byAttribute returns each attribute's rows in the order of their start, and the place of the first.
func (t *CSV) byAttribute() (rows []uint32, first []int) {
	first = make([]int, len(t.attributes)+1)
	for _, key := range t.key {
		first[key+1]++
	}
	for key := range t.attributes {
		first[key+1] += first[key]
	}
	next := slices.Clone(first)
	rows = make([]uint32, len(t.key))
	for row, key := range t.key {
		rows[next[key]] = uint32(row)
		next[key]++
	}
	for key := range t.attributes {
		byStart := func(a, b uint32) int { return cmp.Compare(t.starts[a], t.starts[b]) }
		if of := rows[first[key]:first[key+1]]; !slices.IsSortedFunc(of, byStart) {
			slices.SortStableFunc(of, byStart)
		}
	}
	return rows, first
}

// decideKinds returns each attribute's kind: the one named by its rows or the options, else the narrowest
// that holds all of its values, and each whole number exactly.
func (t *CSV) decideKinds() []ihs.Kind {
	widest := make([]csvClass, len(t.attributes))
	long := make([]bool, len(t.attributes))
	rounded := make([]bool, len(t.attributes)) // a float rounds an int
	for row, cell := range t.cells {
		key := t.key[row]
		widest[key] = max(widest[key], cell.class)
		long[key] = long[key] || cell.class == csvInt && int64(cell.word) != int64(int32(cell.word))
		rounded[key] = rounded[key] || cell.class == csvInt && !isExact(int64(cell.word))
	}
	kinds := make([]ihs.Kind, len(t.attributes))
	for key := range kinds {
		switch kind := t.kinds[key]; {
		case kind == "int", kind == "" && widest[key] == csvInt:
			kinds[key] = ihs.KindInt
			if long[key] || widest[key] > csvInt { // such as 1e9
				kinds[key] = ihs.KindLong
			}
		case kind == "float", kind == "" && (widest[key] == csvFloat || widest[key] == csvNumber) && !rounded[key]:
			kinds[key] = ihs.KindFloat
		case kind == "string", kind == "" && widest[key] != csvNull:
			kinds[key] = ihs.KindString
		}
	}
	return kinds
}

// text returns a value in its original spelling.
func (t *CSV) text(c csvCell) string {
	switch c.class {
	case csvNull:
		return ""
	case csvInt:
		return strconv.FormatInt(int64(c.word), 10)
	case csvFloat:
		return strconv.FormatFloat(math.Float64frombits(c.word), 'f', int(c.decimals), 64)
	}
	return t.texts[c.word]
}

// setBuilder adds attributes' rows to a set.
type setBuilder struct {
	csv   *CSV
	kinds []ihs.Kind
	set   *ihs.Set
	codes map[string]uint64 // texts in the set
	last  ihs.Interval      // the interval that may still grow
}

// addAttribute adds one attribute's rows.
func (b *setBuilder) addAttribute(key uint32, rows []uint32) error {
	h := b.set.Header
	next := h.Start // the first instant without a value
	before := 0     // the row of the interval before
	b.last = ihs.Interval{Start: next, End: next - 1, Key: key}
	for i, row := range rows {
		start, end := b.csv.starts[row], b.csv.ends[row]
		open := end < start
		if open {
			end = h.End
			if i+1 < len(rows) {
				end = b.csv.starts[rows[i+1]] - 1
			}
			if end < start {
				continue // the next row has the same time and counts
			}
		}
		value, err := b.value(key, b.csv.cells[row])
		if start < next {
			err = overlap(start, next-1, b.csv.lines[before])
		}
		if err != nil {
			if err := b.csv.skip(b.csv.rowError(row, err)); err != nil {
				return err
			}
			continue
		}
		before = int(row)
		if start > next {
			b.add(ihs.Interval{Start: next, End: start - 1, Key: key}, true)
		}
		value.Start, value.End = start, end
		b.add(value, open)
		next = end + 1
	}
	if next <= h.End {
		b.add(ihs.Interval{Start: next, End: h.End, Key: key}, true)
	}
	b.flush()
	return nil
}

// overlap returns the error for an interval that begins before another ends.
func overlap(start, end int64, line uint32) error {
	if start == end {
		return fmt.Errorf("%w: start %d is the end of the attribute's interval in line %d, which includes it", ErrTouch, start, line)
	}
	return fmt.Errorf("start %d is before the end of the attribute's interval in line %d, %d", start, line, end)
}

// add adds an interval. If its value equals its predecessor's and merge is set, or if both are null, it
// extends the predecessor.
func (b *setBuilder) add(in ihs.Interval, merge bool) {
	if l := &b.last; l.End >= l.Start && l.Kind == in.Kind && l.Word == in.Word && (merge || in.Kind == ihs.KindNull) {
		l.End = in.End
		return
	}
	b.flush()
	b.last = in
}

func (b *setBuilder) flush() {
	if b.last.End >= b.last.Start {
		b.set.Append(b.last)
	}
}

// value returns a value in its attribute's kind.
func (b *setBuilder) value(key uint32, c csvCell) (ihs.Interval, error) {
	out := ihs.Interval{Key: key, Kind: b.kinds[key], Word: c.word}
	switch {
	case c.class == csvNull:
		out.Kind = ihs.KindNull
	case out.Kind == ihs.KindString:
		text := b.csv.text(c)
		code, known := b.codes[text]
		if !known {
			code = uint64(len(b.set.Texts))
			b.codes[text] = code
			b.set.Texts = append(b.set.Texts, text)
		}
		out.Word = code
	case out.Kind == ihs.KindFloat && c.class != csvFloat:
		v, err := ParseValue(b.csv.text(c), "float")
		out.Word = math.Float64bits(v.Float())
		return out, err
	case out.Kind != ihs.KindFloat && c.class != csvInt:
		v, err := ParseValue(b.csv.text(c), "int")
		out.Word = uint64(v.Int())
		return out, err
	}
	return out, nil
}

// sortByEnd puts the intervals in a set's order.
func sortByEnd(s *ihs.Set) {
	order := make([]uint32, s.Len())
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(s.Ends[a], s.Ends[b]) })
	s.Keys, s.Starts, s.Ends = inOrder(s.Keys, order), inOrder(s.Starts, order), inOrder(s.Ends, order)
	s.Kinds, s.Words = inOrder(s.Kinds, order), inOrder(s.Words, order)
}

func inOrder[T any](column []T, order []uint32) []T {
	out := make([]T, len(column))
	for i, k := range order {
		out[i] = column[k]
	}
	return out
}
