package columnstore

import (
	"iter"
	"math/bits"
)

// Sums by list alone are many rows to a group. What a condition says of their lists is
// asked of the groups in the end, once each, and not of the rows: these are summed as if
// there were no such condition, and no mask of them is made.

// havingBytes is at most what a list takes of all that a query allocates: in a hash table,
// in those that it outgrew and in an array, and of several generations as much again with
// the union, and in the answer.
const havingBytes = 128

// having takes the conditions on the lists that alone make groups from the chooser, for
// keep. It leaves them if lists without an element might be beyond the query's memory.
// As they call functions, one goroutine has all groups.
func (a *aggregator) having(c *chooser, state *tableState, where Expr) []*leaf {
	if a.list < 0 || len(a.by) > 1 {
		return nil
	}
	lists := 0
	var last *bucket
	for _, b := range c.buckets(state, where) {
		if last == nil || b.gen != last.gen {
			lists += b.gen.Lists.Len() + 1
		}
		last = b
	}
	if a.memory.left()/havingBytes < int64(lists) {
		return nil
	}
	return c.filter.takeElements(a.by[a.list])
}

// takeElements takes what must hold of the elements of a column from a filter, and returns
// it: the filter holds for more rows then.
func (f *filter) takeElements(of *byColumn) (taken []*leaf) {
	switch {
	case f.op == opElement && f.leaf.column == of.Column && f.leaf.name == of.Name:
		taken = append(taken, f.leaf)
		*f = filter{op: opTrue}
	case f.op == opAnd:
		for _, arg := range f.args {
			taken = append(taken, arg.takeElements(of)...)
		}
	}
	return taken
}

// keep drops the sums of lists for which one of the conditions does not hold.
func (a *aggregator) keep(conditions []*leaf) error {
	for _, l := range conditions {
		for _, lists := range a.lists {
			for gen, s := range lists {
				if s == nil {
					continue
				}
				s.keep(&listFilter{lists: a.gens[gen].Lists, holds: l.element, work: l.work})
				if l.work.stopped {
					return a.memory.check()
				}
			}
		}
	}
	return nil
}

// keep drops the sums of lists for which a filter does not hold. They are anything if that
// was stopped.
func (s *listSums) keep(f *listFilter) {
	if s.len() > f.lists.Len()/onePassAfter {
		f.lookAtAll(0)
	}
	if s.codes == nil && f.all != nil {
		s.keepBits(f.all)
		return
	}
	for i, c := range s.present() {
		if !f.has(s.code(i)) {
			if f.work.stopped {
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

// keepBits drops the sums of an array that have no bit. They stay where they are, and only
// those with a bit are looked at from now on.
func (s *listSums) keepBits(set []uint64) {
	if s.only == nil {
		s.only = set
		return
	}
	for i := range s.only {
		s.only[i] &= set[i]
	}
}

// kept yields the cells of an array from lo to hi, which are multiples of 64 or the end, that
// have rows and were not dropped.
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
