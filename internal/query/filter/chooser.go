package filter

import (
	"context"
	"math/bits"
	"slices"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/schema"
)

// Chooser finds the rows for which a condition holds. It belongs to one goroutine, because it
// caches results for series and dictionary codes.
type Chooser struct {
	work   *filterWork
	source *Env
	state  *catalog.TableState // nil if the table is newer than the read
	where  Expr
	filter *filter

	found    []*catalog.BucketState                    // buckets with candidate rows
	last     *generationSeries                         // the generation looked up last
	gens     map[*granule.Generation]*generationSeries // nil until a second generation is looked up, which is rare
	cold     bool                                      // the bucket is cold: the query must not keep its dictionaries
	wide     bool                                      // the query reads or compares a wide column
	spans    []SeriesSpan
	sections []granule.Section // sections of the current granule
	count    count
}

// NewChooser returns a chooser for the rows of a read for which where holds. wide reports whether the query
// reads a wide column of the chosen rows (Env.IsWide). If neither the query nor where reads a wide column,
// the parts of cold rows can lack them. The caller must call Done. Errors wrap ErrQuery.
func NewChooser(ctx context.Context, r *Read, where Expr, wide bool) (*Chooser, error) {
	src := r.Env
	work := filterWorks.Get().(*filterWork)
	work.stop, work.stopped = func() bool { return ctx.Err() != nil }, false
	f, err := bind(src.Schema, where, work)
	if err != nil {
		return nil, err
	}
	c := &Chooser{source: src, state: r.State, where: where, filter: f, work: work, wide: wide || f.readsWide(src)}
	c.count.all, _ = ctx.Value(countsKey{}).(*Counts)
	work.columns, work.manySeries = c.seriesColumns, c.manySeries
	return c, nil
}

// Done returns the chooser's working memory to a pool. Its selections are then invalid.
func (c *Chooser) Done() {
	c.count.done()
	c.work.stop, c.work.columns, c.work.manySeries = nil, nil, nil
	c.work.series.Reset(nil)
	c.work.forgetGranules()
	c.work.walk.reset(nil)
	c.work.forget()
	filterWorks.Put(c.work)
}

// Parts returns a granule's sections, oldest first. They are valid until the next call.
func (c *Chooser) Parts(g *granule.Granule) []granule.Section {
	c.count.granules++
	c.sections = g.AppendSections(c.sections[:0])
	return c.sections
}

// Cancelled reports whether the query was cancelled. Later selections are meaningless.
func (c *Chooser) Cancelled() bool { return c.work.stopped }

// TakeElements removes from the condition the conjuncts on the elements in a list column and returns
// them. Choose then returns more rows, and the caller applies the conjuncts.
func (c *Chooser) TakeElements(column schema.Concrete) []ElementCondition {
	return c.filter.takeElements(column)
}

// Choose returns the chosen rows in a section. They are valid until the next call.
//
// Rows are not evaluated if their series decides the condition: all rows in a series that cannot match
// are skipped, and all rows in a series that must match are chosen.
func (c *Chooser) Choose(s granule.Section) Selection {
	c.spans, c.work.picked = c.spans[:0], c.work.picked[:0]
	set := c.seriesSet(s.Part.Generation())
	if c.filter.ofPart(s.Part) == no {
		return Selection{}
	}
	c.count.parts, c.count.rows = c.count.parts+1, c.count.rows+int64(s.Hi-s.Lo)
	c.work.series.Reset(s.Part.Series())
	c.work.walk.reset(s.Part.Series())
	var open openRows // rows whose series does not decide the condition
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
			c.add(SeriesSpan{int32(lo), int32(hi), uint32(code), false})
		case maybe:
			open.extend(lo, hi, uint32(code))
		}
	}
	c.look(s.Part, &open)
	out := Selection{Part: s.Part, Spans: c.spans, picked: c.work.picked}
	for _, r := range c.spans {
		out.Rows += int(r.hi - r.lo)
	}
	c.count.chosen += int64(out.Rows)
	return out
}

// add appends a span. It merges adjoining spans.
func (c *Chooser) add(s SeriesSpan) {
	if n := len(c.spans); n > 0 {
		if last := &c.spans[n-1]; last.hi == s.lo && last.Series == s.Series && last.picks == s.picks {
			last.hi = s.hi
			return
		}
	}
	c.spans = append(c.spans, s)
}

// look evaluates the condition on the open rows, appends matching rows, and empties r.
func (c *Chooser) look(p *granule.Part, r *openRows) {
	if r.hi == r.lo {
		return
	}
	defer func() { *r = openRows{} }()
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
				series, end = c.work.walk.seriesAt(lo + from)
				end = min(end-lo, row)
			}
			c.add(SeriesSpan{int32(lo + from), int32(lo + end), series, false})
			from = end
		}
	}
}

// pick appends the open rows whose bits are set.
func (c *Chooser) pick(r *openRows, m *mask) {
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
		c.add(SeriesSpan{int32(at), int32(len(picked)), r.series, true})
		return
	}
	for at < len(picked) {
		series, end := c.work.walk.seriesAt(int(picked[at]))
		from := at
		for at < len(picked) && int(picked[at]) < end {
			at++
		}
		c.add(SeriesSpan{int32(from), int32(at), series, true})
	}
}
