package format

import (
	"iter"

	"github.com/granarydb/granary/profile"
)

// decodePPROF returns the one profile of bytes of pprof. They stay encoded: a store decodes them into rows at a fraction
// of the cost of a profile in memory, and checks them and their limits then.
func decodePPROF(data []byte, _ profile.Limits) iter.Seq2[Decoded, error] {
	return func(yield func(Decoded, error) bool) { yield(Decoded{Encoded: data}, nil) }
}
