package columnstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// aggregator sums rows by group. It belongs to one goroutine.
//
// A group's key is a word and a byte for each column of By but the first list, whose place
// is empty: it has cells of its own beneath the group. Codes of strings mean different things in
// different generations: they are translated into dictionaries of the query, each once.
// Those of lists are not, until all is summed.
type aggregator struct {
	table *Table
	sum   int // column, or -1
	name  string
	step  int64
	time  int // column that step is about, or -1
	by    []*byColumn
	list  int // in by: the list column that has its own cells, or -1

	expected int // lists of the only group, if all series have as many; 0: not known
	parts    int // of the granules that they are in
	noCounts bool
	asOf     *asOf // nil: none

	gens   []*granule.Generation
	memory *queryMemory
	query  *queryDicts

	*sumScratch
	gen int // of the rows at hand
}

// keyWidth is what a column of By takes in a key: a word, and whether it is null.
const keyWidth = 9

// sumScratch is what rows are decoded into and summed in.
type sumScratch struct {
	index groupIndex
	cells []tally       // of groups
	lists [][]*listSums // of groups, by number of the generation; none if no list is grouped by

	values   []uint64 // nil: none of the rows at hand has one
	mem      []uint64 // where they are
	codes    []uint64 // of the list column
	ordinals []uint64 // of headers
	divided  []tally  // by word
	order    []uint32 // of rows, by word
	ends     []uint32 // of the rows of a word in order
	gathered []uint64 // what rows of one group have
	key      []byte
}

var sumWork = sync.Pool{New: func() any { return new(sumScratch) }}

// keptGroupBytes bounds what is kept of the room for groups.
const keptGroupBytes = 4 << 20

// done gives back what the next query can use.
func (s *sumScratch) done() {
	for _, lists := range s.lists {
		for _, l := range lists {
			if l != nil {
				l.done()
			}
		}
	}
	if cap(s.cells)*(groupSize/2)+cap(s.index.keys) > keptGroupBytes {
		s.index, s.cells, s.lists = groupIndex{}, nil, nil
	}
	s.index.done()
	clear(s.lists) // what they refer to is not kept
	s.cells, s.lists = s.cells[:0], s.lists[:0]
	sumWork.Put(s)
}

// queryMemory is what a query has allocated, by all of its goroutines, and whether it is
// still to go on.
type queryMemory struct {
	ctx  context.Context
	used atomic.Int64
	most int64
}

// check returns the error of a query that was cancelled.
func (m *queryMemory) check() error { return m.ctx.Err() }

// take accounts for bytes that will be allocated.
func (m *queryMemory) take(bytes int64) error {
	if used := m.used.Add(bytes); used > m.most {
		return fmt.Errorf("%w: stopped at %d bytes of %d", ErrQueryMemory, used, m.most)
	}
	return nil
}

// left returns how many bytes may still be taken.
func (m *queryMemory) left() int64 { return m.most - m.used.Load() }

// queryDicts is the dictionaries of a query, made when they are asked for: most need none.
type queryDicts struct {
	seed          uint64
	made, madeToo sync.Once
	ofText        *encoding.Dict // and of ids that are not coded
	ofLists       *encoding.ListDict
}

func (d *queryDicts) strings() *encoding.Dict {
	d.made.Do(func() { d.ofText = encoding.NewDict(d.seed) })
	return d.ofText
}

func (d *queryDicts) lists() *encoding.ListDict {
	d.madeToo.Do(func() { d.ofLists = encoding.NewListDict(d.seed) })
	return d.ofLists
}

// byColumn is one column to group by, and how the rows at hand have its words.
type byColumn struct {
	schema.Concrete
	typ    encoding.Type
	series bool
	exact  bool                             // never rounded
	codes  map[*granule.Generation][]uint32 // translated; nil: none

	how   wordsOf
	word  uint64   // constant
	null  bool     // constant
	words []uint64 // by ordinal or by row, in the query's codes
	nulls []bool   // fixed types: by row; nil if none is
}

// wordsOf says what a column's words depend on.
type wordsOf uint8

const (
	ofAll    wordsOf = iota // all rows have the same
	ofSeries                // the rows of one series
	ofHeader                // the rows of one ordinal
	ofRow
)

