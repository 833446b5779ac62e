package query

import (
	"iter"
	"math/bits"
	"sync"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/query/filter"
)

// tally is the sum and the number of a group's rows.
type tally struct{ sum, count int64 }

const tallySize = 16

func (t *tally) add(from tally) {
	t.sum += from.sum
	t.count += from.count
}

// listSums has a cell for each list of a dictionary, by code. It is a hash table while few lists have
// rows, and then an array. Access to the array is mostly sequential, because rows come sorted by code.
type listSums struct {
	cells []tally
	clean bool     // all cells are zero
	codes []uint32 // in a hash table: code+1 by slot, 0 if free; nil in an array
	used  int      // number of lists with rows, including lists that only drops (len)
	shift uint8    // from a hash to its slot
	most  int      // greatest code
	only  []uint64 // in an array: bits of lists that were not dropped; nil if none was
}

const (
	checkEvery = 1 << 16 // cells between checks for cancellation: about a millisecond
	firstCells = 1 << 4
	// arrayFrom is the share of lists, as a divisor, at which an array replaces the hash table. From a
	// quarter on, the table would take more memory than the array.
	arrayFrom = 16
	// arrayRows is the share of lists, as a divisor, that rows added together must reach to start with an
	// array. A row is decoded into 16 bytes, so the array is at most a few times as large as the decoded
	// rows, whatever lists they have.
	arrayRows = 8
)

// Pools of zeroed cells for the next query.
var (
	arrays sync.Pool     // of *[]tally
	tables [32]sync.Pool // of *listSums with a hash table, by the bit length of its size
)

// newListSums returns sums for a dictionary whose greatest code is most. lists estimates how many lists
// get rows. It decides the initial form and size.
func newListSums(most, lists int) *listSums {
	s := &listSums{most: most}
	if lists >= firstCells && lists > most/arrayRows {
		s.cells = takeCells(most + 1)
		return s
	}
	s.resize(1 << bits.Len(uint(max(firstCells, 2*min(lists, most/arrayFrom))-1)))
	return s
}

// bytes returns the bytes that count against the query. The spare capacity of a pooled array does not
// count.
func (s *listSums) bytes() int64 { return int64(tallySize*len(s.cells) + 4*len(s.codes)) }

// add sums rows by their codes. values is nil, or has a word for each row.
func (s *listSums) add(codes, values []uint64, memory *queryMemory) error {
	for s.codes != nil {
		n := s.addHashed(codes, values)
		if codes = codes[n:]; len(codes) == 0 {
			return nil
		}
		if values != nil {
			values = values[n:]
		}
		if err := s.grow(memory); err != nil {
			return err
		}
	}
	s.addArray(codes, values)
	return nil
}

// addArray adds rows to the array. First occurrences are counted without a branch, because they are
// unpredictable.
func (s *listSums) addArray(codes, values []uint64) {
	first := uint64(0)
	if values == nil {
		for _, code := range codes {
			c := &s.cells[code]
			first += encoding.FromBool(c.count == 0)
			c.count++
		}
	} else {
		values = values[:len(codes)]
		for i, code := range codes {
			c := &s.cells[code]
			first += encoding.FromBool(c.count == 0)
			c.sum += int64(values[i])
			c.count++
		}
	}
	s.used += int(first)
}

// addHashed adds rows to the hash table until it is half full, and returns the number of added rows.
func (s *listSums) addHashed(codes, values []uint64) int {
	for i, code := range codes {
		slot := s.slot(uint32(code))
		if s.codes[slot] == 0 {
			if 2*s.used >= len(s.codes) {
				return i
			}
			s.used++
			s.codes[slot] = uint32(code) + 1
		}
		c := &s.cells[slot]
		c.count++
		if values != nil {
			c.sum += int64(values[i])
		}
	}
	return len(codes)
}

// slot returns a code's slot, or a free slot for it.
func (s *listSums) slot(code uint32) int {
	i := int(code * 0x9e3779b9 >> s.shift)
	for s.codes[i] != 0 && s.codes[i] != code+1 {
		if i++; i == len(s.codes) {
			i = 0
		}
	}
	return i
}

