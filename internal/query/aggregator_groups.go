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
		a.emitCells(out)
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
	if err := a.addResults(out); err != nil {
		return nil, err
	}
	return out, nil
}

// emitCells fills the answer for groups with one cell each.
func (a *aggregator) emitCells(out *Groups) {
	if a.measures == nil {
		out.Sums = make([]int64, 0, len(a.cells))
	}
	if !a.noCounts {
		out.Counts = make([]int64, 0, len(a.cells))
	}
	for _, c := range a.cells {
		if a.measures == nil {
			out.Sums = append(out.Sums, c.sum)
		}
		if !a.noCounts {
			out.Counts = append(out.Counts, c.count)
		}
	}
}

// emitLists fills the answer for groups with cells by list.
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

// room returns an empty slice with capacity n. It checks for cancellation first, because the system takes
// ten milliseconds to clear memory for millions of elements.
func (a *aggregator) room(n int) ([]int64, error) {
	if err := a.memory.check(); err != nil {
		return nil, err
	}
	return make([]int64, 0, n), nil
}

const unionList = 24 // bytes per list of a union, while it grows

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
	for group, lists := range a.lists {
		united := newListSums(most, 0)
		for gen, s := range lists {
			if s == nil {
				continue
			}
			before := union.Len()
			add := func(code uint32) uint32 { return union.Add(gen, code) }
			if err := united.merge(s, add, a.placing(a), a.memory); err != nil {
				return dict.ListView{}, err
			}
			if err := a.memory.take(int64(unionList * (union.Len() - before))); err != nil {
				return dict.ListView{}, err
			}
			s.done()
		}
		a.lists[group] = []*listSums{united}
	}
	return union.View(), nil
}

// column decodes a column from the keys, where its words begin at byte at. It returns a value for each
// group in groups; nil means all groups in order.
func (a *aggregator) column(by *byColumn, groups []int32, at int) (GroupColumn, error) {
	if err := a.memory.take(valueSize * int64(len(groups))); err != nil {
		return GroupColumn{}, err
	}
	c, err := a.newColumn(by.Name, by.typ, len(a.cells))
	if err != nil {
		return GroupColumn{}, err
	}
	if by.typ == encoding.UUIDList {
		c.Lists = a.query.lists().View()
	}
	for group := range a.cells {
		key := a.index.key(group)[at:]
		word := binary.LittleEndian.Uint64(key)
		c.append(word, key[8] == 1 || !by.typ.Fixed() && word == 0)
	}
	if groups != nil {
		c.choose(groups)
	}
	return c.GroupColumn, nil
}

// columnBuilder builds a column of the answer from words.
type columnBuilder struct {
	GroupColumn
	query  *queryDicts
	values int      // final number of values
	n      int      // number of values so far
	texts  []string // by code, decoded on first use
}

const valueSize = 17 // bytes of the widest value, and its validity

// newColumn returns an empty column for n values, after it took their memory.
func (a *aggregator) newColumn(name string, typ encoding.Type, n int) (columnBuilder, error) {
	c := columnBuilder{GroupColumn: GroupColumn{Name: name, Values: encoding.Vector{Type: typ}}, query: a.query, values: n}
	if err := a.memory.take(valueSize * int64(n)); err != nil {
		return c, err
	}
	switch typ {
	case encoding.Int64:
		c.Values.Int64s = make([]int64, 0, n)
	case encoding.Float64:
		c.Values.Float64s = make([]float64, 0, n)
	case encoding.String:
		texts := a.query.strings().Len() + 1
		if err := a.memory.take(16 * int64(texts)); err != nil {
			return c, err
		}
		c.texts = make([]string, texts)
	}
	return c, nil
}

// append appends a word's value.
func (c *columnBuilder) append(word uint64, null bool) {
	v := &c.Values
	if null && v.Valid == nil {
		v.Valid = slices.Repeat([]bool{true}, c.values)
	}
	if null {
		v.Valid[c.n] = false
	}
	c.n++
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
		if c.texts[word] == "" {
			c.texts[word] = string(c.query.strings().Value(uint32(word)))
		}
		v.Strings = append(v.Strings, c.texts[word])
	case encoding.UUID:
		var id uuid.UUID
		copy(id[:], c.query.strings().Value(uint32(word)))
		v.UUIDs = append(v.UUIDs, id)
	case encoding.UUIDList:
		c.Codes = append(c.Codes, uint32(word))
	}
}

// choose keeps the values of groups only, in their order.
func (c *GroupColumn) choose(groups []int32) {
	v := &c.Values
	v.Valid = chosenOf(v.Valid, groups)
	v.Int64s, v.Uint64s, v.Float64s = chosenOf(v.Int64s, groups), chosenOf(v.Uint64s, groups), chosenOf(v.Float64s, groups)
	v.Bools, v.Strings, v.UUIDs = chosenOf(v.Bools, groups), chosenOf(v.Strings, groups), chosenOf(v.UUIDs, groups)
	c.Codes = chosenOf(c.Codes, groups)
}

// chosenOf returns the elements of all at the indices, or nil if all is nil.
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
