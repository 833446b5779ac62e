package granule

import (
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/schema"
)

// Generation has the dictionaries for the codes of a set of parts. A table starts a new generation after a
// fixed number of buckets. Once the last part of a generation is dropped, the garbage collector frees its
// dictionaries.
//
// A generation is append-only and safe for concurrent use.
type Generation struct {
	Strings *dict.Values // values of coded string columns
	UUIDs   *dict.Values // values of coded UUID columns
	Lists   *dict.Lists  // stacks, their locations and symbols
	Series  *dict.Values // series tuples, as schema.AppendTuple writes them

	// MostStrings is the size of Strings from which on it takes no more values: a part whose coded strings
	// are not all there stores them itself, in a plain column. 0 means no limit. It is set before use.
	MostStrings int

	Uses // counts the parts that enter; a generation never leaves, because it is dropped as a whole

	columns seriesColumns
}

// Size returns the bytes that the dictionaries hold on the heap. O(1); it locks each dictionary briefly.
func (g *Generation) Size() int {
	lists, records := g.Lists.Size()
	size := g.Strings.Size() + g.UUIDs.Size() + lists + records + g.Series.Size()
	if c := g.columns.latest.Load(); c != nil {
		size += c.size
	}
	return size
}

// NewGeneration returns empty dictionaries. The seed keys their hashes.
func NewGeneration(seed uint64) *Generation {
	return &Generation{
		Strings: dict.NewValues(seed),
		UUIDs:   dict.NewValues(seed),
		Lists:   dict.NewLists(seed),
		Series:  dict.NewValues(seed),
	}
}

// isFull reports whether Strings takes no more values.
func (g *Generation) isFull() bool { return g.MostStrings > 0 && g.Strings.Size() >= g.MostStrings }

// spec returns the encoding of a column with this generation's dictionaries.
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
