package granule

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/schema"
)

// SeriesColumns is the series of a generation column by column: conditions on labels and
// answers about them look at one column of all series, not at the tuples of each. It is
// immutable.
type SeriesColumns struct {
	len     int // series 1 to len are in
	columns map[string]SeriesColumn
	size    int

	from  *SeriesColumns               // what it was made of, until it is kept
	added map[string]map[string]uint32 // by column, the values that from does not have
}

// SeriesColumn is one concrete column of the series of a generation. It must not be
// changed.
type SeriesColumn struct {
	Values []string   // distinct
	Series [][]uint32 // by value: codes of the series that have it, rising
}

// seriesColumns is what a generation keeps of them.
type seriesColumns struct {
	latest atomic.Pointer[SeriesColumns]

	mu     sync.Mutex                   // of who makes the next
	places map[string]map[string]uint32 // of the values of the latest, by column
}

// Len returns the number of series: codes 1 to Len are in.
func (c *SeriesColumns) Len() int { return c.len }

// Column returns a concrete column; one that no series has a value in is empty.
func (c *SeriesColumns) Column(name string) SeriesColumn { return c.columns[name] }

// Each calls f with each concrete column, in no order.
func (c *SeriesColumns) Each(f func(name string, column SeriesColumn)) {
	for name, column := range c.columns {
		f(name, column)
	}
}

// SeriesColumns returns the columns of all series that have a code by now, those of
// inserts that are not committed included. Where series have come since somebody asked,
// they are taken in, for about 5 us each, and bytes is what keeping the result takes: the
// caller does so with KeepSeriesColumns, or does not.
func (g *Generation) SeriesColumns(s *schema.Schema) (columns *SeriesColumns, bytes int) {
	if c := g.columns.latest.Load(); c != nil && c.len == g.Series.Len() {
		return c, 0
	}
	g.columns.mu.Lock()
	defer g.columns.mu.Unlock()
	before := g.columns.latest.Load()
	if before == nil {
		before = &SeriesColumns{columns: map[string]SeriesColumn{}}
	}
	n := g.Series.Len()
	if before.len == n {
		return before, 0
	}
	c := &SeriesColumns{len: n, columns: maps.Clone(before.columns), size: before.size, from: before, added: map[string]map[string]uint32{}}
	for code := before.len + 1; code <= n; code++ {
		labels, err := s.ReadTuple(g.Series.Value(uint32(code)))
		if err != nil {
			panic("granule: " + err.Error()) // broken invariant: tuples are made by this process
		}
		for _, l := range labels {
			c.add(uint32(code), l, g.columns.places[l.Name])
		}
	}
	return c, c.size - before.size
}

// KeepSeriesColumns keeps what SeriesColumns returned for who asks next, and returns by
// how much Size grows: not at all if others have been kept meanwhile.
func (g *Generation) KeepSeriesColumns(c *SeriesColumns) (bytes int) {
	g.columns.mu.Lock()
	defer g.columns.mu.Unlock()
	if before := g.columns.latest.Load(); before != c.from && (before != nil || c.from.len > 0) || c.from == nil {
		return 0
	}
	if g.columns.places == nil {
		g.columns.places = map[string]map[string]uint32{}
	}
	for name, added := range c.added {
		if places := g.columns.places[name]; places != nil {
			maps.Copy(places, added)
		} else {
			g.columns.places[name] = added
		}
	}
	bytes = c.size - c.from.size
	c.from, c.added = nil, nil
	g.columns.latest.Store(c)
	return bytes
}

// add adds a label. places are those of the values that are there already.
func (c *SeriesColumns) add(series uint32, l schema.Label, places map[string]uint32) {
	const label, value, column = 2 * 4, 2*(16+24) + 48 + 16, 256 // slices have up to twice the room
	of, known := c.columns[l.Name]
	if !known {
		c.size += column + len(l.Name)
	}
	added := c.added[l.Name]
	if added == nil { // the first of this column: what others hold is not written behind its end
		added = map[string]uint32{}
		c.added[l.Name] = added
		of.Values, of.Series = slices.Clip(of.Values), slices.Clone(of.Series)
		for i, series := range of.Series {
			of.Series[i] = slices.Clip(series)
		}
	}
	at, known := places[l.Value]
	if !known {
		at, known = added[l.Value]
	}
	if !known {
		at = uint32(len(of.Values))
		added[l.Value] = at
		of.Values, of.Series = append(of.Values, l.Value), append(of.Series, nil)
		c.size += value + len(l.Value)
	}
	of.Series[at] = append(of.Series[at], series)
	c.columns[l.Name] = of
	c.size += label
}
