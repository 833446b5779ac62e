package granule

import (
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Bytes that Code and Part take, at most.
const (
	needRow  = 120 // sort key, order and key of a row
	needWord = 24  // a column's value of a row, in a frame and in the part
	needPart = 512 // a part, and as much again for each column
)

// Need returns at most how many bytes inserting a checked batch with the
// dictionaries of gen takes: while it is coded, and for good. With lookUp it looks
// every value up and counts those that are new; without, it takes all for new,
// which is faster and, for profiles of known stacks, tens of times too much.
func Need(s *schema.Schema, gen *Generation, lookUp bool, b *schema.Batch, columns []schema.Concrete) int {
	n := needer{schema: s, gen: gen, lookUp: lookUp, records: b.Records, elements: map[uuid.UUID]bool{}}
	n.series.values = 1
	total := needPart + b.Rows*needRow
	if !lookUp {
		for _, r := range b.Records {
			n.lists.Records++
			n.lists.Bytes += len(r)
		}
	}
	for i := range columns {
		if c := &columns[i]; s.IsSeries(c.Column) {
			n.tuple(c, b.Rows)
		} else {
			total += needPart + b.Rows*needWord + n.column(c)
		}
	}
	total += gen.Series.Need(n.series.values, n.series.bytes+n.series.values*n.series.each)
	total += gen.Strings.Need(n.strings.values, n.strings.bytes)
	total += gen.UUIDs.Need(n.uuids, n.uuids*len(uuid.UUID{}))
	return total + gen.Lists.Need(n.lists)
}

// needer counts what a batch adds to dictionaries.
type needer struct {
	schema   *schema.Schema
	gen      *Generation
	lookUp   bool
	records  map[uuid.UUID][]byte
	elements map[uuid.UUID]bool // seen

	series  struct{ values, bytes, each int } // each: bytes that are in all of them
	strings struct{ values, bytes int }
	uuids   int
	lists   encoding.Growth
}

// tuple counts a column's share of the series. A label that stands for all rows is
// in each of them, one that does not can make each row a series of its own.
func (n *needer) tuple(c *schema.Concrete, rows int) {
	const marks = 4 // around a name and a value; zeros in them are escaped
	bytes := 0
	for _, v := range c.Values.Strings {
		bytes += 2*len(v) + 2*len(c.Name) + marks
	}
	if len(c.Values.Strings) > 1 {
		n.series.values = rows
		n.series.bytes += bytes
		return
	}
	n.series.each += bytes
}

// column counts a column's values, and returns the bytes of those that the part
// keeps itself.
func (n *needer) column(c *schema.Concrete) (own int) {
	def, v := n.schema.Columns()[c.Column], &c.Values
	coded := def.Encoding.Coded()
	for i, s := range v.Strings {
		switch {
		case !coded:
			own += 2 * len(s) // in the frame and in the part
		case i > 0 && s == v.Strings[i-1] || n.lookUp && n.gen.Strings.Find([]byte(s)) != 0:
		default:
			n.strings.values++
			n.strings.bytes += len(s)
		}
	}
	for _, id := range v.UUIDs {
		switch {
		case !coded:
			own += 2 * len(id)
		case n.lookUp && n.gen.UUIDs.Find(id[:]) != 0:
		default:
			n.uuids++
		}
	}
	for i, list := range v.UUIDLists {
		if i > 0 && same(list, v.UUIDLists[i-1]) {
			continue
		}
		n.list(list)
	}
	return own
}

func same(a, b []uuid.UUID) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// list counts a list and its elements.
func (n *needer) list(list []uuid.UUID) {
	if !n.lookUp {
		n.lists.Lists++
		n.lists.Members += len(list)
		n.lists.Elements += len(list)
		return
	}
	known := true
	codes := make([]uint32, 0, 64)
	for _, id := range list {
		code := n.gen.Lists.FindElement(id)
		codes = append(codes, code)
		known = known && code != 0
		if n.elements[id] {
			continue
		}
		if code == 0 {
			n.elements[id] = true
			n.lists.Elements++
		}
		if r := n.records[id]; len(r) > 0 && (code == 0 || n.gen.Lists.Record(code) == nil) {
			n.elements[id] = true
			n.lists.Records++
			n.lists.Bytes += len(r)
		}
	}
	if !known || n.gen.Lists.FindList(codes) == 0 {
		n.lists.Lists++
		n.lists.Members += len(list)
	}
}
