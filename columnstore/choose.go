package columnstore

import (
	"context"
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/txn"
)

// span is the rows [lo, hi) of a part, or those that were picked one by one and have these
// places: all of one series.
type span struct {
	lo, hi int32
	series uint32
	picks  bool
}

// selection is chosen rows of one part, in order.
type selection struct {
	part   *granule.Part
	spans  []span
	picked []int32 // rows
	rows   int     // in all
}

// words appends a column's words of the chosen rows to dst.
func (s *selection) words(dst []uint64, words *encoding.Words) []uint64 {
	if len(s.spans) == 0 {
		return dst
	}
	if table, ordinals := words.Lookup(); table != nil {
		start := len(dst)
		dst = s.words(dst, ordinals)
		lookUp(dst[start:], table)
		return dst
	}
	lo, hi := s.hull()
	const (
		atLeast = 128 // rows are read for each span
		many    = 8   // of so many rows one chosen: all are read as fast
	)
	if many*s.rows > hi-lo || atLeast*len(s.spans) > hi-lo {
		start := len(dst)
		dst = words.Append(dst, lo, hi)
		return dst[:start+len(squeeze(s, dst[start:]))]
	}
	for _, r := range s.spans {
		if r.picks {
			dst = words.Pick(dst, s.picked[r.lo:r.hi])
		} else {
			dst = words.Append(dst, int(r.lo), int(r.hi))
		}
	}
	return dst
}

