package query

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/query/filter"
)

// aggregator sums rows by group. It belongs to one goroutine.
//
// A group's key has a word and a byte for each column of By. The place of the first list column is empty:
// each group has cells by list code instead. String codes differ between generations, so they are
// translated into dictionaries of the query, each code once. List codes are translated only after all
// rows are summed.
type aggregator struct {
	source *filter.Env
	sum    int // column to sum, or -1
	name   string
	step   int64
	time   int // column that step rounds, or -1
	by     []*byColumn
	list   int // index in by of the list column with its own cells, or -1

	expected int // estimated number of lists in the only group; 0: unknown
	parts    int // number of parts in which the estimate expects them
	noCounts bool
	asOf     *asOf       // nil if the query has no AsOf
	measures []measure   // nil: only sums
	inputs   []*byColumn // the distinct columns of measures
	all      int         // number of places of measures

	gens   []*granule.Generation
	cold   bool // the rows are cold: only groups by list keep their dictionaries
	memory *queryMemory
	query  *queryDicts

	*sumScratch
	gen int // number of the generation of the current rows
}

// sumScratch is the pooled memory into which rows are decoded and summed.
type sumScratch struct {
	index groupIndex
	cells []tally       // by group
	lists [][]*listSums // by group and number of the generation; empty without a list column

	values   []uint64 // values of the current rows; nil if the part lacks the column
	mem      []uint64 // the memory of values
	codes    []uint64 // words of the list column
	ordinals []uint64 // ordinals of the current rows' headers
	divided  []tally  // sums by word
	order    []uint32 // rows sorted by word
	ends     []uint32 // ends of each word's rows in order
	gathered []uint64 // codes and values of the rows of one group
	key      []byte
	units    sumUnits

	measureScratch
}

var sumWork = sync.Pool{New: func() any { return new(sumScratch) }}

// keptGroupBytes bounds the memory for groups that is kept for the next query.
const keptGroupBytes = 4 << 20

// done returns the scratch memory to the pools.
func (s *sumScratch) done() {
	s.units.read, s.units.granules, s.units.cold = nil, nil, nil
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
	clear(s.lists) // drops the references
	s.cells, s.lists = s.cells[:0], s.lists[:0]
	sumWork.Put(s)
}

// fork returns an aggregator with the same options and no rows.
func (a *aggregator) fork() *aggregator {
	b := &aggregator{
		source: a.source, sum: a.sum, name: a.name, step: a.step, time: a.time, list: a.list, expected: a.expected, parts: a.parts,
		memory: a.memory, query: a.query, sumScratch: sumWork.Get().(*sumScratch),
	}
	for _, by := range a.by {
		b.by = append(b.by, by.fork())
	}
	a.forkMeasures(b)
	if a.asOf != nil {
		b.start(a.asOf.fork())
	}
	return b
}

// done returns the aggregator's memory. Its groups must have been taken before.
func (a *aggregator) done() {
	a.sumScratch.done()
	a.sumScratch = nil
}

// add adds the chosen rows in a part to their groups.
func (a *aggregator) add(s *filter.Selection) error {
	a.gen = a.number(s.Part.Generation())
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
	for _, c := range a.inputs {
		if err := a.load(c, s, &header); err != nil {
			return err
		}
	}
	a.loadList(s)
	a.loadValues(s)
	if header != nil {
		a.ordinals = s.Words(a.ordinals[:0], header)
	}
	if a.asOf != nil {
		if err := a.addCases(s); err != nil {
			return err
		}
	}
	if a.measures != nil {
		return a.addMeasures(by, s)
	}
	alike := by < ofRow && !slices.ContainsFunc(a.by, func(c *byColumn) bool { return c.how == ofSeries })
	if alike && by == ofHeader && a.list < 0 {
		return a.addHeaders(s)
	}
	row := 0
	for spans := s.Spans; len(spans) > 0; {
		n, rest := filter.SameSeries(spans)
		if alike { // the same groups in all series
			n, rest = s.Rows, nil
		}
		if err := a.addSeries(by, spans[0].Series, row, row+n); err != nil {
			return err
		}
		row, spans = row+n, rest
	}
	return nil
}

