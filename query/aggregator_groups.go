package query

import (
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
)

// groups returns the sums as an answer.
func (a *aggregator) groups() (*Groups, error) {
	out := &Groups{Columns: make([]GroupColumn, len(a.by))}
	groups := []int32{} // group of each row of the answer; nil: row i is group i
	if a.list >= 0 {
		by := a.by[a.list]
		out.Columns[a.list] = GroupColumn{Name: by.Name, Values: encoding.Vector{Type: by.typ}}
	}
	if a.list < 0 {
		out.Sums = make([]int64, 0, len(a.cells))
		if !a.noCounts {
			out.Counts = make([]int64, 0, len(a.cells))
		}
		for _, c := range a.cells {
			out.Sums = append(out.Sums, c.sum)
			if !a.noCounts {
				out.Counts = append(out.Counts, c.count)
			}
		}
		groups = nil
	} else if err := a.emitLists(out, &groups); err != nil {
		return nil, err
	}
	for i, by := range a.by {
		if i == a.list {
			continue
		}
		var err error
		if out.Columns[i], err = a.column(by, groups, keyWidth*i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// emitLists fills the answer for groups that have cells by list.
func (a *aggregator) emitLists(out *Groups, groups *[]int32) error {
	reader, err := a.unite()
	if err != nil {
		return err
	}
	n, nulls := 0, false
	for _, lists := range a.lists {
		if len(lists) > 0 {
			n += lists[0].len()
			nulls = nulls || lists[0].has(0)
		}
	}
	const row, groupOf = 20, 4
	if err := a.memory.take(int64((row + groupOf) * n)); err != nil {
		return err
	}
	codes := make([]uint32, 0, n+1) // moveTo needs room for one more
	if out.Sums, err = a.room(n + 1); err != nil {
		return err
	}
	if !a.noCounts {
		if out.Counts, err = a.room(n + 1); err != nil {
			return err
		}
	}
	if len(a.by) > 1 {
		*groups = make([]int32, 0, n)
	}
	for group, lists := range a.lists {
		if len(lists) == 0 {
			continue
		}
		if codes, out.Sums, out.Counts, err = lists[0].moveTo(codes, out.Sums, out.Counts, a.memory); err != nil {
			return err
		}
		for len(a.by) > 1 && len(*groups) < len(codes) {
			*groups = append(*groups, int32(group))
		}
	}
	out.Columns[a.list].Codes, out.Columns[a.list].Lists = codes, reader
	if nulls {
		valid := make([]bool, n)
		for i, code := range codes {
			valid[i] = code != 0
		}
		out.Columns[a.list].Values.Valid = valid
	}
	return nil
}

// room returns an empty slice with room for n. It checks for cancellation first, since the
// system takes ten milliseconds to clear memory for millions of elements.
func (a *aggregator) room(n int) ([]int64, error) {
	if err := a.memory.check(); err != nil {
		return nil, err
	}
	return make([]int64, 0, n), nil
}

// unite translates the list codes of several generations into codes of a union. Afterwards
// each group has one set of cells.
func (a *aggregator) unite() (dict.ListView, error) {
	switch len(a.gens) {
	case 0:
		return dict.ListView{}, nil
	case 1:
		return a.gens[0].Lists.View(), nil
	}
	dicts := make([]*dict.Lists, len(a.gens))
	most := 0
	for i, gen := range a.gens {
		dicts[i] = gen.Lists
		most += gen.Lists.Len()
	}
	union := dict.NewUnion(dicts...)
	const perList = 24 // bytes per list of the union, while it grows
	for group, lists := range a.lists {
		united := newListSums(most, 0)
		for gen, s := range lists {
			if s == nil {
				continue
			}
			before := union.Len()
			add := func(code uint32) uint32 { return union.Add(gen, code) }
			if err := united.merge(s, add, a.memory); err != nil {
				return dict.ListView{}, err
			}
			if err := a.memory.take(int64(perList * (union.Len() - before))); err != nil {
				return dict.ListView{}, err
			}
			s.done()
		}
		a.lists[group] = []*listSums{united}
	}
	return union.View(), nil
}

// column decodes the words of a column from the keys, where they begin at byte at. It returns
// a value for each of groups; nil means all groups in order.
func (a *aggregator) column(by *byColumn, groups []int32, at int) (GroupColumn, error) {
	c := GroupColumn{Name: by.Name, Values: encoding.Vector{Type: by.typ}}
	if by.typ == encoding.UUIDList {
		c.Lists = a.query.lists().View()
	}
	const value = 17 // bytes of the widest value, and its validity
	if err := a.memory.take(value * int64(len(a.cells)+len(groups))); err != nil {
		return c, err
	}
	v := &c.Values
	if by.typ == encoding.Int64 { // times are Int64, and the usual case
		v.Int64s = make([]int64, 0, len(a.cells))
	}
	var texts []string // by code, decoded on first use
	if by.typ == encoding.String {
		if err := a.memory.take(16 * int64(a.query.strings().Len()+1)); err != nil {
			return c, err
		}
		texts = make([]string, a.query.strings().Len()+1)
	}
	for group := range a.cells {
		key := a.index.key(group)[at:]
		word := binary.LittleEndian.Uint64(key)
		null := key[8] == 1 || !by.typ.Fixed() && word == 0
		if null && v.Valid == nil {
			v.Valid = slices.Repeat([]bool{true}, len(a.cells))
		}
		if null {
			v.Valid[group] = false
		}
		if texts != nil && texts[word] == "" {
			texts[word] = string(a.query.strings().Value(uint32(word)))
		}
		a.appendValue(&c, word, texts)
	}
	if groups == nil {
		return c, nil
	}
	v.Valid = chosenOf(v.Valid, groups)
	v.Int64s, v.Uint64s, v.Float64s = chosenOf(v.Int64s, groups), chosenOf(v.Uint64s, groups), chosenOf(v.Float64s, groups)
	v.Bools, v.Strings, v.UUIDs = chosenOf(v.Bools, groups), chosenOf(v.Strings, groups), chosenOf(v.UUIDs, groups)
	c.Codes = chosenOf(c.Codes, groups)
	return c, nil
}

// chosenOf returns the elements at the indices. It returns nil if all is nil.
func chosenOf[T any](all []T, indices []int32) []T {
	if all == nil {
		return nil
	}
	out := make([]T, len(indices))
	for i, at := range indices {
		out[i] = all[at]
	}
	return out
}

// appendValue appends the value of a word to a column of the answer.
func (a *aggregator) appendValue(c *GroupColumn, word uint64, texts []string) {
	v := &c.Values
	switch v.Type {
	case encoding.Int64:
		v.Int64s = append(v.Int64s, encoding.ToInt64(word))
	case encoding.Uint64:
		v.Uint64s = append(v.Uint64s, word)
	case encoding.Float64:
		v.Float64s = append(v.Float64s, encoding.ToFloat64(word))
	case encoding.Bool:
		v.Bools = append(v.Bools, word != 0)
	case encoding.String:
		v.Strings = append(v.Strings, texts[word])
	case encoding.UUID:
		var id uuid.UUID
		copy(id[:], a.query.strings().Value(uint32(word)))
		v.UUIDs = append(v.UUIDs, id)
	case encoding.UUIDList:
		c.Codes = append(c.Codes, uint32(word))
	}
}