// fork returns an aggregator that does the same and knows nothing.
func (a *aggregator) fork() *aggregator {
	b := &aggregator{
		table: a.table, sum: a.sum, name: a.name, step: a.step, time: a.time, list: a.list, expected: a.expected, parts: a.parts,
		memory: a.memory, query: a.query, sumScratch: sumWork.Get().(*sumScratch),
	}
	for _, by := range a.by {
		b.by = append(b.by, by.fork())
	}
	if a.asOf != nil {
		b.start(a.asOf.fork())
	}
	return b
}

// fork returns a column that is the same and knows nothing.
func (c *byColumn) fork() *byColumn {
	return &byColumn{Concrete: c.Concrete, typ: c.typ, series: c.series, exact: c.exact, how: c.how}
}

// done gives back what can be used again.
func (a *aggregator) done() {
	a.sumScratch.done()
	a.sumScratch = nil
}

// add puts the chosen rows of a part into their groups.
func (a *aggregator) add(s *selection) error {
	a.gen = a.number(s.part.Generation())
	var header *encoding.Words
	by := ofAll // what the groups of the part depend on
	for i, c := range a.by {
		if i == a.list {
			continue
		}
		if a.asOf == nil || c != a.asOf.to {
			if err := a.load(c, s, &header); err != nil {
				return err
			}
		}
		by = max(by, c.how)
	}
	if a.asOf != nil {
		for _, c := range a.asOf.from {
			if err := a.load(c, s, &header); err != nil {
				return err
			}
		}
	}
	a.loadList(s)
	a.loadValues(s)
	if header != nil {
		a.ordinals = s.words(a.ordinals[:0], header)
	}
	if a.asOf != nil {
		if err := a.addCases(s); err != nil {
			return err
		}
	}
	alike := by < ofRow && !slices.ContainsFunc(a.by, func(c *byColumn) bool { return c.how == ofSeries })
	if alike && by == ofHeader && a.list < 0 {
		return a.addHeaders(s)
	}
	row := 0
	for spans := s.spans; len(spans) > 0; {
		n, rest := sameSeries(spans)
		if alike { // to all series
			n, rest = s.rows, nil
		}
		if err := a.addSeries(by, spans[0].series, row, row+n); err != nil {
			return err
		}
		row, spans = row+n, rest
	}
	return nil
}

// number returns the number of a generation, a new one if it has none yet.
func (a *aggregator) number(gen *granule.Generation) int {
	at := slices.Index(a.gens, gen)
	if at < 0 {
		at = len(a.gens)
		a.gens = append(a.gens, gen)
	}
	return at
}

// addSeries puts rows of one series into their groups.
func (a *aggregator) addSeries(by wordsOf, series uint32, lo, hi int) error {
	if by < ofHeader {
		if err := a.readKey(series, lo); err != nil {
			return err
		}
		group, err := a.group()
		if err != nil {
			return err
		}
		return a.addRows(group, lo, hi)
	}
	if by == ofHeader {
		return a.addDivided(series, lo, a.ordinals[lo:hi], a.groupOfHeader)
	}
	if i := a.alone(); i >= 0 {
		words := a.by[i].words[lo:hi]
		if _, span := spanOf(words); isDense(span, len(words)) {
			return a.addDivided(series, lo, words, func(word uint64) (int32, error) {
				a.setKey(i, word, false)
				return a.group()
			})
		}
	}
	return a.addByRow(series, lo, hi)
}

// groupOfHeader returns the group of a header of the series that the key was read of.
func (a *aggregator) groupOfHeader(ordinal uint64) (int32, error) {
	for i, c := range a.by {
		if c.how == ofHeader {
			a.setKey(i, c.words[ordinal], false)
		}
	}
	return a.group()
}

// addByRow puts rows into groups that differ row by row; rows are sorted, so that of a
// row mostly is that of the row before.
func (a *aggregator) addByRow(series uint32, lo, hi int) error {
	var group int32
	for row := lo; row < hi; row++ {
		if row == lo || !a.likeBefore(row) {
			if err := a.readKey(series, row); err != nil {
				return err
			}
			var err error
			if group, err = a.group(); err != nil {
				return err
			}
		}
		if err := a.addRows(group, row, row+1); err != nil {
			return err
		}
	}
	return nil
}

