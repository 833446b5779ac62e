package query

import (
	"slices"

	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/query/order"
	"github.com/granarydb/granary/schema"
)

// Aggregates are computed column by column. A pass over the chosen rows in a part finds each row's place.
// Then each aggregate passes over the words in its column. Sums of one column take another way
// (aggregator.add).
//
// A place is the number of a group. Where groups have cells by list (listSums), it is the number of a
// list in a group, and the sum in the list's cell is the place.

// measureScratch is the pooled memory for the current rows of aggregates.
type measureScratch struct {
	places  []int32  // by row
	present []int32  // places of the rows with a value
	words   []uint64 // words of an input, by row
	byWord  []int32  // group plus 1 by word, 0 if unknown
}

// newMeasures checks the aggregates and prepares their columns. Aggregates of the same column share it.
func (a *aggregator) newMeasures(aggregates []Aggregate) error {
	s := a.source.Schema
	for _, g := range aggregates {
		column, typ, err := g.resolve(s)
		if err != nil {
			return err
		}
		m := measure{Aggregate: g, typ: typ}
		if column >= 0 {
			at := slices.IndexFunc(a.inputs, func(c *byColumn) bool { return c.Name == g.Column })
			if at < 0 {
				at = len(a.inputs)
				a.inputs = append(a.inputs, &byColumn{
					Concrete: schema.Concrete{Column: column, Name: g.Column}, typ: s.Columns()[column].Type, series: s.IsSeries(column), exact: true,
				})
			}
			m.input = a.inputs[at]
		}
		m.groupFold = newGroupFold(g.Op, s.Columns()[max(column, 0)].Type, a.query)
		a.measures = append(a.measures, m)
	}
	return nil
}

// forkMeasures gives a fork the aggregates and their columns without rows.
func (a *aggregator) forkMeasures(to *aggregator) {
	for _, c := range a.inputs {
		to.inputs = append(to.inputs, c.fork())
	}
	for _, m := range a.measures {
		m.cells = nil
		if m.input != nil {
			m.input = to.inputs[slices.Index(a.inputs, m.input)]
		}
		to.measures = append(to.measures, m)
	}
}

// addMeasures adds the chosen rows in a part to their groups. Their columns must be loaded. by is the
// smallest unit of rows on which groups depend.
func (a *aggregator) addMeasures(by wordsOf, s *filter.Selection) error {
	a.places = slices.Grow(a.places[:0], s.Rows)[:s.Rows]
	alike := !slices.ContainsFunc(a.by, func(c *byColumn) bool { return c.how == ofSeries })
	row := 0
	for spans := s.Spans; len(spans) > 0; {
		n, rest := filter.SameSeries(spans)
		if alike { // the same groups in all series
			n, rest = s.Rows, nil
		}
		if err := a.findGroups(by, spans[0].Series, row, row+n); err != nil {
			return err
		}
		row, spans = row+n, rest
	}
	all := len(a.cells)
	if a.list >= 0 {
		all = a.all
		if err := a.findLists(&all); err != nil {
			return err
		}
	} else {
		for _, group := range a.places {
			a.cells[group].count++
		}
	}
	if err := a.growTo(all); err != nil {
		return err
	}
	for i := range a.measures {
		if m := &a.measures[i]; m.input == nil {
			m.fold(m.cells, a.places, nil)
		}
	}
	for _, c := range a.inputs {
		if err := a.fold(c, s); err != nil {
			return err
		}
	}
	return nil
}

// fold adds the rows of a column to its aggregates.
func (a *aggregator) fold(input *byColumn, s *filter.Selection) error {
	words, err := a.spread(input, s)
	if err != nil {
		return err
	}
	places, words := a.withoutNulls(input, words)
	isOrdered := false
	for _, ordered := range []bool{false, true} { // ordered aggregates change the words, so they come last
		for i := range a.measures {
			m := &a.measures[i]
			if m.input != input || m.ordered != ordered {
				continue
			}
			if ordered && !isOrdered {
				order.Words(input.typ, words)
				isOrdered = true
			}
			m.fold(m.cells, places, words)
		}
	}
	return nil
}

// extend returns s with at least n elements. New elements are zero. It doubles the capacity, as twice
// does.
func extend[T any](s []T, n int) []T {
	if n > cap(s) {
		return append(make([]T, 0, max(n, 2*cap(s))), s...)[:n]
	}
	return s[:max(n, len(s))]
}

