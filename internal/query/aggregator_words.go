package query

import (
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/schema"
)

// load determines what a column's words depend on in the current rows, and decodes the words of headers
// and rows into codes of the query. Columns of the header share their ordinals: the first such column
// sets header, and a column with other ordinals is decoded by row.
func (a *aggregator) load(by *byColumn, s *filter.Selection, header **encoding.Words) error {
	by.nulls, by.null = nil, false
	if by.series {
		by.how = ofSeries
		return nil
	}
	column := s.Part.Find(by.Column, by.Name)
	if column == nil {
		by.how, by.word, by.null = ofAll, 0, by.typ.Fixed()
		return nil
	}
	if word, ok := column.Words().Constant(); ok && !column.Nulls() {
		by.words = append(by.words[:0], word)
		err := a.translate(by, column, s.Part.Generation())
		by.how, by.word, by.null = ofAll, by.words[0], false
		return err
	}
	table, ordinals := column.Words().Lookup()
	if table != nil && !column.Nulls() && (*header == nil || *header == ordinals) && table.Len() <= 2*s.Rows {
		*header, by.how = ordinals, ofHeader
		by.words = table.Append(by.words[:0], 0, table.Len())
		return a.translate(by, column, s.Part.Generation())
	}
	by.how = ofRow
	by.words = s.Words(by.words[:0], column.Words())
	if by.typ.Fixed() {
		by.nulls = s.Valid(column)
		for i, valid := range by.nulls {
			by.nulls[i] = !valid
		}
	}
	return a.translate(by, column, s.Part.Generation())
}

// translate replaces words in a column by words of the query.
func (a *aggregator) translate(by *byColumn, column *encoding.Column, gen *granule.Generation) error {
	switch {
	case by.typ.Fixed():
		if a.step > 0 && by.Column == a.time && !by.exact {
			roundDown(by.words, a.step)
		}
		return nil
	case column.Lists() != nil:
		return a.translateCodes(by, gen, gen.Lists.Len(), func(code uint32) (uint32, error) { return a.internList(gen, code) })
	case column.Dict() != nil:
		dict := column.Dict()
		return a.translateCodes(by, gen, dict.Len(), func(code uint32) (uint32, error) { return a.intern(dict.Value(code)) })
	}
	for i, word := range by.words { // plain words are only valid in this part
		if word == 0 {
			continue
		}
		code, err := a.intern(column.Bytes(word))
		if err != nil {
			return err
		}
		by.words[i] = uint64(code)
	}
	return nil
}

// roundDown rounds times down to a multiple of step.
func roundDown(words []uint64, step int64) {
	for i, w := range words {
		words[i] = encoding.FromInt64(schema.RoundDown(encoding.ToInt64(w), step))
	}
}

// translateCodes replaces codes in a generation by codes of the query.
func (a *aggregator) translateCodes(by *byColumn, gen *granule.Generation, codes int, find func(code uint32) (uint32, error)) error {
	known, err := a.known(by, gen, codes)
	if err != nil {
		return err
	}
	for i, word := range by.words {
		if word == 0 {
			continue
		}
		if known[word] == 0 {
			code, err := find(uint32(word))
			if err != nil {
				return err
			}
			known[word] = code + 1 // 0 means unknown; code 0 is null
		}
		by.words[i] = uint64(known[word] - 1)
	}
	return nil
}

// known returns the cache that maps codes in a generation, up to most, to codes of the query plus 1.
func (a *aggregator) known(by *byColumn, gen *granule.Generation, most int) ([]uint32, error) {
	known := by.codes[gen]
	if len(known) <= most {
		more := most + 1 - len(known) + most/8
		if err := a.memory.take(4 * int64(more)); err != nil {
			return nil, err
		}
		known = append(known, make([]uint32, more)...)
		if by.codes == nil {
			by.codes = map[*granule.Generation][]uint32{}
		}
		by.codes[gen] = known
	}
	return known, nil
}

// label returns the query's code of a series' value in a column, or 0 if the series has no value.
func (a *aggregator) label(by *byColumn, series uint32) (uint32, error) {
	gen := a.gens[a.gen]
	known, err := a.known(by, gen, int(series))
	if err != nil {
		return 0, err
	}
	if known[series] == 0 {
		code := uint32(0)
		if value, ok := a.source.Schema.TupleValue(gen.Series.Value(series), by.Column, by.Name); ok {
			if code, err = a.intern(value); err != nil {
				return 0, err
			}
		}
		known[series] = code + 1
	}
	return known[series] - 1, nil
}

// intern returns the query's code of a value.
func (a *aggregator) intern(value []byte) (uint32, error) {
	if code := a.query.strings().Find(value); code != 0 {
		return code, nil
	}
	const entry = 64
	if err := a.memory.take(int64(len(value)) + entry); err != nil {
		return 0, err
	}
	return a.query.strings().Intern(value)
}

// internList returns the query's code of a list, for a list column without its own cells.
func (a *aggregator) internList(gen *granule.Generation, code uint32) (uint32, error) {
	elements := gen.Lists.List(nil, code)
	const element = 64
	if err := a.memory.take(int64(element * (len(elements) + 1))); err != nil {
		return 0, err
	}
	for i, e := range elements {
		var err error
		if elements[i], err = a.query.lists().InternElement(gen.Lists.Element(e), gen.Lists.Record(e)); err != nil {
			return 0, err
		}
	}
	return a.query.lists().InternList(elements)
}

// loadList decodes the list column that has its own cells.
func (a *aggregator) loadList(s *filter.Selection) {
	if a.list < 0 {
		return
	}
	if column := s.Part.Find(a.by[a.list].Column, a.by[a.list].Name); column != nil {
		a.codes = s.Words(a.codes[:0], column.Words())
		return
	}
	a.codes = append(a.codes[:0], make([]uint64, s.Rows)...)
}

// loadValues decodes the column to sum. The word of a null is 0, so a null adds nothing.
func (a *aggregator) loadValues(s *filter.Selection) {
	a.values = nil
	if a.sum < 0 {
		return
	}
	if column := s.Part.Find(a.sum, a.name); column != nil {
		a.mem = s.Words(a.mem[:0], column.Words())
		a.values = a.mem
	}
}
