package query

import (
	"cmp"
	"slices"

	"github.com/granarydb/granary/internal/query/filter"
)

// alone returns the index of the only By column that differs within a series. It returns -1 if there are
// several, or if the column has nulls or depends on the header.
func (a *aggregator) alone() int {
	alone := -1
	for i, c := range a.by {
		if i == a.list || c.how < ofHeader {
			continue
		}
		if alone >= 0 || c.how == ofHeader || c.nulls != nil {
			return -1
		}
		alone = i
	}
	return alone
}

// addDivided adds rows from lo on. Their groups depend on their series and a word. Rows are collected by
// word first, because a series has few distinct words.
func (a *aggregator) addDivided(series uint32, lo int, words []uint64, groupOf func(word uint64) (int32, error)) error {
	if err := a.readKey(series, lo); err != nil {
		return err
	}
	if first, span := spanOf(words); a.list < 0 && isDense(span, len(words)) {
		return a.addSums(lo, words, first, span, groupOf)
	}
	return a.eachWord(words, func(word uint64, rows []uint32) error {
		group, err := groupOf(word)
		if err != nil {
			return err
		}
		return a.addGathered(group, lo, rows)
	})
}

// spanOf returns the least word, and the size of the range from it to the greatest word.
func spanOf(words []uint64) (first, span uint64) {
	first, last := words[0], words[0]
	for _, word := range words {
		first, last = min(first, word), max(last, word)
	}
	return first, last - first + 1
}

// isDense reports whether an array that is indexed by a span of words is not much larger than the rows.
// The span of all words overflows to 0 and is not dense.
func isDense(span uint64, rows int) bool { return span-1 < uint64(4*rows+64) }

// keptCells bounds the cells that are kept for the next sums, at 16 bytes each.
const keptCells = 1 << 16

// addSums is addDivided for a dense span of words without lists.
func (a *aggregator) addSums(lo int, words []uint64, first, span uint64, groupOf func(word uint64) (int32, error)) error {
	cells := span
	if span <= uint64(len(words)) { // otherwise neighbours rarely have the same word
		cells *= 2
	}
	if a.divided = append(a.divided[:0], make([]tally, cells)...); cells > keptCells {
		defer func() { a.divided = nil }()
	}
	of, others := a.divided[:span:span], a.divided[cells-span:] // both are the same array if there is only one
	if a.values == nil {
		for _, word := range words {
			of[word-first].count++
		}
	} else {
		sumDivided(of, others, words, a.values[lo:lo+len(words)], first)
	}
	if cells > span {
		for i := range others {
			of[i].add(others[i])
		}
	}
	for i, c := range of {
		if c.count == 0 {
			continue
		}
		group, err := groupOf(first + uint64(i))
		if err != nil {
			return err
		}
		a.cells[group].add(c)
	}
	return nil
}

// sumDivided sums values by their words, from word first on. Odd rows have their own cells, because
// neighbours often have the same word, and an addition would wait for the previous one.
func sumDivided(even, odd []tally, words, values []uint64, first uint64) {
	values, odd = values[:len(words)], odd[:len(even)]
	for len(words) >= 2 && len(values) >= 2 {
		c, d := &even[words[0]-first], &odd[words[1]-first]
		c.sum += int64(values[0])
		c.count++
		d.sum += int64(values[1])
		d.count++
		words, values = words[2:], values[2:]
	}
	for i, word := range words {
		c := &even[word-first]
		c.sum += int64(values[i])
		c.count++
	}
}

// addHeaders adds the chosen rows in a part whose groups depend only on their headers.
func (a *aggregator) addHeaders(s *filter.Selection) error {
	if err := a.readKey(s.Spans[0].Series, 0); err != nil {
		return err
	}
	headers := slices.IndexFunc(a.by, func(c *byColumn) bool { return c.how == ofHeader })
	return a.addSums(0, a.ordinals, 0, uint64(len(a.by[headers].words)), a.groupOfHeader)
}

// addGathered adds rows in one group. The row numbers are relative to lo.
func (a *aggregator) addGathered(group int32, lo int, rows []uint32) error {
	a.gathered = slices.Grow(a.gathered[:0], 2*len(rows))[:2*len(rows)]
	codes, values := a.gathered[:len(rows)], a.gathered[len(rows):]
	if a.values == nil {
		values = nil
	}
	for i := range values {
		values[i] = a.values[lo+int(rows[i])]
	}
	if a.list >= 0 {
		for i, row := range rows {
			codes[i] = a.codes[lo+int(row)]
		}
		return a.addLists(group, codes, values)
	}
	c := &a.cells[group]
	c.count += int64(len(rows))
	for _, v := range values {
		c.sum += int64(v)
	}
	return nil
}

// eachWord calls f with each distinct word in ascending order, and with its rows in order. The
// rows are valid during the call.
func (a *aggregator) eachWord(words []uint64, f func(word uint64, rows []uint32) error) error {
	a.order = slices.Grow(a.order[:0], len(words))[:len(words)]
	order := a.order
	first, span := spanOf(words)
	if !isDense(span, len(words)) {
		return eachSorted(words, order, f)
	}
	a.ends = append(a.ends[:0], make([]uint32, span+1)...)
	ends := a.ends // per word: the start of its rows in order, then their end
	for _, word := range words {
		ends[word-first+1]++
	}
	for i := 1; i < len(ends); i++ {
		ends[i] += ends[i-1]
	}
	for row, word := range words {
		order[ends[word-first]] = uint32(row)
		ends[word-first]++
	}
	from := uint32(0)
	for i, end := range ends[:span] {
		if end == from {
			continue
		}
		if err := f(first+uint64(i), order[from:end]); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// eachSorted is eachWord for words that are far apart.
func eachSorted(words []uint64, order []uint32, f func(word uint64, rows []uint32) error) error {
	for row := range order {
		order[row] = uint32(row)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(words[a], words[b]), cmp.Compare(a, b)) })
	for len(order) > 0 {
		word, n := words[order[0]], 1
		for n < len(order) && words[order[n]] == word {
			n++
		}
		if err := f(word, order[:n]); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}
