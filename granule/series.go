package granule

import (
	"bytes"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/schema"
)

// SeriesColumns has the series of a generation column by column, because conditions on labels, and the values
// of labels, need one column of all series, not the tuple of each series. It is immutable, except for the
// last result of AllTuples.
type SeriesColumns struct {
	len     int // number of series, whose codes are 1 to len
	columns map[string]SeriesColumn
	size    int

	all atomic.Pointer[allTuples] // the last result of AllTuples
}

// SeriesColumn is a concrete column of a generation's series. It must not be changed.
type SeriesColumn struct {
	Values []string   // distinct
	Series [][]uint32 // by value: ascending codes of the series with the value
	tags   []byte     // one byte of the hash, by value
}

// Place returns a value's index in Values, or -1. It costs about 0.1 ns per value.
func (c *SeriesColumn) Place(value string) int {
	tag := tagOf(value)
	for at := 0; ; at++ {
		skip := bytes.IndexByte(c.tags[at:], tag)
		if skip < 0 {
			return -1
		}
		if at += skip; c.Values[at] == value {
			return at
		}
	}
}

var tagSeed = maphash.MakeSeed()

func tagOf(value string) byte { return byte(maphash.String(tagSeed, value)) }

// seriesColumns is the cached SeriesColumns of a generation.
type seriesColumns struct {
	latest atomic.Pointer[SeriesColumns]

	mu     sync.Mutex                   // held while the next result is made
	places map[string]map[string]uint32 // index of each value in latest, by column
}

// Len returns the number of series. Their codes are 1 to Len.
func (c *SeriesColumns) Len() int { return c.len }

// Column returns a concrete column, which is empty if no series has a value in it.
func (c *SeriesColumns) Column(name string) SeriesColumn { return c.columns[name] }

// Each calls f with each concrete column, in no particular order.
func (c *SeriesColumns) Each(f func(name string, column SeriesColumn)) {
	for name, column := range c.columns {
		f(name, column)
	}
}

// SeriesColumns returns the columns of all series that have a code, including series of uncommitted inserts.
// A series added since the last call costs a few us, and each of its columns a copy of 24 bytes for each
// distinct value. keep decides whether `bytes` bytes, an upper bound, may be cached for the next caller. kept
// reports whether they were; Size has then changed.
func (g *Generation) SeriesColumns(s *schema.Schema, keep func(bytes int) bool) (columns *SeriesColumns, kept bool) {
	if c := g.columns.latest.Load(); c != nil && c.len == g.Series.Len() {
		return c, false
	}
	g.columns.mu.Lock()
	defer g.columns.mu.Unlock()
	before := g.columns.latest.Load()
	if before == nil {
		before = &SeriesColumns{columns: map[string]SeriesColumn{}}
	}
	n := g.Series.Len()
	if before.len == n {
		return before, false
	}
	var tuples [][]schema.SeriesValue
	most := 0
	for code := before.len + 1; code <= n; code++ {
		labels, err := s.ReadTuple(g.Series.Value(uint32(code)))
		if err != nil {
			panic("granule: " + err.Error()) // broken invariant: this process makes all tuples
		}
		tuples = append(tuples, labels)
		for _, l := range labels {
			most += columnSize + len(l.Name) + valueSize + len(l.Value) + labelSize
		}
	}
	kept = keep(most)
	c := &SeriesColumns{len: n, columns: maps.Clone(before.columns), size: before.size}
	places := g.columns.places
	if places == nil {
		places = map[string]map[string]uint32{}
	} else if !kept {
		places = maps.Clone(places)
	}
	m := seriesMaker{columns: c, places: places, own: map[string]bool{}, alone: !kept}
	for i, labels := range tuples {
		for _, l := range labels {
			m.add(uint32(before.len+1+i), l)
		}
	}
	if kept {
		g.columns.places = places
		g.columns.latest.Store(c)
	}
	return c, kept
}

// Bytes for a column, for a value in it, and for a series with the value. They allow for slices with up to
// twice the needed capacity.
const (
	columnSize = 256
	valueSize  = 2*(16+24+1) + 48 + 16
	labelSize  = 2 * 4
)

// seriesMaker adds labels to columns. A cached result appends to slices beyond the lengths
// that readers see. A result that is not cached appends to copies.
type seriesMaker struct {
	columns *SeriesColumns
	places  map[string]map[string]uint32 // places of values, by column
	own     map[string]bool              // columns whose lists are copied
	alone   bool
}

func (m *seriesMaker) add(series uint32, l schema.SeriesValue) {
	c := m.columns
	of, known := c.columns[l.Name]
	if !known {
		c.size += columnSize + len(l.Name)
	}
	if !m.own[l.Name] {
		m.own[l.Name] = true
		m.prepare(l.Name, &of)
	}
	at, known := m.places[l.Name][l.Value]
	if !known {
		at = uint32(len(of.Values))
		m.places[l.Name][l.Value] = at
		of.Values, of.Series, of.tags = append(of.Values, l.Value), append(of.Series, nil), append(of.tags, tagOf(l.Value))
		c.size += valueSize + len(l.Value)
	}
	of.Series[at] = append(of.Series[at], series)
	c.columns[l.Name] = of
	c.size += labelSize
}

// prepare makes a column writable.
func (m *seriesMaker) prepare(name string, of *SeriesColumn) {
	of.Series = slices.Clone(of.Series)
	places := m.places[name]
	if m.alone {
		places = maps.Clone(places)
		of.Values, of.tags = slices.Clip(of.Values), slices.Clip(of.tags)
		for i, series := range of.Series {
			of.Series[i] = slices.Clip(series)
		}
	}
	if places == nil {
		places = map[string]uint32{}
	}
	m.places[name] = places
}