// grow doubles the hash table, or replaces it by an array.
func (s *listSums) grow(memory *queryMemory) error {
	if s.used > s.most/arrayFrom {
		if err := memory.take(int64(tallySize * (s.most + 1))); err != nil {
			return err
		}
		s.toArray()
		return nil
	}
	if err := memory.take((tallySize + 4) * int64(len(s.codes))); err != nil {
		return err
	}
	old := *s
	s.resize(2 * len(s.codes))
	s.used = old.used
	for i, code := range old.codes {
		if code != 0 {
			slot := s.slot(code - 1)
			s.codes[slot], s.cells[slot] = code, old.cells[i]
		}
	}
	old.done()
	return nil
}

// resize makes an empty hash table. slots is a power of two.
func (s *listSums) resize(slots int) {
	if kept, ok := tables[bits.Len(uint(slots))].Get().(*listSums); ok {
		s.cells, s.codes = kept.cells, kept.codes
	} else {
		s.cells, s.codes = make([]tally, slots), make([]uint32, slots)
	}
	s.shift = uint8(33 - bits.Len(uint(slots)))
}

// toArray moves the cells of the hash table to an array.
func (s *listSums) toArray() {
	cells := takeCells(s.most + 1)
	for i, code := range s.codes {
		if code != 0 {
			cells[code-1] = s.cells[i]
		}
	}
	old := *s
	s.cells, s.codes = cells, nil
	old.done()
}

func takeCells(n int) []tally {
	if kept, ok := arrays.Get().(*[]tally); ok && cap(*kept) >= n {
		return (*kept)[:n]
	}
	return make([]tally, n)
}

// moveTo appends the sums of lists with rows, in code order if s is an array. The slices must have
// capacity for them and one more element; counts may be nil. The cells are zero afterwards, except for
// the codes of a hash table and after lists were dropped, because a second pass to clear them takes a
// tenth of a query.
func (s *listSums) moveTo(codes []uint32, sums, counts []int64, memory *queryMemory) ([]uint32, []int64, []int64, error) {
	for lo := 0; lo < len(s.cells); lo += checkEvery {
		if err := memory.check(); err != nil {
			return codes, sums, counts, err
		}
		hi := min(lo+checkEvery, len(s.cells))
		at, room := len(codes), cap(codes)
		n := s.move(lo, hi, codes[at:room], sums[at:room], counts[min(at, cap(counts)):cap(counts)])
		codes, sums = codes[:len(codes)+n], sums[:len(sums)+n]
		if counts != nil {
			counts = counts[:len(counts)+n]
		}
	}
	s.clean = s.only == nil
	return codes, sums, counts, nil
}

// move is moveTo for the cells [lo, hi), to the front of the slices. It writes an element for
// each cell and advances only if the cell has rows: a branch would be unpredictable.
func (s *listSums) move(lo, hi int, codes []uint32, sums, counts []int64) (n int) {
	sums = sums[:len(codes)]
	if counts == nil {
		counts = sums // the sums overwrite the counts
	}
	counts = counts[:len(codes)]
	if s.only != nil {
		for code, c := range s.kept(lo, hi) {
			counts[n] = c.count
			codes[n], sums[n] = uint32(code), c.sum
			n++
		}
		return n
	}
	for i := lo; i < hi; i++ {
		c := &s.cells[i]
		counts[n] = c.count
		codes[n], sums[n] = uint32(i), c.sum
		if c.count != 0 {
			n++
		}
		*c = tally{}
	}
	if s.codes != nil {
		for i, slot := range codes[:n] {
			codes[i] = s.codes[slot] - 1
		}
	}
	return n
}

// code returns the list's code in cell i.
func (s *listSums) code(i int) uint32 {
	if s.codes == nil {
		return uint32(i)
	}
	return s.codes[i] - 1
}

// has reports whether a list has rows.
func (s *listSums) has(code uint32) bool {
	at := int(code)
	if s.codes != nil {
		at = s.slot(code)
	}
	return s.cells[at].count != 0 && (s.only == nil || s.only[at/64]>>(at%64)&1 != 0)
}

// len returns the number of lists that have rows.
func (s *listSums) len() int {
	if s.only == nil {
		return s.used
	}
	n := 0
	for range s.kept(0, len(s.cells)) {
		n++
	}
	return n
}

// placing merges a cell into another cell, whose count is 0 if it is new. The cell's sum is a place.
type placing func(into, cell *tally) error

