package granule

import (
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/schema"
)

// Upper bounds for the bytes that Code and Part take.
const (
	needRow  = 120 // sort key, order and key of a row
	needWord = 24  // a row's value in a column, in the frame and in the part
	needPart = 512 // a part, and again for each of its columns
)

// Need returns an upper bound of the bytes, temporary bytes included, that inserting rows in a checked
// batch takes in `parts` parts and in the dictionaries of gen. If rows is nil, it means all rows. If
// lookUp is true, Need looks up every value and counts each new value once. Otherwise it counts all
// values as new, which is faster but, for profiles of known stacks, tens of times too high.
func Need(s *schema.Schema, gen *Generation, lookUp bool, b *schema.Batch, columns []schema.Concrete, rows []int32, parts int) int {
	n := newNeeder(s, gen, lookUp, b, rows)
	total := n.count*needRow + parts*needPart
	for i := range columns {
		if c := &columns[i]; s.IsSeries(c.Column) {
			n.tuple(c)
		} else {
			total += n.count*needWord + parts*needPart + n.column(c)
		}
	}
	total += gen.Series.Need(n.series.values, n.series.bytes+n.series.values*n.series.each)
	total += gen.Strings.Need(n.strings.values, n.strings.bytes)
	total += gen.UUIDs.Need(n.uuids, n.uuids*len(uuid.UUID{}))
	return total + gen.Lists.Need(n.lists)
}

// needer counts the additions of rows to dictionaries.
type needer struct {
	schema   *schema.Schema
	gen      *Generation
	lookUp   bool
	full     bool // coded strings can be stored in the part
	records  map[uuid.UUID][]byte
	rows     []int32 // nil: all
	count    int
	elements map[uuid.UUID]bool // new elements counted so far
	seen     map[string]bool    // new strings and lists counted so far, after a letter for the kind

	series  struct{ values, bytes, each int } // each: bytes in every series
	strings struct{ values, bytes int }
	uuids   int
	lists   dict.Growth
}

// newNeeder returns a needer for rows of a batch, whose columns are to be added.
func newNeeder(s *schema.Schema, gen *Generation, lookUp bool, b *schema.Batch, rows []int32) *needer {
	n := &needer{schema: s, gen: gen, full: gen.isFull(), lookUp: lookUp, records: b.Records, rows: rows, count: len(rows)}
	if rows == nil {
		n.count = b.Rows
	}
	if lookUp {
		n.elements, n.seen = map[uuid.UUID]bool{}, map[string]bool{}
	} else {
		for _, r := range b.Records {
			n.lists.AddRecords(1, len(r))
		}
	}
	n.series.values = 1
	return n
}

// each calls f with the index of each row's value in a column, or once if all rows have the same value.
func (n *needer) each(v *encoding.Vector, f func(i int)) {
	switch {
	case v.Len() == 1:
		f(0)
	case n.rows == nil:
		for i := range v.Len() {
			f(i)
		}
	default:
		for _, row := range n.rows {
			f(int(row))
		}
	}
}

// isNew reports whether a value is counted for the first time.
func (n *needer) isNew(kind byte, value string) bool {
	key := string(kind) + value
	if n.seen[key] {
		return false
	}
	n.seen[key] = true
	return true
}

// tuple counts the bytes of a column in the series. A label with the same value in all rows is in each
// series. Any other label can make each row a new series.
func (n *needer) tuple(c *schema.Concrete) {
	const marks = 4 // around a name and a value; zeros within them are escaped
	bytes := 0
	n.each(&c.Values, func(i int) { bytes += 2*len(c.Values.Strings[i]) + 2*len(c.Name) + marks })
	if c.Values.Len() == 1 {
		n.series.each += bytes
		return
	}
	n.series.values = max(1, n.count)
	n.series.bytes += bytes
}

// column counts a column's values, and returns the bytes of the values that the part stores itself.
func (n *needer) column(c *schema.Concrete) (own int) {
	v := &c.Values
	last := -1 // the previous row
	switch def := n.schema.Columns()[c.Column]; {
	case v.Codes != nil: // the lists are in the dictionary
	case def.Type == encoding.UUIDList:
		n.each(v, func(i int) {
			if last < 0 || !same(v.List(i), v.List(last)) {
				n.list(v.List(i))
			}
			last = i
		})
	case def.Type == encoding.String && def.Encoding.Coded() && !n.full:
		n.each(v, func(i int) {
			if last < 0 || v.Strings[i] != v.Strings[last] {
				n.str(v.Strings[i])
			}
			last = i
		})
	case def.Type == encoding.UUID && def.Encoding.Coded():
		n.each(v, func(i int) { n.id(v.UUIDs[i]) })
	case def.Type == encoding.String:
		each := 1 // a single value is stored for each row
		if v.Len() == 1 {
			each = n.count
		}
		n.each(v, func(i int) { own += 2 * len(v.Strings[i]) * each }) // in the frame and in the part
	case def.Type == encoding.UUID:
		own = (2*len(uuid.UUID{}) + 2) * n.count // and 14 bits of a filter
	}
	return own
}

func (n *needer) str(s string) {
	if n.lookUp && (n.gen.Strings.Find([]byte(s)) != 0 || !n.isNew('s', s)) {
		return
	}
	n.strings.values++
	n.strings.bytes += len(s)
}

func (n *needer) id(id uuid.UUID) {
	if n.lookUp && (n.gen.UUIDs.Find(id[:]) != 0 || !n.isNew('u', string(id[:]))) {
		return
	}
	n.uuids++
}

func same(a, b []uuid.UUID) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// list counts a list and its elements.
func (n *needer) list(list []uuid.UUID) {
	n.lists.Longest = max(n.lists.Longest, len(list))
	if !n.lookUp {
		n.lists.Lists++
		n.lists.Members += len(list)
		n.lists.Elements += len(list)
		return
	}
	if n.gen.Lists.FindList(list) == 0 && n.isNew('l', string(idsOf(list))) {
		n.lists.Lists++
		n.lists.Members += len(list)
	}
	for _, id := range list {
		if n.elements[id] {
			continue
		}
		code := n.gen.Lists.FindElement(id)
		if code == 0 {
			n.elements[id] = true
			n.lists.Elements++
		}
		if r := n.records[id]; len(r) > 0 && (code == 0 || !n.gen.Lists.HasRecord(code)) {
			n.elements[id] = true
			n.gen.Lists.CountRecord(&n.lists, r)
		}
	}
}

// idsOf returns the bytes of ids.
func idsOf(list []uuid.UUID) []byte {
	key := make([]byte, 0, len(uuid.UUID{})*len(list))
	for _, id := range list {
		key = append(key, id[:]...)
	}
	return key
}
