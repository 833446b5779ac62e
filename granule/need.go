package granule

import (
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Bytes that Code and Part take, at most: they are held against what real heaps
// grow by in the tests.
const (
	needRow   = 120 // sort key, order and key of a row
	needWord  = 20  // a column's value of a row, in a frame and in the part
	needEntry = 40  // an entry of a dictionary, besides its bytes
)

// Need returns at most how many bytes inserting a checked batch takes: while it
// is coded, and for good. With the dictionaries of a generation it looks every
// value up and counts those that are new; with nil it takes all for new, which
// is faster and, for profiles of known stacks, tens of times too much.
func Need(s *schema.Schema, gen *Generation, b *schema.Batch, columns []schema.Concrete) int {
	n := needer{schema: s, gen: gen, records: b.Records}
	total := b.Rows * needRow
	if gen == nil {
		for _, r := range b.Records {
			total += len(r) + needEntry
		}
	}
	for i := range columns {
		c := &columns[i]
		if s.IsSeries(c.Column) {
			total += n.tuple(c)
			continue
		}
		total += b.Rows*needWord + n.column(c)
	}
	return total
}

// needer counts what a batch adds to dictionaries.
type needer struct {
	schema   *schema.Schema
	gen      *Generation // nil: they are taken to be empty
	records  map[uuid.UUID][]byte
	elements map[uuid.UUID]bool // seen
}

// tuple counts the column's share of the series: once if it stands for all rows,
// else as if each row were a series of its own.
func (n *needer) tuple(c *schema.Concrete) int {
	total := 0
	for _, v := range c.Values.Strings {
		total += len(c.Name) + len(v) + needEntry
	}
	return total
}

func (n *needer) column(c *schema.Concrete) int {
	def, v := n.schema.Columns()[c.Column], &c.Values
	total := 0
	switch def.Type {
	case encoding.String:
		for i, s := range v.Strings {
			if i > 0 && s == v.Strings[i-1] || !def.Encoding.Coded() {
				total += len(s) // plain: in the part, twice while it is built
				continue
			}
			if n.gen == nil || n.gen.Strings.Find([]byte(s)) == 0 {
				total += len(s) + needEntry
			}
		}
	case encoding.UUID:
		for _, id := range v.UUIDs {
			if n.gen == nil || !def.Encoding.Coded() || n.gen.UUIDs.Find(id[:]) == 0 {
				total += len(id) + needEntry
			}
		}
	case encoding.UUIDList:
		for i, list := range v.UUIDLists {
			if i > 0 && same(list, v.UUIDLists[i-1]) {
				continue
			}
			total += n.list(list)
		}
	}
	return total
}

func same(a, b []uuid.UUID) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// list counts a list and its elements.
func (n *needer) list(list []uuid.UUID) int {
	const element = len(uuid.UUID{}) + needEntry + 4
	if n.gen == nil {
		return needEntry + len(list)*(4+element)
	}
	total, known := 0, true
	var codes []uint32
	for _, id := range list {
		code := n.gen.Lists.FindElement(id)
		codes = append(codes, code)
		known = known && code != 0
		if code != 0 && (len(n.records[id]) == 0 || n.gen.Lists.Record(code) != nil) || n.elements[id] {
			continue
		}
		if n.elements == nil {
			n.elements = map[uuid.UUID]bool{}
		}
		n.elements[id] = true
		total += element + len(n.records[id]) + needEntry
	}
	if !known || n.gen.Lists.FindList(codes) == 0 {
		total += needEntry + 4*len(list)
	}
	return total
}