// merge adds the sums of from. to translates its codes; nil means that the codes are the same. put is nil
// if sums are added.
func (s *listSums) merge(from *listSums, to func(code uint32) uint32, put placing, memory *queryMemory) error {
	if put == nil && to == nil && s.codes == nil && from.codes == nil {
		return s.mergeArray(from, memory)
	}
	for i := range from.cells {
		if i%checkEvery == 0 {
			if err := memory.check(); err != nil {
				return err
			}
		}
		c := &from.cells[i]
		if c.count == 0 || from.only != nil && from.only[i/64]>>(i%64)&1 == 0 {
			continue
		}
		code := from.code(i)
		if to != nil {
			code = to(code)
		}
		into, err := s.find(code, memory)
		switch {
		case err != nil:
			return err
		case put == nil:
			into.add(*c)
		default:
			if err := put(into, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// mergeArray is merge for arrays of the same dictionary. The arrays differ in length if the dictionary
// grew meanwhile, but no row of the query has a list that was added later.
func (s *listSums) mergeArray(from *listSums, memory *queryMemory) error {
	n := min(len(s.cells), len(from.cells))
	cells, others := s.cells[:n], from.cells[:n]
	first := uint64(0)
	for i := range others {
		if i%checkEvery == 0 {
			if err := memory.check(); err != nil {
				return err
			}
		}
		first += encoding.FromBool(cells[i].count == 0) & encoding.FromBool(others[i].count != 0)
		cells[i].add(others[i])
	}
	s.used += int(first)
	return nil
}

// find returns a list's cell. The caller adds rows to it. The hash table may become an array.
func (s *listSums) find(code uint32, memory *queryMemory) (*tally, error) {
	at := int(code)
	for s.codes != nil {
		at = s.slot(code)
		if s.codes[at] != 0 {
			break
		}
		if 2*s.used < len(s.codes) {
			s.used++
			s.codes[at] = code + 1
			break
		}
		if err := s.grow(memory); err != nil {
			return nil, err
		}
		at = int(code)
	}
	if s.codes == nil {
		s.used += int(encoding.FromBool(s.cells[at].count == 0))
	}
	return &s.cells[at], nil
}

// place counts rows by their codes and sets each row's place, which is the sum of its cell. A list
// without rows gets the next place.
func (s *listSums) place(codes []uint64, places []int32, next *int, memory *queryMemory) error {
	for i, code := range codes {
		c, err := s.find(uint32(code), memory)
		if err != nil {
			return err
		}
		if c.count == 0 {
			c.sum = int64(*next)
			*next++
		}
		c.count++
		places[i] = int32(c.sum)
	}
	return nil
}

// done returns the cells to the pools.
func (s *listSums) done() {
	if !s.clean {
		clear(s.cells)
	}
	switch {
	case s.codes != nil:
		clear(s.codes)
		tables[bits.Len(uint(len(s.codes)))].Put(&listSums{cells: s.cells, codes: s.codes})
	case s.cells != nil:
		cells := s.cells
		arrays.Put(&cells)
	}
	s.cells, s.codes, s.only = nil, nil, nil
}

// keep drops the sums of lists that a filter excludes. The result is meaningless if the filter
// was cancelled.
func (s *listSums) keep(f *filter.ListFilter) {
	if all := f.Expect(s.len()); s.codes == nil && all != nil {
		s.keepBits(all)
		return
	}
	for i, c := range s.present() {
		if !f.Has(s.code(i)) {
			if f.Cancelled() {
				return
			}
			*c = tally{}
			s.used--
		}
	}
}

// present yields the cells that have rows and were not dropped.
func (s *listSums) present() iter.Seq2[int, *tally] {
	if s.only != nil {
		return s.kept(0, len(s.cells))
	}
	return func(yield func(int, *tally) bool) {
		for i := range s.cells {
			if c := &s.cells[i]; c.count != 0 && !yield(i, c) {
				return
			}
		}
	}
}

// keepBits drops the sums of an array whose bits are not set. The cells keep their values and are skipped
// from now on.
func (s *listSums) keepBits(set []uint64) {
	if s.only == nil {
		s.only = set
		return
	}
	for i := range s.only {
		s.only[i] &= set[i]
	}
}

// kept yields the cells [lo, hi) of an array that have rows and were not dropped. lo is a multiple of 64,
// and so is hi unless it is the end.
func (s *listSums) kept(lo, hi int) iter.Seq2[int, *tally] {
	return func(yield func(int, *tally) bool) {
		for i, word := range s.only[lo/64 : (hi+63)/64] {
			for ; word != 0; word &= word - 1 {
				at := lo + 64*i + bits.TrailingZeros64(word)
				if at >= hi {
					return
				}
				if c := &s.cells[at]; c.count != 0 && !yield(at, c) {
					return
				}
			}
		}
	}
}
