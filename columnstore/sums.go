package columnstore

import (
	"math/bits"
	"sync"
)

// tally is the sum and the number of the rows of a group.
type tally struct{ sum, count int64 }

const tallySize = 16

func (t *tally) add(from tally) {
	t.sum += from.sum
	t.count += from.count
}

// listSums is cells by the code of a list: a hash table while few of the dictionary's
// lists are in it, and then an array by code. Rows come sorted by code, so the array is
// walked, not jumped about in.
type listSums struct {
	cells []tally
	codes []uint32 // of the hash table: code+1 by slot, 0 where free; nil of the array
	used  int      // of the hash table
	shift uint8    // of a hash to its slot
	most  int      // greatest code
}

const (
	checkEvery = 1 << 16 // cells: a millisecond
	firstCells = 1 << 4
	// arrayFrom is what share of the lists makes an array of them: less than a quarter
	// of what a hash table of as many would take more.
	arrayFrom = 16
)

// What was summed in is kept, all of zero, for the next query.
var (
	arrays sync.Pool     // of *[]tally
	tables [32]sync.Pool // of *listSums with a hash table, by the bits of its length
)

// newListSums returns sums of a dictionary with so many lists, with room for about so
// many of them at first.
func newListSums(most, lists int) *listSums {
	s := &listSums{most: most}
	s.resize(1 << bits.Len(uint(max(firstCells, 2*min(lists, most/arrayFrom))-1)))
	return s
}

// bytes returns what the cells take.
func (s *listSums) bytes() int64 { return int64(tallySize*cap(s.cells) + 4*len(s.codes)) }

// add sums rows by their codes; values is nil, or has a word for each of them.
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
	if values == nil {
		for _, code := range codes {
			s.cells[code].count++
		}
		return nil
	}
	for i, code := range codes {
		c := &s.cells[code]
		c.sum += int64(values[i])
		c.count++
	}
	return nil
}

// addHashed adds to the hash table until it is half full, and returns how many rows
// those were.
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

// slot returns where a code is, or would be.
func (s *listSums) slot(code uint32) int {
	i := int(code * 0x9e3779b9 >> s.shift)
	for s.codes[i] != 0 && s.codes[i] != code+1 {
		if i++; i == len(s.codes) {
			i = 0
		}
	}
	return i
}

// grow makes room for as many lists again, or for all.
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

// resize makes an empty hash table of a power of two.
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

// appendTo appends the lists that have rows, with their sums and, unless counts is nil,
// numbers of rows; of an array in order.
func (s *listSums) appendTo(codes []uint32, sums, counts []int64, memory *queryMemory) ([]uint32, []int64, []int64, error) {
	for i := range s.cells {
		if i%checkEvery == 0 {
			if err := memory.check(); err != nil {
				return codes, sums, counts, err
			}
		}
		c := &s.cells[i]
		if c.count == 0 {
			continue
		}
		codes, sums = append(codes, s.code(i)), append(sums, c.sum)
		if counts != nil {
			counts = append(counts, c.count)
		}
	}
	return codes, sums, counts, nil
}

// code returns the code of the list whose cell is at i.
func (s *listSums) code(i int) uint32 {
	if s.codes == nil {
		return uint32(i)
	}
	return s.codes[i] - 1
}

// len returns the number of lists that have rows.
func (s *listSums) len() int {
	if s.codes != nil {
		return s.used
	}
	n := 0
	for i := range s.cells {
		if s.cells[i].count != 0 {
			n++
		}
	}
	return n
}

// merge adds what another has. Its codes mean the same, unless to says what they are
// here.
func (s *listSums) merge(from *listSums, to func(code uint32) uint32, memory *queryMemory) error {
	for i := range from.cells {
		if i%checkEvery == 0 {
			if err := memory.check(); err != nil {
				return err
			}
		}
		c := &from.cells[i]
		if c.count == 0 {
			continue
		}
		code := from.code(i)
		if to != nil {
			code = to(code)
		}
		if s.codes == nil {
			s.cells[code].add(*c)
		} else if err := s.addCell(code, c, memory); err != nil {
			return err
		}
	}
	return nil
}

// addCell adds to the hash table, or to the array if it becomes one.
func (s *listSums) addCell(code uint32, c *tally, memory *queryMemory) error {
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
			return err
		}
		at = int(code)
	}
	s.cells[at].add(*c)
	return nil
}

// done gives back what was summed in.
func (s *listSums) done() {
	clear(s.cells)
	switch {
	case s.codes != nil:
		clear(s.codes)
		tables[bits.Len(uint(len(s.codes)))].Put(&listSums{cells: s.cells, codes: s.codes})
	case s.cells != nil:
		cells := s.cells
		arrays.Put(&cells)
	}
	s.cells, s.codes = nil, nil
}
