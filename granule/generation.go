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