// number returns the number of a generation, and assigns it on the first call.
func (a *aggregator) number(gen *granule.Generation) int {
	at := slices.Index(a.gens, gen)
	if at < 0 {
		if a.cold && a.list < 0 {
			a.forgetGenerations()
		}
		at = len(a.gens)
		a.gens = append(a.gens, gen)
	}
	return at
}

// forgetGenerations drops dictionaries that no group needs, because the dictionaries of cold rows can be
// larger than the store in memory.
func (a *aggregator) forgetGenerations() {
	a.gens = nil
	for _, columns := range [][]*byColumn{a.by, a.inputs} {
		for _, c := range columns {
			clear(c.codes)
		}
	}
	if a.asOf != nil {
		for _, c := range a.asOf.from {
			clear(c.codes)
		}
	}
}

// addSeries adds rows [lo, hi), which belong to one series, to their groups.
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

// groupOfHeader returns a header's group, for the series whose key was read last.
func (a *aggregator) groupOfHeader(ordinal uint64) (int32, error) {
	for i, c := range a.by {
		if c.how == ofHeader {
			a.setKey(i, c.words[ordinal], false)
		}
	}
	return a.group()
}

// addByRow adds rows whose groups differ row by row. Rows are sorted, so most rows have the
// group of the row before.
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

// addRows adds rows in one group.
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

// addLists adds rows in one group by their lists. values is nil, or has a word for each row.
func (a *aggregator) addLists(group int32, codes, values []uint64) error {
	s, err := a.sumsByList(group, len(codes))
	if err != nil {
		return err
	}
	return s.add(codes, values, a.memory)
}

// sumsByList returns a group's cells for the current generation's lists. The caller adds `rows` rows
// next.
func (a *aggregator) sumsByList(group int32, rows int) (*listSums, error) {
	of := a.listsOf(group, a.gen)
	if *of != nil {
		return *of, nil
	}
	most, lists := a.gens[a.gen].Lists.Len(), rows
	if a.expected > 0 {
		lists = min(a.expected, lists*a.parts) // a series may have few of the expected lists
	}
	if a.memory.left() < tallySize*int64(most+1) {
		lists = 0 // starts as a hash table, which may suffice
	}
	var err error
	*of, err = a.newSums(most, lists)
	return *of, err
}

// newSums returns new cells by list, after it took their memory.
func (a *aggregator) newSums(most, lists int) (*listSums, error) {
	s := newListSums(most, lists)
	if err := a.memory.take(s.bytes()); err != nil {
		return nil, err
	}
	return s, nil
}

// listsOf returns a pointer to a group's cells for a generation's lists. The cells are nil at first.
func (a *aggregator) listsOf(group int32, gen int) **listSums {
	for len(a.lists[group]) <= gen {
		a.lists[group] = append(a.lists[group], nil)
	}
	return &a.lists[group][gen]
}

// readKey sets a row's key in a series.
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

// likeBefore reports whether a row has the same group as the previous row, which is in the same series.
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

// groupSize is about twice the memory of a group without its key.
const groupSize = 120

// group returns the key's group, and adds it if it is new. Each worker has groups of its own, which merge
// adds again: a count here counts a group more than once.
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

// twice makes room for an element by doubling the capacity, because append grows a large slice by a
// quarter, and would leave more memory behind than is accounted for.
func twice[T any](s []T) []T {
	if len(s) == cap(s) {
		s = slices.Grow(s, len(s)+1)
	}
	return s
}

// merge adds the sums of another aggregator of the same query.
func (a *aggregator) merge(other *aggregator) error {
	for i := range other.cells {
		a.key = append(a.key[:0], other.index.key(i)...)
		group, err := a.group()
		if err != nil {
			return err
		}
		a.cells[group].add(other.cells[i])
		if a.list < 0 {
			if err := a.mergeGroup(int(group), other, i); err != nil {
				return err
			}
			continue
		}
		for k, from := range other.lists[i] {
			if from == nil {
				continue
			}
			of := a.listsOf(group, a.number(other.gens[k]))
			if *of == nil && a.measures == nil { // the cells change owner
				*of, other.lists[i][k] = from, nil
				continue
			}
			if *of == nil { // with their own places
				if *of, err = a.newSums(from.most, 0); err != nil {
					return err
				}
			}
			if err := (*of).merge(from, nil, a.placing(other), a.memory); err != nil {
				return err
			}
		}
	}
	return nil
}
