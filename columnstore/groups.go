package columnstore

import (
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
)

// groups turns what was summed into an answer.
func (a *aggregator) groups() (*Groups, error) {
	out := &Groups{Columns: make([]GroupColumn, len(a.by))}
	groups := []int32{} // of each row of the answer; nil: one each
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

// emitLists makes the rows of the answer of groups that have cells for their lists.
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
	codes := make([]uint32, 0, n+1) // as moveTo wants it
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

// room returns an empty slice with room for n, unless the query was cancelled: fresh memory
// for millions takes the system ten milliseconds.
func (a *aggregator) room(n int) ([]int64, error) {
	if err := a.memory.check(); err != nil {
		return nil, err
	}
	return make([]int64, 0, n), nil
}

// unite gives the lists of several generations codes that mean the same in all of
// them: each group has the cells of one afterwards.
func (a *aggregator) unite() (encoding.Lists, error) {
	switch len(a.gens) {
	case 0:
		return encoding.Lists{}, nil
	case 1:
		return a.gens[0].Lists.Reader(), nil
	}
	dicts := make([]*encoding.ListDict, len(a.gens))
	most := 0
	for i, gen := range a.gens {
		dicts[i] = gen.Lists
		most += gen.Lists.Len()
	}
	union := encoding.NewUnion(dicts...)
	const perList = 24 // of the union, while it grows
	for group, lists := range a.lists {
		united := newListSums(most, 0)
		for gen, s := range lists {
			if s == nil {
				continue
			}
			before := union.Len()
			add := func(code uint32) uint32 { return union.Add(gen, code) }
			if err := united.merge(s, add, a.memory); err != nil {
				return encoding.Lists{}, err
			}
			if err := a.memory.take(int64(perList * (union.Len() - before))); err != nil {
				return encoding.Lists{}, err
			}
			s.done()
		}
		a.lists[group] = []*listSums{united}
	}
	return union.Reader(), nil
}

// column turns the words that keys have at a place back into values: one for each of some
// groups, nil for all.
func (a *aggregator) column(by *byColumn, groups []int32, at int) (GroupColumn, error) {
	c := GroupColumn{Name: by.Name, Values: encoding.Vector{Type: by.typ}}
	if by.typ == encoding.UUIDList {
		c.Lists = a.query.lists().Reader()
	}
	const value = 17 // bytes, of the widest, and whether it is there
	if err := a.memory.take(value * int64(len(a.cells)+len(groups))); err != nil {
		return c, err
	}
	v := &c.Values
	if by.typ == encoding.Int64 { // as times are
		v.Int64s = make([]int64, 0, len(a.cells))
	}
	var texts []string // by code, as far as they are made
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

// chosenOf returns an element for each index; nil of nil.
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
