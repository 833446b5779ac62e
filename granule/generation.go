package granule

import (
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// Generation is the dictionaries that the codes of some parts are of. A table
// starts a new one every so many buckets; when the last part of a generation
// is dropped, the garbage collector takes all of it.
//
// It is append-only and safe for concurrent use.
type Generation struct {
	Strings *encoding.Dict     // values of coded string columns
	UUIDs   *encoding.Dict     // values of coded UUID columns
	Lists   *encoding.ListDict // stacks, their locations and symbols
	Series  *encoding.Dict     // series tuples, as schema.AppendTuple writes them

	columns seriesColumns
	since   uint64 // see Part
}

// Enter notes the version of a root that has a part of the generation; the first
// counts. For the one who publishes roots, as Part.Enter.
func (g *Generation) Enter(version uint64) {
	if g.since == 0 {
		g.since = version
	}
}

// Since returns the version of the first root that has a part of the generation;
// 0 if none had.
func (g *Generation) Since() uint64 { return g.since }

// Size returns the bytes that the dictionaries hold on the heap. O(1), with a
// short lock of each.
func (g *Generation) Size() int {
	lists, records := g.Lists.Size()
	size := g.Strings.Size() + g.UUIDs.Size() + lists + records + g.Series.Size()
	if c := g.columns.latest.Load(); c != nil {
		size += c.size
	}
	return size
}

// NewGeneration returns empty dictionaries; the seed keys their hashes.
func NewGeneration(seed uint64) *Generation {
	return &Generation{
		Strings: encoding.NewDict(seed),
		UUIDs:   encoding.NewDict(seed),
		Lists:   encoding.NewListDict(seed),
		Series:  encoding.NewDict(seed),
	}
}

// spec returns how a column is built with this generation's dictionaries.
func (g *Generation) spec(c schema.Column) encoding.Spec {
	spec := encoding.Spec{Type: c.Type, Encoding: c.Encoding}
	switch {
	case c.Type == encoding.UUIDList:
		spec.Lists = g.Lists
	case c.Type == encoding.UUID && c.Encoding.Coded():
		spec.Dict = g.UUIDs
	case c.Type == encoding.String && c.Encoding.Coded():
		spec.Dict = g.Strings
	}
	return spec
}