// findGroups sets the places of rows [lo, hi) to their groups. The rows belong to one series.
func (a *aggregator) findGroups(by wordsOf, series uint32, lo, hi int) error {
	if err := a.readKey(series, lo); err != nil {
		return err
	}
	groups := a.places[lo:hi]
	switch i := a.alone(); {
	case by < ofHeader:
		group, err := a.group()
		for row := range groups {
			groups[row] = group
		}
		return err
	case by == ofHeader:
		return a.groupsOf(groups, a.ordinals[lo:hi], a.groupOfHeader)
	case i >= 0:
		words := a.by[i].words[lo:hi]
		if _, span := spanOf(words); isDense(span, len(words)) {
			return a.groupsOf(groups, words, func(word uint64) (int32, error) {
				a.setKey(i, word, false)
				return a.group()
			})
		}
	}
	for row := range groups {
		if row > 0 && a.likeBefore(lo+row) {
			groups[row] = groups[row-1]
			continue
		}
		err := a.readKey(series, lo+row)
		if err == nil {
			groups[row], err = a.group()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// groupsOf sets groups to the groups of words in a dense span. It looks up each distinct word once.
func (a *aggregator) groupsOf(groups []int32, words []uint64, find func(word uint64) (int32, error)) error {
	first, span := spanOf(words)
	a.byWord = append(a.byWord[:0], make([]int32, span)...)
	for row, word := range words {
		known := &a.byWord[word-first]
		if *known == 0 {
			group, err := find(word)
			if err != nil {
				return err
			}
			*known = group + 1
		}
		groups[row] = *known - 1
	}
	return nil
}

// findLists replaces the groups of rows by the places of their lists, and counts new places.
func (a *aggregator) findLists(all *int) error {
	for lo := 0; lo < len(a.places); {
		group, hi := a.places[lo], lo+1
		for hi < len(a.places) && a.places[hi] == group {
			hi++
		}
		s, err := a.sumsByList(group, hi-lo)
		if err == nil {
			err = s.place(a.codes[lo:hi], a.places[lo:hi], all, a.memory)
		}
		if err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// spread returns a loaded column's words by row. They may be changed, and are valid until the next call.
func (a *aggregator) spread(c *byColumn, s *filter.Selection) ([]uint64, error) {
	if c.how == ofRow {
		return c.words, nil
	}
	a.words = slices.Grow(a.words[:0], s.Rows)[:s.Rows]
	switch c.how {
	case ofAll:
		if c.null {
			return nil, nil
		}
		fill(a.words, c.word)
	case ofHeader:
		for i, ordinal := range a.ordinals {
			a.words[i] = c.words[ordinal]
		}
	case ofSeries:
		row := 0
		for spans := s.Spans; len(spans) > 0; {
			n, rest := filter.SameSeries(spans)
			code, err := a.label(c, spans[0].Series)
			if err != nil {
				return nil, err
			}
			fill(a.words[row:row+n], uint64(code))
			row, spans = row+n, rest
		}
	}
	return a.words, nil
}

// withoutNulls drops null rows in place, and returns the places and words of the others.
func (a *aggregator) withoutNulls(c *byColumn, words []uint64) ([]int32, []uint64) {
	fixed := c.typ.Fixed()
	if fixed && c.nulls == nil || !fixed && !slices.Contains(words, 0) {
		return a.places[:len(words)], words
	}
	a.present = slices.Grow(a.present[:0], len(words))[:len(words)]
	n := 0
	for row, word := range words {
		null := word == 0
		if fixed {
			null = c.nulls[row]
		}
		if !null {
			a.present[n], words[n] = a.places[row], word
			n++
		}
	}
	return a.present[:n], words[:n]
}

// growTo makes room for places up to all.
func (a *aggregator) growTo(all int) error {
	if err := a.memory.take(int64(2 * cellSize * len(a.measures) * (all - a.all))); err != nil {
		return err
	}
	a.all = all
	for i := range a.measures {
		a.measures[i].cells = extend(a.measures[i].cells, all)
	}
	return nil
}

// mergeGroup adds the aggregates of group from in other to group to. The groups have no lists.
func (a *aggregator) mergeGroup(to int, other *aggregator, from int) error {
	if a.measures == nil {
		return nil
	}
	if err := a.growTo(len(a.cells)); err != nil {
		return err
	}
	a.mergePlace(to, other, from)
	return nil
}

// mergePlace adds the aggregates of place from in other, which may be a itself, to place to.
func (a *aggregator) mergePlace(to int, other *aggregator, from int) {
	for i := range a.measures {
		m := &a.measures[i]
		m.merge(&m.cells[to], &other.measures[i].cells[from])
	}
}

// placing returns a function that merges cells of from, which may be a itself, into cells of a, with
// their places. It is nil if the query has only sums.
func (a *aggregator) placing(from *aggregator) placing {
	if a.measures == nil {
		return nil
	}
	return func(into, cell *tally) error {
		if into.count == 0 && from == a { // the cell moves
			*into = *cell
			return nil
		}
		if into.count == 0 {
			into.sum = int64(a.all)
			if err := a.growTo(a.all + 1); err != nil {
				return err
			}
		}
		a.mergePlace(int(into.sum), from, int(cell.sum))
		into.count += cell.count
		return nil
	}
}

// addResults adds the aggregates, if there are any, to an answer whose Sums are the places of
// its rows, nil for all places in order.
func (a *aggregator) addResults(out *Groups) error {
	if a.measures == nil {
		return nil
	}
	places := out.Sums
	out.Sums = nil
	for i := range a.measures {
		c, err := a.results(&a.measures[i], places)
		if err != nil {
			return err
		}
		out.Aggregates = append(out.Aggregates, c)
	}
	return nil
}

// results returns an aggregate's values at places, nil for all of them.
func (a *aggregator) results(m *measure, places []int64) (GroupColumn, error) {
	n := len(m.cells)
	if places != nil {
		n = len(places)
	}
	c, err := a.newColumn(m.String(), m.typ, n)
	if err != nil {
		return GroupColumn{}, err
	}
	for i := range n {
		at := i
		if places != nil {
			at = int(places[i])
		}
		of := &m.cells[at]
		null, word := of.count == 0 && m.Op != Count, uint64(0)
		if !null {
			if word, err = m.word(of); err != nil {
				return GroupColumn{}, err
			}
		}
		c.append(word, null)
	}
	return c.GroupColumn, nil
}