// lookUp replaces ordinals by the words of a table, which is decoded unless they are few.
func lookUp(ordinals []uint64, table *encoding.Words) {
	const few = 32 // rows of a table for each: less than what is read for one
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

// valid returns which of the chosen rows have a value in a column of a fixed type; nil
// if all have.
func (s *selection) valid(column *encoding.Column) []bool {
	if !column.Nulls() || len(s.spans) == 0 {
		return nil
	}
	lo, hi := s.hull()
	return squeeze(s, column.AppendValid(make([]bool, 0, hi-lo), lo, hi))
}

// hull returns the first of the chosen rows and the one after the last.
func (s *selection) hull() (lo, hi int) {
	first, last := s.spans[0], s.spans[len(s.spans)-1]
	lo, hi = int(first.lo), int(last.hi)
	if first.picks {
		lo = int(s.picked[lo])
	}
	if last.picks {
		hi = int(s.picked[hi-1]) + 1
	}
	return lo, hi
}

// squeeze moves what belongs to the chosen rows to the front of all, which has an
// element for each row of the hull, and returns it.
func squeeze[T any](s *selection, all []T) []T {
	if len(all) == s.rows {
		return all
	}
	n := 0
	first, _ := s.hull()
	for _, r := range s.spans {
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

// cut returns the first n of the chosen rows, and the others.
func (s *selection) cut(n int) (head, tail selection) {
	if n >= s.rows {
		return *s, selection{part: s.part}
	}
	head = selection{part: s.part, picked: s.picked, rows: n}
	tail = selection{part: s.part, picked: s.picked, rows: s.rows - n}
	i := 0
	for n >= int(s.spans[i].hi-s.spans[i].lo) {
		n -= int(s.spans[i].hi - s.spans[i].lo)
		i++
	}
	head.spans, tail.spans = slices.Clone(s.spans[:i]), slices.Clone(s.spans[i:])
	if n > 0 {
		first := tail.spans[0]
		first.hi = first.lo + int32(n)
		head.spans = append(head.spans, first)
		tail.spans[0].lo = first.hi
	}
	return head, tail
}

// chooser finds the rows for which a condition holds. It belongs to one goroutine:
// it remembers what it found of series and codes.
type chooser struct {
	work   *filterWork
	table  *Table
	filter *filter

	found  []*bucket                                 // that can have rows for which the condition holds
	last   *generationSeries                         // that was asked for
	gens   map[*granule.Generation]*generationSeries // nil until there are two, which mostly is never
	spans  []span
	slices []granule.Slice // of the granule at hand
}

// newChooser returns a chooser for a query, which gives it back with done.
func newChooser(ctx context.Context, t *Table, where Expr) (*chooser, error) {
	work := filterWorks.Get().(*filterWork)
	work.stop, work.stopped = func() bool { return ctx.Err() != nil }, false
	f, err := bind(t.schema, where, work)
	if err != nil {
		return nil, err
	}
	c := &chooser{table: t, filter: f, work: work}
	work.columns, work.manySeries = c.seriesColumns, c.manySeries
	return c, nil
}

func (c *chooser) done() {
	c.work.stop, c.work.columns, c.work.manySeries = nil, nil, nil
	c.work.series.Reset(nil)
	c.work.forgetGranules()
	c.work.walk.reset(nil)
	c.work.forget()
	filterWorks.Put(c.work)
}

// choose returns the chosen rows of a slice. They are good until the next call.
//
// What a series decides is not looked at row by row: rows of one that cannot hold are
// passed over, those of one that must are taken.
func (c *chooser) choose(s granule.Slice) selection {
	c.spans, c.work.picked = c.spans[:0], c.work.picked[:0]
	set := c.setOf(s.Part.Generation())
	if c.filter.ofPart(s.Part) == no {
		return selection{}
	}
	c.work.series.Reset(s.Part.Series())
	c.work.walk.reset(s.Part.Series())
	var open stretch // rows that no series decides
	for row := 0; row < s.Hi; {
		code, n := c.work.series.Next()
		lo, hi := max(row, s.Lo), min(row+n, s.Hi)
		row += n
		if lo >= hi {
			continue
		}
		v := set.of(uint32(code))
		if v != maybe || hi-lo >= manyRows || open.hi-open.lo >= manyRows && !open.mixed {
			c.look(s.Part, &open)
		}
		switch v {
		case yes:
			c.add(span{int32(lo), int32(hi), uint32(code), false})
		case maybe:
			open.extend(lo, hi, uint32(code))
		}
	}
	c.look(s.Part, &open)
	out := selection{part: s.Part, spans: c.spans, picked: c.work.picked}
	for _, r := range c.spans {
		out.rows += int(r.hi - r.lo)
	}
	return out
}

// add appends a span.
func (c *chooser) add(s span) {
	if n := len(c.spans); n > 0 {
		if last := &c.spans[n-1]; last.hi == s.lo && last.series == s.series && last.picks == s.picks {
			last.hi = s.hi
			return
		}
	}
	c.spans = append(c.spans, s)
}

// stretch is rows [lo, hi) in a row that are looked at together.
type stretch struct {
	lo, hi int
	series uint32 // of all of them, unless they are mixed
	mixed  bool
}

// manyRows is how many rows of one series are looked at by themselves: what series say
// need not be looked at row by row then.
const manyRows = 256

func (r *stretch) extend(lo, hi int, series uint32) {
	if r.hi == r.lo {
		*r = stretch{lo, hi, series, false}
		return
	}
	r.hi, r.mixed = hi, r.mixed || series != r.series
}

// look evaluates the condition on rows of which it differs, appends those for which it
// holds, and empties the stretch.
func (c *chooser) look(p *granule.Part, r *stretch) {
	if r.hi == r.lo {
		return
	}
	defer func() { *r = stretch{} }()
	lo, hi := r.lo, r.hi
	c.work.used = 0
	m := c.filter.eval(p, r)
	switch {
	case m.bits == nil && !m.all:
		return
	case m.bits != nil && m.scattered(hi-lo):
		c.pick(r, &m)
		return
	}
	m = mask{all: m.all, bits: c.work.wholeBits(&m, hi-lo)}
	for row := 0; row < hi-lo; {
		from := m.next(row, hi-lo, false)
		row = m.next(from, hi-lo, true)
		for from < row {
			series, end := r.series, row
			if r.mixed {
				series, end = c.work.walk.at(lo + from)
				end = min(end-lo, row)
			}
			c.add(span{int32(lo + from), int32(lo + end), series, false})
			from = end
		}
	}
}

// pick appends the rows of a stretch whose bits are set, one by one.
func (c *chooser) pick(r *stretch, m *mask) {
	picked := c.work.picked
	at := len(picked)
	for i, word := range m.bits {
		picked = slices.Grow(picked, 64)
		for row := int32(r.lo) + 64*(m.from+int32(i)); word != 0; word &= word - 1 {
			picked = append(picked, row+int32(bits.TrailingZeros64(word)))
		}
	}
	c.work.picked = picked
	if !r.mixed {
		c.add(span{int32(at), int32(len(picked)), r.series, true})
		return
	}
	for at < len(picked) {
		series, end := c.work.walk.at(int(picked[at]))
		from := at
		for at < len(picked) && int(picked[at]) < end {
			at++
		}
		c.add(span{int32(from), int32(at), series, true})
	}
}

// walk follows the series of a part's rows forwards.
type walk struct {
	runs   encoding.Cursor
	series uint32
	end    int // of its rows
}

func (w *walk) reset(words *encoding.Words) {
	w.runs.Reset(words)
	w.end = 0
}

// at returns the series of a row, not before the last that was asked for, and where its
// rows end.
func (w *walk) at(row int) (series uint32, end int) {
	for w.end <= row {
		code, n := w.runs.Next()
		w.series = uint32(code)
		w.end += n
	}
	return w.series, w.end
}

// generationSeries is what is known of the series of a generation. Those that come while the
// query runs are left out, and not of its snapshot.
type generationSeries struct {
	gen     *granule.Generation
	columns *granule.SeriesColumns
	set     seriesSet // what the filter says of them; none before it was asked for
}

// seriesOf returns what is known of a generation.
func (c *chooser) seriesOf(gen *granule.Generation) *generationSeries {
	if c.last != nil && c.last.gen == gen {
		return c.last
	}
	g := c.gens[gen]
	if g == nil {
		g = &generationSeries{gen: gen, columns: c.table.seriesColumns(gen)}
		if c.last != nil && c.gens == nil {
			c.gens = map[*granule.Generation]*generationSeries{c.last.gen: c.last}
		}
		if c.gens != nil {
			c.gens[gen] = g
		}
	}
	c.last = g
	return g
}

func (c *chooser) seriesColumns(gen *granule.Generation) *granule.SeriesColumns {
	return c.seriesOf(gen).columns
}

// setOf returns what the filter says of the series of a generation.
func (c *chooser) setOf(gen *granule.Generation) *seriesSet {
	g := c.seriesOf(gen)
	if g.set.some == nil {
		g.set = c.filter.ofSeries(gen, g.columns, nil)
	}
	return &g.set
}

// buckets returns those of a state that can have rows for which the condition holds, by
// time. A chooser is for one state.
func (c *chooser) buckets(state *tableState, where Expr) []*bucket {
	if c.found == nil {
		c.found = slices.AppendSeq(make([]*bucket, 0, 1), c.table.bucketsOf(state, where))
	}
	return c.found
}

// manySeries says whether rows of many of a generation's series can hold.
func (c *chooser) manySeries(gen *granule.Generation) bool {
	return bitset(c.setOf(gen).some).len()*onePassFrom > c.seriesColumns(gen).Len()
}

// estimate is about what a condition chooses, if all series have as many rows, and as many
// lists of their own.
type estimate struct {
	rows  int  // of some granules, of series that can hold
	lists int  // that these rows have
	sure  bool // those series hold whatever else their rows have, and are of one generation
	most  int  // lists of the largest dictionary
}

func (c *chooser) estimate(state *tableState, where Expr, rows int) (e estimate) {
	some, all := 0, 0
	var gen *granule.Generation
	e.sure = true
	for _, b := range c.buckets(state, where) {
		set := c.setOf(b.gen)
		for i, word := range b.series {
			all += bits.OnesCount64(word)
			some += bits.OnesCount64(word & set.some[i])
			e.sure = e.sure && word&set.some[i]&^set.all[i] == 0
		}
		e.sure = e.sure && (gen == nil || gen == b.gen)
		gen, e.most = b.gen, max(e.most, b.gen.Lists.Len())
	}
	share := float64(some) / float64(max(all, 1))
	e.rows = min(rows, int(float64(state.rows)*share))
	e.lists = min(e.rows, int(float64(e.most)*share))
	return e
}

// chosen yields the parts of a read that have rows for which where holds, with
// the rows, which are good until the next. Granules come in key order; with ordered, so
// do the rows.
func (t *Table) chosen(ctx context.Context, use txn.Use[*root], where Expr, ordered bool) iter.Seq2[selection, error] {
	return func(yield func(selection, error) bool) {
		c, err := newChooser(ctx, t, where)
		if err != nil {
			yield(selection{}, err)
			return
		}
		defer c.done()
		state := use.State.table(t.ordinal)
		if state == nil {
			return
		}
		for g, err := range c.reads(ctx, state, use, where) {
			if err != nil {
				yield(selection{}, err)
				return
			}
			if ordered && g.FreshParts() > 0 { // a base part alone is sorted
				g = granule.Rewrite(t.schema, g, granule.Limit{Rows: math.MaxInt})[0]
			}
			c.slices = g.AppendSlices(c.slices[:0])
			for _, slice := range c.slices {
				s := c.choose(slice)
				if c.work.stopped {
					yield(selection{}, ctx.Err())
					return
				}
				if s.rows > 0 && !yield(s, nil) {
					return
				}
			}
		}
	}
}
