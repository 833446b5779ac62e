package query

import (
	"sync"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/schema"
)

// keyWidth is the bytes that a By column takes in a key: a word, and whether it is null.
const keyWidth = 9

// byColumn is a column to group by, and the source of its words in the current rows.
type byColumn struct {
	schema.Concrete
	typ    encoding.Type
	series bool
	exact  bool                             // never rounded
	codes  map[*granule.Generation][]uint32 // codes of the query plus 1, by code of a generation; nil: none yet

	how   wordsOf
	word  uint64   // if how is ofAll
	null  bool     // if how is ofAll
	words []uint64 // by ordinal or by row; codes of the query for coded types
	nulls []bool   // by row, for fixed types; nil if no row is null
}

// wordsOf is the smallest unit of rows that share a column's word.
type wordsOf uint8

const (
	ofAll    wordsOf = iota // all rows
	ofSeries                // the rows of one series
	ofHeader                // the rows of one header ordinal
	ofRow
)

// fork returns the column without cached results.
func (c *byColumn) fork() *byColumn {
	return &byColumn{Concrete: c.Concrete, typ: c.typ, series: c.series, exact: c.exact, how: c.how}
}

// queryDicts are a query's dictionaries. Each is created on first use, because most queries need none. It
// is safe for concurrent use.
type queryDicts struct {
	seed          uint64
	made, madeToo sync.Once
	ofText        *dict.Values // strings, and uncoded ids
	ofLists       *dict.Lists
}

func (d *queryDicts) strings() *dict.Values {
	d.made.Do(func() { d.ofText = dict.NewValues(d.seed) })
	return d.ofText
}

func (d *queryDicts) lists() *dict.Lists {
	d.madeToo.Do(func() { d.ofLists = dict.NewLists(d.seed) })
	return d.ofLists
}