// addRows sums rows of one group.
func (a *aggregator) addRows(group int32, lo, hi int) error {
	if a.list >= 0 {
		var values []uint64
		if a.values != nil {
			values = a.values[lo:hi]
		}
		return a.addLists(group, a.codes[lo:hi], values)
	}
	c := &a.cells[group]
	c.count += int64(hi - lo)
	if a.values != nil {
		for _, v := range a.values[lo:hi] {
			c.sum += int64(v)
		}
	}
	return nil
}

// addLists sums rows of one group by their lists; values is nil, or has a word for each.
func (a *aggregator) addLists(group int32, codes, values []uint64) error {
	of := a.listsOf(group, a.gen)
	s := *of
	if s == nil {
		most, lists := a.gens[a.gen].Lists.Len(), len(codes)
		if a.expected > 0 {
			lists = min(a.expected, lists*a.parts) // a series may have few of what is expected
		}
		if a.memory.left() < tallySize*int64(most+1) {
			lists = 0 // a hash table may do
		}
		s = newListSums(most, lists)
		if err := a.memory.take(s.bytes()); err != nil {
			return err
		}
		*of = s
	}
	return s.add(codes, values, a.memory)
}

// listsOf returns the place of a group's cells for the lists of a generation, nil so far if
// it has none.
func (a *aggregator) listsOf(group int32, gen int) **listSums {
	for len(a.lists[group]) <= gen {
		a.lists[group] = append(a.lists[group], nil)
	}
	return &a.lists[group][gen]
}

// readKey makes the key of a row of a series.
func (a *aggregator) readKey(series uint32, row int) error {
	a.key = append(a.key[:0], make([]byte, keyWidth*len(a.by))...)
	for i, c := range a.by {
		if i == a.list {
			continue
		}
		word, null := c.word, c.null
		switch c.how {
		case ofSeries:
			code, err := a.label(c, series)
			if err != nil {
				return err
			}
			word = uint64(code)
		case ofHeader:
			word = c.words[a.ordinals[row]]
		case ofRow:
			word, null = c.words[row], c.nulls != nil && c.nulls[row]
		}
		a.setKey(i, word, null)
	}
	return nil
}

func (a *aggregator) setKey(i int, word uint64, null bool) {
	binary.LittleEndian.PutUint64(a.key[keyWidth*i:], word)
	a.key[keyWidth*i+8] = byte(encoding.FromBool(null))
}

// likeBefore says whether a row's group is that of the row before, which is of the same
// series.
func (a *aggregator) likeBefore(row int) bool {
	for _, c := range a.by {
		switch {
		case c.how == ofHeader && c.words[a.ordinals[row]] != c.words[a.ordinals[row-1]],
			c.how == ofRow && (c.words[row] != c.words[row-1] || c.nulls != nil && c.nulls[row] != c.nulls[row-1]):
			return false
		}
	}
	return true
}

// groupSize is about what a group takes beside its key, twice.
const groupSize = 120

// group returns the group that has the key.
func (a *aggregator) group() (int32, error) {
	if group, ok := a.index.find(a.key); ok {
		return group, nil
	}
	if err := a.memory.take(int64(groupSize + 2*len(a.key))); err != nil {
		return 0, err
	}
	a.cells = append(twice(a.cells), tally{})
	if a.list >= 0 {
		a.lists = append(twice(a.lists), nil)
	}
	return a.index.add(a.key), nil
}

// twice makes room for as many elements again if there is none: append would make room for a
// quarter of many, and leave more behind than is accounted for.
func twice[T any](s []T) []T {
	if len(s) == cap(s) {
		s = slices.Grow(s, len(s)+1)
	}
	return s
}

// merge adds what another aggregator of the same query has summed.
func (a *aggregator) merge(other *aggregator) error {
	for i := range other.cells {
		a.key = append(a.key[:0], other.index.key(i)...)
		group, err := a.group()
		if err != nil {
			return err
		}
		a.cells[group].add(other.cells[i])
		if a.list < 0 {
			continue
		}
		for k, from := range other.lists[i] {
			if from == nil {
				continue
			}
			of := a.listsOf(group, a.number(other.gens[k]))
			if *of == nil { // it changes hands
				*of, other.lists[i][k] = from, nil
				continue
			}
			if err := (*of).merge(from, nil, a.memory); err != nil {
				return err
			}
		}
	}
	return nil
}
